# Language and output, where a kernel is needed to see them: values travel through programs, maps and the ring.

NAME printf-integers
PROG BEGIN { printf("[%d] [%5d] [%-5d] [%05d] [%+d]\n", 42, 42, 42, 42, 42); printf("[%u] [%x] [%X] [%#x] [%o] [%c] [%%]\n", 42, 255, 255, 255, 8, 65); }
EXPECT_ALL
  [42] [   42] [42   ] [00042] [+42]
  [42] [ff] [FF] [0xff] [10] [A] [%]
DIFF text

NAME printf-lengths
PROG BEGIN { printf("%hhd %hd %ld %lld %llu %zu %jd\n", 1, 2, 3, 4, 5, 6, 7); printf("%d %ld\n", -1, -9223372036854775807); printf("%lu\n", 18446744073709551615); }
EXPECT_ALL
  1 2 3 4 5 6 7
  -1 -9223372036854775807
  18446744073709551615
DIFF text

NAME printf-strings
PROG BEGIN { printf("[%s] [%10s] [%-10s]\n", "abc", "abc", "abc"); }
EXPECT_ALL [abc] [       abc] [abc       ]
DIFF text

NAME printf-pointer
PROG BEGIN { printf("%p\n", (uint8 *)0xffff); }
EXPECT_ALL 0xffff
DIFF text

NAME printf-buffers
PROG uprobe:{workload}:workload_buffer { printf("%r|%rx|%rh\n", buf(arg0, arg1), buf(arg0, arg1), buf(arg0, arg1)); }
WORKLOAD {workload} functions 1
EXPECT_REGEX ^\\x00a\\xff\\x0ab\\x7f\\x80c\|
DIFF text

NAME arithmetic-and-precedence
PROG BEGIN { printf("%d %d %d %d\n", 2 + 3 * 4, (2 + 3) * 4, 7 - 2 - 1, 17 % 5); printf("%d %d %d %d\n", 1 << 4 | 1, 6 & 3 ^ 1, ~0, !5); printf("%d %d %d\n", 1 < 2 && 2 < 3, 0 || 0, 5 > 3 ? 10 : 20); }
EXPECT_ALL
  14 20 4 2
  17 3 -1 0
  1 0 10
DIFF text

NAME assignments-and-steps
PROG BEGIN { $a = 5; $a += 3; $a -= 1; $a *= 2; $a /= 7; $a <<= 3; $a |= 1; $a &= 0x1f; $a ^= 2; $a %= 15; @m = $a; @m++; ++@m; @m--; printf("%d %d %d\n", $a, $a++, ++$a); }
EXPECT_REGEX ^4 4 6$
CHECK @m == 5

NAME if-else-chains
PROG BEGIN { $i = 0; unroll(4) { if ($i == 0) { printf("zero\n"); } else if ($i == 1) { printf("one\n"); } else { printf("many %d\n", $i); } $i++; } }
EXPECT_ALL
  zero
  one
  many 2
  many 3
DIFF text

NAME while-break-continue
PROG BEGIN { $i = 0; while ($i < 100) { $i++; if ($i % 2 == 0) { continue; } if ($i > 7) { break; } printf("%d\n", $i); } }
EXPECT_ALL
  1
  3
  5
  7

NAME for-over-a-range
PROG BEGIN { for ($i : 0..5) { @sum += $i; } printf("%d\n", @sum); }
EXPECT 10
CHECK @sum == 10
DIFF maps

NAME for-over-a-map
PROG BEGIN { @a[1] = 10; @a[2] = 20; @a[3] = 30; for ($kv : @a) { @keys += $kv.0; @values += $kv.1; } }
CHECK
  @keys == 6
  @values == 60
DIFF maps

NAME return-ends-a-probe
PROG BEGIN { printf("before\n"); if (1) { return; } printf("after\n"); }
EXPECT_ALL before
DIFF text

NAME predicate-false
PROG BEGIN /0/ { printf("no\n"); } BEGIN /1/ { printf("yes\n"); }
EXPECT_ALL yes
DIFF text

NAME tuples
PROG BEGIN { $t = (1, "two", (3, 4)); printf("%d %s %d\n", $t.0, $t.1, $t.2.1); @t = $t; print((5, "six")); }
EXPECT
  1 two 4
  (5, six)
  @t: (1, two, (3, 4))
DIFF text

NAME map-of-several-keys
PROG BEGIN { @[1, "a"] = 10; @[2, "b"] = 20; @[1, "c"] = 30; }
CHECK
  @[1, a] == 10
  @[2, b] == 20
  @[1, c] == 30
  keys(@) == 3
DIFF maps

