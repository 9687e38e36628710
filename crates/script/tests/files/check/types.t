# Variables, operators and casts.
# facts 6.18-x86_64

begin { $a = 1; $a = "x"; }
----
error: type mismatch for $a: trying to assign value of type 'string[2]' when variable already has a type 'int64' at 1:17 `$a = "x"`
  label: 'int64' here at 1:9 `$a = 1`

====
begin { let $a: uint8 = 300; }
----
error: type mismatch for $a: trying to assign value of type 'int64' when variable already has a type 'uint8' at 1:9 `let $a: uint8 = 300`
  label: 'uint8' here at 1:13 `$a`

====
begin { let $a: uint8 = nsecs; }
----
warning: expression of type: uint64 being cast to type: uint8. This may cause unexpected results at 1:25 `nsecs`
  help: use an explicit cast to suppress this warning
$a: uint8

====
begin { let $a: string[4] = "hello"; }
----
error: type mismatch for $a: trying to assign value of type 'string[6]' when variable already has a type 'string[4]' at 1:9 `let $a: string[4] = "hello"`
  label: 'string[4]' here at 1:13 `$a`

====
begin { $a = (uint8)1; $a = (uint32)2; $b = (int8)1; $b++; }
----
$a: uint32
$b: int64

====
begin { $a = nsecs; $b = nsecs - $a; if ($b < nsecs) { } if ($b == nsecs) { } }
----
warning: expression of type: uint64 being cast to type: int64. This may cause unexpected results at 1:47 `nsecs`
  help: use an explicit cast to suppress this warning
$a: uint64
$b: int64

====
begin { $a = 1 / 0; $b = 5 % 0; }
----
error: division by zero at 1:18 `0`
error: division by zero at 1:30 `0`

====
begin { $a = "a" + 1; $b = "a" < "b"; $c = "a" == 1; $d = "a" == comm; }
----
error: the + operator can not be used on expressions of types string[2], int64 at 1:14 `"a" + 1`
error: the < operator can not be used on expressions of types string[2], string[2] at 1:28 `"a" < "b"`
error: type mismatch for '==': comparing string[2] with int64 at 1:44 `"a" == 1`
  label: left (string[2]) at 1:44 `"a"`
  label: right (int64) at 1:51 `1`

====
begin { if ("x") { } if (comm) { } if (comm == "x" && pid) { } }
----
error: invalid condition: string[16] at 1:25 `(comm)`
  help: compare it: `!= ""`

====
begin { $a = (1, "x", comm); print($a.2); print($a.3); }
----
error: invalid tuple index: 3. Found 3 elements in tuple at 1:49 `$a.3`

====
begin { $a = pid > 5 ? "yes" : "no"; $b = pid ? 1 : "x"; $c = pid ?: 7; }
----
error: branches must return the same type or compatible types: have 'int64' and 'string[2]' at 1:43 `pid ? 1 : "x"`
  label: int64 at 1:49 `1`
  label: string[2] at 1:53 `"x"`

====
begin { $a = (int8[4])0x01020304; }
----
$a: int8[4]

====
begin { $a = (int32)"abc"; }
----
error: cannot cast from "string[4]" to "int32" at 1:14 `(int32)"abc"`

====
begin { $a = sizeof(curtask.comm); $b = sizeof((uint32)1); $c = offsetof(struct task_struct, pid); }
----
$a: uint64
$b: uint64
$c: uint64

====
begin { $a = comm[0]; $b = comm[16]; $c = comm[pid]; }
----
error: the index 16 is out of bounds for array of size 16 at 1:33 `16`

====
begin { $a = -nsecs; $b = ~pid; $c = !pid; $d = ~"x"; }
----
error: the ~ operator can not be used on expressions of type 'string[2]' at 1:49 `~"x"`

====
begin { for ($i : 0..10) { print($i); } for ($j : 0..ncpus) { } for ($k : 0.."x") { } }
----
error: loop range requires an integer for the end value at 1:78 `"x"`

====
begin { pid; comm == "x"; @a = 1; has_key(@a, 1); }
----
error: @a used as a map with an explicit key (non-scalar map), previously used without an explicit key (scalar map) at 1:43 `@a`
  label: first used here at 1:27 `@a`
warning: return value discarded at 1:9 `pid`
warning: return value discarded at 1:14 `comm == "x"`
warning: return value discarded at 1:35 `has_key(@a, 1)`

====
begin { return "x"; }
----
error: probe return values can only be integers. Found string[2] at 1:16 `"x"`

====
begin { $a = printf("x"); }
----
error: printf() has no value at 1:14 `printf("x")`

====
begin { $x = &$y; }
----
error: undefined or undeclared variable: $y at 1:15 `$y`
