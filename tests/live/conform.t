# What scripts that were written for other tools rely on.

NAME conform-stacks-in-records-of-uprobes
PROG uprobe:{workload}:workload_work /comm == "wl-run"/ { printf("%d %d\n", len(ustack) > 0, len(ustack(1))); printf("%s", ustack(1)); @n = count(); }
WORKLOAD {workload} work 3
CHECK
  @n == 3
  lines(^1 1$) == 3
  lines(^ {8}\S) == 3

NAME conform-bytes-of-literals
PROG BEGIN { printf("%r %rx\n", buf("ab\0c", 4), buf("xy", 2)); @[buf("key", 3)] = 1; print((int8[])"hey"); }
EXPECT
  ab\x00c \x78\x79
  [104,101,121,0]
  @[key]: 1
DIFF text

NAME conform-characters-of-literals
PROG BEGIN { print(("abc"[1], "abc"[0] == 97)); $i = 2; print("abc"[$i]); }
EXPECT_ALL
  (98, true)
  99
DIFF text

NAME conform-lengths-of-strings-count-the-nul
PROG BEGIN { $s = "hello"; print(str($s, 3)); $n = 4; print(str($s, $n)); print(str("hello", 3)); printf("%s|\n", str($s, 1)); }
EXPECT_ALL
  he
  hel
  hel
  |
DIFF text

NAME conform-cut-strings-are-marked
PROG tracepoint:syscalls:sys_enter_openat /pid == cpid/ { printf("<%s>\n", str(args.filename)); @[str(args.filename)] = count(); }
ARGS -c "{workload} open 2"
ENV BPFTRACE_MAX_STRLEN=6
CHECK
  lines(^</dev/n\.\.>$) == 2
  @[/dev/n..] == 2

NAME conform-fields-of-printed-records
PROG
  struct low { int a; char text[4]; unsigned long long x:1, y:2; }
  struct high { unsigned long long p:1; unsigned long long q:1; unsigned long long r:2; int s:4; }
  BEGIN { $v = (uint64)0x1e; print(*(struct high *)(&$v)); $w = (1, 2); }
EXPECT
  { .p = 0, .q = 1, .r = 3, .s = 1 }

NAME conform-microseconds-of-dates-agree
RUN
  strix trace -q -e 'BEGIN { printf("%s\n%s\n", strftime("%s%f", 1000123000), strftime("%s%f", 0)); }' | sed -n '/^[0-9]/p' | { read a; read b; echo $((a - b)); }
EXPECT
  1000123

NAME conform-macros
PROG
  macro add_one($x) { $x += 1; }
  macro double(x) { x * 2 }
  macro fill(@m, value) { @m[value] = double(value); }
  macro total(@m) { $sum = 0; for ($kv : @m) { $sum += $kv.1; } $sum }
  macro answer() { let $x = 42; $x }
  macro shout(x) { x; x; }
  BEGIN {
    $x = 1; add_one($x); $sum = 7; fill(@a, 5); fill(@a, double(5));
    printf("%d %d %d %d\n", $x, double($x + 1), total(@a), $sum);
    print(answer); print(answer());
    shout({ printf("ho") });
    printf("\n");
  }
EXPECT
  2 6 30 7
  42
  42
  hoho
  @a[5]: 10
  @a[10]: 20
DIFF text

NAME conform-names-of-numbers
PROG BEGIN { print(strerror(2)); printf("%s|%-10s|\n", signal_name(SIGTERM), syscall_name(__NR_openat)); @e[strerror(EACCES)] = count(); }
EXPECT
  No such file or directory
  Terminated|openat    |
  @e[Permission denied]: 1

NAME conform-searching-and-joining-strings
PROG
  BEGIN {
    $h = "hello world"; $n = "lo";
    print((strstr("hello", "llo"), strstr($h, "wor"), strstr($h, $n), strstr($h, "zz"), strstr($h, "")));
    print((strcontains($h, $n), strcontains($h, "low")));
    print(str_concat($h, "!")); print(str_concat($n, str_concat("-", $n))); @s[str_concat("x", $n)] = 1;
    print((strcap("abc"), strlen(str_concat($n, $h))));
  }
EXPECT
  (2, 6, 3, -1, 0)
  (true, false)
  hello world!
  lo-lo
  (4, 13)
  @s[xlo]: 1

NAME conform-remarks-of-the-script
PROG BEGIN { warnf("odd %d %s", 3, "x"); errorf("bad %s\n", "y"); assert(1 == 1, "fine"); assert(2 == 1, "no"); print("never"); }
EXIT 1
EXPECT_NONE never
STDERR_REGEX
  ^.*:1:9-35: WARNING: odd 3 x$
  ^.*:1:37-60: ERROR: bad y$
  ^.*ERROR: assert failed: no$

NAME conform-remarks-without-warnings
PROG BEGIN { warnf("odd"); errorf("bad"); }
ARGS --no-warnings -f json
EXPECT_REGEX ^\{"type": "errorf", "msg": "bad", "filename": ".*", "line": 1, "col": 23\}$
EXPECT_NONE odd

NAME conform-find
PROG BEGIN { @m[1, "a"] = 10; if (find(@m, (1, "a"), $v)) { print($v); } if (!find(@m, (2, "a"), $w)) { print("none"); } print($w); }
EXPECT_ALL
  10
  none
  0
  
  
  @m[1, a]: 10

NAME conform-tasks
PROG BEGIN { print((leader_comm == comm, leader_tid == pid, ppid(curtask) == ppid, pcomm(curtask) == pcomm)); }
EXPECT (true, true, true, true)

NAME conform-pointers-in-maps-step-by-their-type
PROG BEGIN { @p = (int32 *)16; @p++; @p++; @p--; @k[1] = (int64 *)8; @k[1]--; }
EXPECT
  @k[1]: 0x0
  @p: 0x14