NAME map-sorted-by-value
PROG BEGIN { @x["three"] = 3; @x["one"] = 1; @x["two"] = 2; }
EXPECT_ALL
  @x[one]: 1
  @x[two]: 2
  @x[three]: 3

NAME maps-in-order-of-name
PROG BEGIN { @b = 1; @a = 2; @c = 3; }
EXPECT_ALL
  @a: 2
  @b: 1
  @c: 3
DIFF text

NAME map-strings-as-values
PROG BEGIN { @s = "text"; @k["a b"] = "c d"; }
EXPECT_ALL
  @k[a b]: c d
  @s: text
DIFF text

NAME map-delete-clear-zero
PROG BEGIN { @a[1] = 1; @a[2] = 2; delete(@a, 1); @b[1] = 1; @b[2] = 5; @c = 7; @d[1] = 3; clear(@d); print(@a); }
EXPECT
  @a[2]: 2
  @b[1]: 1
  @b[2]: 5
  @c: 7
CHECK keys(@d) == 0

NAME map-zero-keeps-keys
PROG BEGIN { @b["x"] = count(); zero(@b); }
EXPECT @b[x]: 0
DIFF text

NAME map-has-key-and-len
PROG BEGIN { @a[1] = 0; printf("%d %d %d\n", has_key(@a, 1), has_key(@a, 2), len(@a)); }
EXPECT 1 0 1
DIFF text

NAME map-print-top-and-div
PROG BEGIN { @a[1] = 1000; @a[2] = 2000; @a[3] = 3000; print(@a, 2); print(@a, 2, 100); clear(@a); }
EXPECT_ALL
  @a[2]: 2000
  @a[3]: 3000
  @a[2]: 20
  @a[3]: 30

NAME map-of-pointers-and-negatives
PROG BEGIN { @p = (int8 *)0x1234; @n[-5] = -7; }
EXPECT_ALL
  @n[-5]: -7
  @p: 0x1234
DIFF text

NAME aggregations
PROG BEGIN { @c = count(); @c = count(); @s = sum(5); @s = sum(-8); @mn = min(4); @mn = min(9); @mx = max(4); @mx = max(9); @av = avg(10); @av = avg(21); @st = stats(10); @st = stats(21); }
EXPECT_ALL
  @av: 15
  @c: 2
  @mn: 4
  @mx: 9
  @s: -3
  @st: { .count = 2, .average = 15, .total = 31 }
DIFF text

NAME aggregations-by-key
PROG BEGIN { @av["a"] = avg(2); @av["a"] = avg(4); @st[1] = stats(3); @mx["x"] = max(7); @mx["y"] = max(3); }
EXPECT_ALL
  @av[a]: 3
  @mx[y]: 3
  @mx[x]: 7
  @st[1]: { .count = 1, .average = 3, .total = 3 }
DIFF text

NAME hist-rows
PROG BEGIN { @h = hist(-1); @h = hist(0); @h = hist(1); @h = hist(2); @h = hist(3); @h = hist(1024); @h = hist(1024); }
EXPECT
  @h:
  (..., 0)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |
  [0]                    1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |
  [1]                    1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |
  [2, 4)                 2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [4, 8)                 0 |                                                    |
  [512, 1K)              0 |                                                    |
  [1K, 2K)               2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
DIFF text

NAME hist-with-steps
PROG BEGIN { $i = 0; while ($i < 40) { @h = hist($i, 2); $i++; } }
EXPECT @h:
CHECK @h == 40
DIFF text

NAME lhist-rows
PROG BEGIN { @h = lhist(-5, 0, 100, 10); @h = lhist(5, 0, 100, 10); @h = lhist(42, 0, 100, 10); @h = lhist(200, 0, 100, 10); }
EXPECT
  @h:
  (..., 0)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [0, 10)                1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [40, 50)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [100, ...)             1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
DIFF text

NAME hist-by-key
PROG BEGIN { @h["a"] = hist(1); @h["b"] = hist(2); @h["b"] = hist(3); }
EXPECT
  @h[a]:
  [1]                    1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  @h[b]:
  [2, 4)                 2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
DIFF text

NAME strings-compare-and-search
PROG BEGIN { printf("%d %d %d %d %d\n", "abc" == "abc", "abc" == "abd", "abc" != "abd", strncmp("abcd", "abxx", 2) == 0, strcontains("hello", "ell")); }
EXPECT_ALL 1 0 1 1 1
DIFF text

