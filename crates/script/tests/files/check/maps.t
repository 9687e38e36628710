# Maps: keys, values, aggregations.
# facts 6.18-x86_64

begin { @a = 1; }
end { @a = "x"; }
----
error: type mismatch for @a: trying to assign value of type 'string[2]' when map already has a type 'int64' at 2:7 `@a = "x"`
  label: 'int64' here at 1:9 `@a = 1`

====
begin { @a[1] = 1; @a[1, 2] = 2; }
----
error: argument mismatch for @a: trying to access with arguments: '(int64,int64)' when map expects arguments: 'int64' at 1:20 `@a[1, 2]`
  label: '(int64,int64)' here at 1:20 `@a[1, 2]`
  label: 'int64' here at 1:9 `@a[1]`

====
begin { @a[1] = 1; @a = 2; }
----
error: @a used as a map without an explicit key (scalar map), previously used with an explicit key (non-scalar map) at 1:20 `@a`
  label: first used here at 1:9 `@a[1]`

====
begin { @a[1] = 1; printf("%d", @a); }
----
error: @a used as a map without an explicit key (scalar map), previously used with an explicit key (non-scalar map) at 1:33 `@a`
  label: first used here at 1:9 `@a[1]`

====
begin { @a = count(); @a = 5; }
----
error: type mismatch for @a: trying to assign value of type 'int64' when map already has a type 'count_t' at 1:23 `@a = 5`
  label: 'count_t' here at 1:9 `@a = count()`
  help: an aggregation and a plain value need maps of their own

====
begin { @a = count(); @a++; }
----
error: the ++ operator can not be used on @a, which is a 'count_t' at 1:23 `@a++`
  label: 'count_t' here at 1:9 `@a = count()`

====
begin { @a = count(); @b = sum(@a); $x = @a + 1; if (@a > 5) { print(@b); } }
----
@a: count_t
@b: sum_t
$x: uint64

====
begin { @a = hist(1); $x = @a; }
----
error: @a is a 'hist_t' and has no single value to use here at 1:28 `@a`
  help: it can be printed as a whole: `print(@a)`

====
begin { @a = lhist(1, 0, 100, 10); @a = lhist(1, 0, 200, 10); }
----
error: different lhist bounds in a single map unsupported at 1:36 `@a = lhist(1, 0, 200, 10)`
  label: others here at 1:9 `@a = lhist(1, 0, 100, 10)`

====
begin { $x = count(); }
----
error: count() must be assigned directly to a map at 1:14 `count()`
  help: write `@x = count();`

====
begin { print(count()); }
----
error: count() must be assigned directly to a map at 1:15 `count()`
  help: write `@x = count();`

====
begin { @a[comm, 1] = 1; for ($kv : @a) { $k = $kv.0; print($k.0); print($kv.1); } }
----
@a[(string[16],int64)]: int64
$kv: ((string[16],int64),int64)
$k: (string[16],int64)

====
begin { @a = 1; for ($kv : @a) { } }
----
error: @a has no explicit keys (scalar map), and cannot be used for iteration at 1:17 `for ($kv : @a) { }`
  label: used without a key here at 1:9 `@a`

====
begin { @a[1] = hist(1); for ($kv : @a) { } }
----
error: loop expression does not support type: hist_t at 1:26 `for ($kv : @a) { }`

====
begin { @a["ab"] = "x"; @a[comm] = "longer"; }
----
@a[string[16]]: string[7]

====
begin { @a[(1, "x")] = 1; @a[2, "yy"] = 2; }
----
@a[(int64,string[3])]: int64

====
begin { @a[1] = stats(2); print(@a, 5, 2); print(@a[1]); clear(@a); zero(@a); print(len(@a)); }
----
warning: print()'s top and div arguments are ignored when used on stats() maps at 1:27 `print(@a, 5, 2)`
@a[int64]: stats_t

====
begin { @a = 1; print(len(@a)); delete(@a); print(has_key(@a)); }
----
error: call to len() expects a map with explicit keys (non-scalar map) at 1:27 `@a`
error: call to has_key() expects a map with explicit keys (non-scalar map) at 1:59 `@a`

====
begin { @a[1] = 1; delete(@a, 1); delete(@a[1]); delete(@a); if (has_key(@a, 2)) { } }
----
error: call to delete() with a single argument expects a map without explicit keys (scalar map) at 1:57 `@a`

====
begin { @a[1] = 1; delete(@a, "x"); }
----
error: argument mismatch for @a: trying to access with arguments: 'string[2]' when map expects arguments: 'int64' at 1:27 `@a`
  label: 'string[2]' here at 1:27 `@a`
  label: 'int64' here at 1:9 `@a[1]`

====
begin { @start = 1; print(@strat); }
----
error: undefined map: @strat at 1:27 `@strat`
  help: did you mean `@start`?

====
begin { @a = max(nsecs); @b = max(-1); @c = min(5); }
----
@a: max_t
@b: max_t
@c: min_t

====
begin { @a += nsecs; @b -= 1; @c++; @d |= 4; }
----
@a: uint64
@b: int64
@c: int64
@d: int64

====
let @a = lruhash(10);
begin { @a[1] = count(); }
----
error: incompatible map types for @a: declared as lruhash, its values need percpuhash or percpulruhash at 1:5 `@a`
  label: this value at 2:9 `@a[1] = count()`

====
let @a = percpuhash(10);
begin { @a[1] = count(); }
----
@a[int64]: count_t

====
let @a = hash(10);
begin { @a = 1; }
----
@a: int64

====
begin { $x = pid ? 1 : cat("x"); @y = foo(); print(@y); }
----
error: branches must return the same type or compatible types: have 'int64' and 'void' at 1:14 `pid ? 1 : cat("x")`
error: unknown function: 'foo' at 1:39 `foo`

====
interval:s:1 { @c = @c + 1; @k[1] = @k[1] + nsecs; }
----
@c: int64
@k[int64]: uint64