DIFF text

NAME conform-container-of
PROG
  struct pair { int first; int second; }
  BEGIN { $x = (uint64)0x0000000300000002; $second = (int32 *)((uint64)&$x + 4); $pair = container_of($second, struct pair, second); print($pair == (struct pair *)&$x); }
EXPECT true

NAME conform-records
PROG
  BEGIN {
    $v = (x=1, y=2); $w = (x=3, y=4); @a = (n=pid > 0, s="text", t=(5, 6), r=$v); $v = $w;
    print($v); printf("%d %s\n", $v.y, @a.s); @k[(p=(int8)1, q="ab")] = count();
    print((s={ printf("first "); 1 }, t={ printf("second\n"); 2 }));
  }
EXPECT_ALL
  { .x = 3, .y = 4 }
  4 text
  first second
  { .s = 1, .t = 2 }
  
  
  @a: { .n = true, .s = text, .t = (5, 6), .r = { .x = 1, .y = 2 } }
  @k[{ .p = 1, .q = ab }]: 1

NAME conform-records-with-room
PROG
  BEGIN {
    $r = (a="x", b=(int8)-3, c=("q", (uint8)255)); $r = (a="longer", b=pid * 0 - 4, c=("qq", 3));
    print($r); print($r == (a="longer", b=-4, c=("qq", 3))); @[(k=comm)] = 1; @[(k="strix")] = 2;
  }
EXPECT_ALL
  { .a = longer, .b = -4, .c = (qq, 3) }
  true
  
  
  @[{ .k = strix }]: 2

NAME conform-own-definition-of-a-kernel-struct
PROG struct task_struct { unsigned long first; } BEGIN { print(curtask.first == *(uint64 *)curtask); }
EXPECT true

NAME conform-assignment-of-a-block
PROG BEGIN { @ = { let $a = 100; avg($a) }; @k[1] = { $x = 3; $x + 1 }; }
EXPECT
  @: 100
  @k[1]: 4

NAME conform-paths-of-uprobes-as-written
RUN
  ln -s {workload} here
  strix trace -l 'uprobe:./here:workload_wor*'
  strix trace -q -e 'uprobe:./here:workload_work { print(probe); exit(); }' -c './here work 1' | grep uprobe
EXPECT_ALL
  uprobe:./here:workload_work
  uprobe:./here:workload_work

NAME conform-nothing-to-attach-to
PROG kprobe:strix_no_such_function { }
ENV BPFTRACE_MISSING_PROBES=ignore
EXIT 1
STDERR_REGEX nothing to attach to

NAME conform-equality-of-tuples-and-records
PROG
  BEGIN {
    $a = ("abcdef", 1); $a = ("ab", 1); $b = ("abcdefgh", 2); $b = ("ab", 1); $n = "ab";
    print(($a == $b, $a == ("ab", 1), $a != ("abc", 1), ((int8)-1, 2) == (-1, (uint8)2), (1, (2, "x")) == (1, (2, "y"))));
    print(((x=1, y="a") == (x=1, y="a"), (x=1, y="a") == (x=1, y="b"), (1, $n, pid) == (1, "ab", pid)));
  }
EXPECT
  (true, true, true, true, false)
  (true, false, true)

NAME conform-pid-namespaces
NEEDS root cmd:unshare
RUN unshare --fork --pid --mount-proc strix trace -q -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @n = count(); @[pid < 100, pid == pid(init)] = count(); } tracepoint:syscalls:sys_enter_getppid /pid != cpid && comm == "wl-run"/ { @other = count(); }' -c '{workload} getppid 3'
EXPECT_ALL
  @[true, false]: 3
  @n: 3

NAME conform-addresses-of-user-variables
PROG uprobe:{workload}:workload_work /comm == "wl-run"/ { @[str(uaddr("self_name"))] = count(); @f[usym(uaddr("workload_inner")), uaddr("workload_work") == (uint64 *)reg("ip")] = count(); }
WORKLOAD {workload} work 3
CHECK
  @[workload] == 3
  sum(@f) == 3
  lines(, true\]: 3$) == 1

NAME conform-truth-of-options
RUN
  strix trace -q -e 'BEGIN { print((getopt("aa", 20), getopt("cc", true), getopt("dd"))); }' -- --dd --aa=0xffffffffffffffff --cc=False
  strix trace -q -e 'BEGIN { print(getopt("aa", 20)); }' -- --zz 2>&1 || true
EXPECT
  (18446744073709551615, false, true)
EXPECT_REGEX
  its options are --aa

NAME conform-names-of-probes-as-text
PROG uprobe:{workload}:workload_inner,uprobe:{workload}:workload_outer { @[probe == "uprobe:{workload}:workload_inner", strcontains(probe, "outer"), strcontains(probe, "workload")] = count(); } BEGIN { $p = probe; print(("begin" == probe, $p != "begin", probe == "end")); }
BEFORE {workload} wait 1 1
WORKLOAD {workload} poke {before}
EXPECT (true, false, false)
CHECK
  @[true, false, true] == 1
  @[false, true, true] == 1

NAME conform-equality-of-buffers
PROG BEGIN { $a = buf("hi", 2); $b = buf("bye", 3); $n = 1; print(($a == $a, $a != $b, $a == buf("hi", 2), buf("hi", 2) == buf("ho", 2), ($a, 1) == (buf("hi", 2), 1))); print(buf("hi", $n) == buf("ho", $n)); }
EXPECT_ALL
  (true, true, true, false, true)
  true

NAME conform-events-have-their-names-as-written
PROG software:cpu:100000 { @[probe] = count(); exit(); }
EXPECT_REGEX ^@\[software:cpu:100000\]: [0-9]+$
