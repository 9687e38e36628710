# Arguments of built-in functions.
# facts 6.18-x86_64

begin { printf("%d %s\n", 1); }
----
error: not enough arguments for format string (1 supplied, 2 expected) at 1:16 `"%d %s\n"`

====
begin { printf("hi\n", 1); }
----
error: too many arguments for format string (1 supplied, 0 expected) at 1:24 `1`

====
begin { printf("%d\n", comm); }
----
error: unsupported format specifier for type 'string[16]': %d at 1:24 `comm`
  label: the format at 1:16 `"%d\n"`
  help: print it with %s

====
begin { printf("%r\n", comm); printf("%r\n", buf(comm)); printf("%f\n", 1); }
----
error: unsupported format specifier for type 'string[16]': %r at 1:24 `comm`
  label: the format at 1:16 `"%r\n"`
  help: print it with %s
error: unsupported format specifier: %f at 1:65 `"%f\n"`

====
begin { printf(comm); }
----
error: printf() expects a string literal (string[16] provided) at 1:16 `comm`

====
begin { printf(); strlen(); strncmp("a", "b"); nsecs(1, 2); }
----
error: printf() requires at least one argument (0 provided) at 1:9 `printf`
  help: usage: printf("format"[, values…])
error: strlen() requires one argument (0 provided) at 1:19 `strlen`
  help: usage: strlen(text)
error: strncmp() requires 3 arguments (2 provided) at 1:29 `strncmp`
  help: usage: strncmp(a, b, length)
error: nsecs() takes up to one argument (2 provided) at 1:48 `nsecs`
  help: usage: nsecs([clock])

====
kprobe:vfs_read { $a = str(arg0); $b = str(arg0, 10); $c = str(arg0, pid); $d = str(comm, 4); $e = str(arg0, 5000); $f = str(arg0, -1); }
----
error: str() cannot use negative length (-1) at 1:132 `-1`
warning: length param (5000) is too long and will be shortened to 1024 bytes at 1:110 `5000`

====
kprobe:vfs_read { $a = buf(arg0, 8); $b = buf(arg0); $c = buf(curtask.comm); $d = buf(arg0, pid); }
----
error: buf() expects a length argument for non-array type uint64 at 1:43 `buf(arg0)`

====
begin { $a = kstack(perf, 5); $b = ustack(200); $c = kstack(build_id); $d = ustack(pid); $e = kstack; @[kstack(3)] = count(); @[kstack(5)] = count(); }
----
error: ustack([int limit]): limit must be from 1 to 127, 200 given at 1:43 `200`
error: 'build_id' stack mode can only be used for ustack at 1:61 `build_id`
error: ustack() expects an integer literal (uint32 provided) at 1:84 `pid`
error: argument mismatch for @: trying to access with arguments: 'kstack(5)' when map expects arguments: 'kstack(3)' at 1:127 `@[kstack(5)]`
  label: 'kstack(5)' here at 1:127 `@[kstack(5)]`
  label: 'kstack(3)' here at 1:103 `@[kstack(3)]`

====
begin { $a = nsecs(boot); $b = nsecs(tai); $c = nsecs(sw_tai); $d = strftime("%H:%M", nsecs); $e = strftime(comm, 1); time("%H\n"); }
----
error: the clock sw_tai is not supported: use tai at 1:55 `sw_tai`
error: strftime() expects a string literal (string[16] provided) at 1:109 `comm`

====
begin { @a = hist(pid, 6); @b = hist(pid, tid); @c = lhist(pid, 10, 5, 1); @d = lhist(pid, 0, 10000, 1); @e = lhist(pid, 0, 10, 0); @f = lhist(pid, tid, 10, 1); @g = lhist(pid, 0, 10, 20); }
----
error: hist: bits 6 must be 0..5 at 1:24 `6`
error: hist() expects an integer literal (uint32 provided) at 1:43 `tid`
error: lhist() min must be less than max (provided min 10 and max 5) at 1:54 `lhist(pid, 10, 5, 1)`
error: lhist() too many buckets, must be <= 1000 (would need 10000) at 1:81 `lhist(pid, 0, 10000, 1)`
error: lhist() step must be >= 1 (0 provided) at 1:129 `0`
error: lhist() expects an integer literal (uint32 provided) at 1:149 `tid`
error: lhist() step is too large for the given range (provided step 20 for range 10) at 1:167 `lhist(pid, 0, 10, 20)`