NAME string-is-cut-with-trailer
PROG uprobe:{workload}:workload_string { @[str(arg0)] = 1; }
ENV BPFTRACE_MAX_STRLEN=10
WORKLOAD {workload} functions 1
EXPECT_REGEX ^@\[hello, "t?r?\.\.\]: 1$
DIFF text

NAME casts-and-signs
PROG BEGIN { $x = (uint8)300; $y = (int8)200; printf("%d %d %d\n", $x, $y, (uint16)-1); }
EXPECT_ALL 44 -56 65535

NAME structs-defined-in-the-script
PROG
  struct pair { int a; char b; short c; };
  BEGIN { printf("%d %d %d\n", sizeof(struct pair), offsetof(struct pair, c), sizeof(uint64)); }
EXPECT_ALL 8 6 8
DIFF text

NAME enums-from-the-kernel
PROG BEGIN { printf("%d %d\n", BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_ARRAY); }
EXPECT_ALL 1 2

NAME kernel-struct-size-and-offset
PROG BEGIN { printf("%d %d\n", sizeof(struct task_struct) > 1000, offsetof(struct list_head, prev)); }
EXPECT_ALL 1 8
DIFF text

NAME macaddr-and-ntop
PROG BEGIN { printf("%s %s\n", ntop(0x0100007f), ntop(2, 0x0100007f)); }
EXPECT_ALL 127.0.0.1 127.0.0.1
DIFF text

NAME join-arguments
PROG tracepoint:syscalls:sys_enter_execve /comm == "wl-run"/ { join(args.argv); }
WORKLOAD {workload} exec 2
CHECK lines(^workload-child true 1$) == 2

NAME join-arguments-with-separator
PROG tracepoint:syscalls:sys_enter_execve /comm == "wl-run"/ { join(args.argv, ","); }
WORKLOAD {workload} exec 2
CHECK lines(^workload-child,true,1$) == 2

NAME cat-prints-a-file
FILE greeting
  hello from a file
PROG BEGIN { cat("{dir}/greeting"); }
EXPECT_ALL hello from a file

NAME system-runs-a-command
PROG BEGIN { system("echo from %s", "shell"); }
ARGS --unsafe
EXPECT from shell

NAME signal-is-sent
PROG tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { signal("KILL"); }
ARGS --unsafe -c "{workload} getppid 100000"
STDERR_REGEX Attached 1 probe
CHECK wall_ms < 10000

NAME time-and-strftime
PROG BEGIN { time("%Y\n"); printf("%s\n", strftime("%Y-%m-%d", nsecs)); }
EXPECT_REGEX
  ^20[0-9][0-9]$
  ^20[0-9][0-9]-[01][0-9]-[0-3][0-9]$

NAME kaddr-and-ksym
PROG tracepoint:syscalls:sys_enter_getppid /comm == "wl-run"/ { printf("%s\n", ksym(kaddr("vfs_read"))); }
WORKLOAD {workload} getppid 1
EXPECT_REGEX ^vfs_read(\+0)?$

NAME cgroupid-of-the-root
PROG BEGIN { printf("%d\n", cgroupid("/sys/fs/cgroup") > 0); }
NEEDS root
EXPECT_ALL 1

NAME positional-parameters
PROG BEGIN { printf("%d %s %d [%s]\n", $1, str($2), $#, str($3)); }
PARAMS 42 word
EXPECT_ALL 42 word 2 []
DIFF text

NAME config-block
PROG config = { print_maps_on_exit = 0 } BEGIN { @x = 1; printf("done\n"); }
EXPECT_ALL done
DIFF text

NAME config-by-environment
PROG BEGIN { @x = 1; printf("done\n"); }
ENV BPFTRACE_PRINT_MAPS_ON_EXIT=0
EXPECT_ALL done
DIFF text

NAME scratch-variables-per-thread
PROG tracepoint:syscalls:sys_enter_read /comm == "wl-run"/ { @start[tid] = args.count; } tracepoint:syscalls:sys_exit_read /@start[tid]/ { $size = @start[tid]; if ($size == args.ret) { @equal = count(); } delete(@start, tid); }
WORKLOAD {workload} read 500 77
CHECK @equal == 500
DIFF maps

NAME concurrent-counts-are-exact
PROG tracepoint:syscalls:sys_enter_getppid /comm == "wl-run"/ { @a = count(); @b[comm] = count(); @c = sum(2); }
WORKLOAD
  {workload} getppid 20000
  {workload} getppid 20000
CHECK
  @a == 40000
  @b[wl-run] == 40000
  @c == 80000
DIFF maps

NAME hostile-names-do-not-reach-a-terminal
RUN
  script -qefc "strix trace -c '{workload} hostile 3' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[comm] = count(); printf(\"name %s\n\", comm); }'" /dev/null
NEEDS cmd:script
CHECK
  lines(\x1b\[31m) == 0
  lines(\x07) == 0
  lines(^name .*31mred) == 3

NAME unreadable-memory-is-an-empty-string
PROG BEGIN { printf("[%s]\n", str(kptr(8))); }
EXPECT []
DIFF text