====
begin { $a = pton("1.2.3.4"); $b = pton("::1"); $c = pton("x"); $d = ntop(pid); $e = ntop(2, pid); $f = ntop(comm); }
----
error: pton() expects a valid IPv4/IPv6 address, got x at 1:59 `"x"`

====
begin { $a = kaddr("vfs_read"); $b = kaddr("nope"); $c = ksym(kaddr("vfs_read")); $d = usym(1); $e = ksym(comm); }
----
error: failed to resolve kernel symbol: nope at 1:44 `"nope"`
error: ksym() expects an integer or pointer argument (string[16] provided) at 1:107 `comm`

====
profile:hz:99 { $a = reg("ip"); $b = reg("nope"); }
----
error: 'nope' is not a valid register on this architecture (x86_64) at 1:42 `"nope"`

====
begin { $a = bswap(pid); $b = bswap((uint16)1); $c = bswap(comm); $d = macaddr(curtask.comm); $e = macaddr("x"); }
----
error: bswap() only supports integer arguments (string[16] provided) at 1:60 `comm`
error: macaddr() does not support literal string arguments at 1:108 `"x"`

====
begin { $a = strcontains(comm, "x"); $b = strncmp(comm, "x", pid); $c = strlen(comm); $d = strlen(1); }
----
error: strncmp() expects an integer literal (uint32 provided) at 1:62 `pid`
error: strlen() expects strings, or arrays or pointers of characters (int64 provided) at 1:99 `1`

====
begin { exit("x"); exit(1); exit(1, 2); join(comm); clear(comm); clear(@x[1]); @x[1] = 1; }
----
error: exit() only supports integer arguments (string[2] provided) at 1:14 `"x"`
error: exit() takes up to one argument (2 provided) at 1:29 `exit`
  help: usage: exit([code])
error: join() only supports int or pointer arguments (string[16] provided) at 1:46 `comm`
error: clear() expects a map argument at 1:59 `comm`
error: clear() expects a map argument at 1:72 `@x[1]`

====
begin { print(1, 2); print(comm); print((1, comm)); @a = 1; print(@a, pid); }
----
error: non-map print() only takes 1 argument, 2 found at 1:9 `print(1, 2)`
error: print() expects an integer literal (uint32 provided) at 1:71 `pid`

====
begin { $a = kptr(arg0); }
----
error: the arg0 builtin can only be used with 'kprobe', 'uprobe' and 'rawtracepoint' probes at 1:19 `arg0`

====
kprobe:vfs_read { $a = kptr(arg0); $b = uptr((uint32 *)arg1); $c = *$b; $d = *uptr(arg1); }
----
$a: void *
$b: uint32 *
$c: uint32
$d: uint64

====
begin { @[cgroup_path(cgroup)] = count(); printf("%s %s\n", username, probe); }
----
@[cgroup_path]: count_t

====
begin { print(strerror(comm)); print(strstr(1, "a")); print(str_concat("a")); warnf("%d"); print(strerror(1) == "x"); }
----
error: strerror() only supports integer arguments (string[16] provided) at 1:24 `comm`
error: strstr() expects strings, or arrays or pointers of characters (int64 provided) at 1:45 `1`
error: str_concat() requires 2 arguments (1 provided) at 1:61 `str_concat`
  help: usage: str_concat(a, b)
error: not enough arguments for format string (0 supplied, 1 expected) at 1:85 `"%d"`
error: type mismatch for '==': comparing error name with string[2] at 1:98 `strerror(1) == "x"`
  label: left (error name) at 1:98 `strerror(1)`
  label: right (string[2]) at 1:113 `"x"`

====
begin { $v = 1; find(@m, 1); find(1, 2, $v); find(@m, 2, 3); @m[1] = 2; print(find(@m, 1, $new)); print($new); assert(1); }
----
error: find() requires 3 arguments (2 provided): find(@map, key, $value) at 1:17 `find(@m, 1)`
error: find() expects a map, a key and a variable: find(@map, key, $value) at 1:30 `find(1, 2, $v)`
error: find() expects a map, a key and a variable: find(@map, key, $value) at 1:46 `find(@m, 2, 3)`
error: `assert` is not supported yet at 1:112 `assert`

====
tracepoint:syscalls:sys_enter_openat { printf("%s %s\n", comm, args.filename); }
----
warning: %s of a pointer prints the address at 1:64 `args.filename`
  help: `str(…)` reads the text that it points to
ok
