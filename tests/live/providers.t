# Every kind of probe that this kernel has, with a workload whose true number is known.

NAME tracepoint-count
PROG tracepoint:syscalls:sys_enter_getppid /comm == "wl-run"/ { @n = count(); }
WORKLOAD {workload} getppid 1000
CHECK @n == 1000
DIFF maps

NAME tracepoint-args
PROG tracepoint:syscalls:sys_enter_read /comm == "wl-run"/ { @[args.count] = count(); @sum = sum(args.count); }
WORKLOAD
  {workload} read 100 7
  {workload} read 50 4096
CHECK
  @[7] == 100
  @[4096] == 50
  @sum == 205500
  keys(@) == 2
DIFF maps

NAME tracepoint-exit-value
PROG tracepoint:syscalls:sys_exit_openat /comm == "wl-run"/ { @[args.ret] = count(); }
WORKLOAD {workload} missing 25
CHECK
  @[-2] == 25
  keys(@) == 1
DIFF maps

NAME tracepoint-several-probes-one-body
PROG tracepoint:syscalls:sys_enter_openat, tracepoint:syscalls:sys_enter_close /comm == "wl-run"/ { @[probe] = count(); }
WORKLOAD {workload} open 30
CHECK
  @[tracepoint:syscalls:sys_enter_openat] == 30
  @[tracepoint:syscalls:sys_enter_close] == 30
DIFF maps

NAME tracepoint-wildcard-in-event
PROG tracepoint:syscalls:sys_enter_* /comm == "wl-run"/ { @[probe] = count(); }
WORKLOAD {workload} open 40
CHECK
  @[tracepoint:syscalls:sys_enter_openat] == 40
  @[tracepoint:syscalls:sys_enter_close] == 40
  @[tracepoint:syscalls:sys_enter_prctl] == 1
  keys(@) == 3
TIMEOUT 60

NAME tracepoint-wildcard-enter-and-exit
PROG tracepoint:syscalls:sys_*_getppid /comm == "wl-run"/ { @[probe] = count(); }
WORKLOAD {workload} getppid 60
CHECK
  @[tracepoint:syscalls:sys_enter_getppid] == 60
  @[tracepoint:syscalls:sys_exit_getppid] == 60
DIFF maps

NAME tracepoint-wildcard-in-category
PROG tracepoint:sys*s:sys_enter_getppid /comm == "wl-run"/ { @n = count(); }
WORKLOAD {workload} getppid 60
CHECK @n == 60

NAME tracepoint-short-name
PROG t:syscalls:sys_enter_getppid /comm == "wl-run"/ { @n = count(); }
WORKLOAD {workload} getppid 11
CHECK @n == 11
DIFF maps

NAME tracepoint-raw-syscalls
PROG tracepoint:raw_syscalls:sys_enter /comm == "wl-run"/ { @[args.id] = count(); }
WORKLOAD {workload} getppid 500
CHECK
  @[110] == 500
  @[157] == 1
  keys(@) == 2
DIFF maps

NAME tracepoint-string-field
PROG tracepoint:sched:sched_process_exec /comm == "exe"/ { @[str(args.filename)] = count(); }
WORKLOAD {workload} exec 3
CHECK @[/proc/self/exe] == 3
DIFF maps

NAME rawtracepoint-args
PROG rawtracepoint:sys_enter /comm == "wl-run"/ { @[arg1] = count(); }
WORKLOAD {workload} getppid 200
CHECK
  @[110] == 200
  @[157] == 1

NAME rawtracepoint-btf-args
PROG rawtracepoint:sched_process_exec /comm == "exe"/ { @[str(args.bprm->filename)] = count(); }
WORKLOAD {workload} exec 4
CHECK @[/proc/self/exe] == 4

NAME software-page-faults
PROG software:page-faults:1 /comm == "wl-run"/ { @n = count(); }
WORKLOAD {workload} fault 300
CHECK
  @n >= 300
  @n <= 310
DIFF keys

NAME software-context-switches
PROG software:cs:1 /comm == "wl-run"/ { @n = count(); }
WORKLOAD {workload} ctxsw 200
CHECK
  @n >= 200
  @n <= 800
DIFF keys

NAME profile-hz
PROG profile:hz:99 /comm == "wl-run"/ { @n = count(); }
WORKLOAD {workload} burn 1000
CHECK
  @n >= 50
  @n <= 110
DIFF keys

NAME profile-ms
PROG profile:ms:10 /comm == "wl-run"/ { @n = count(); }
WORKLOAD {workload} burn 1000
CHECK
  @n >= 50
  @n <= 110
DIFF keys

NAME interval-runs-on-one-cpu
PROG interval:ms:100 { @n++; if (@n == 5) { exit(); } }
CHECK
  @n == 5
  wall_ms >= 500
DIFF maps

NAME interval-duration-literal
PROG interval:100ms { @n++; if (@n == 3) { exit(); } }
CHECK @n == 3
DIFF maps

NAME uprobe-count-and-args
PROG uprobe:{workload}:workload_work { @n = count(); @a = sum(arg0); @b = sum(arg1); }
WORKLOAD {workload} work 1000
CHECK
  @n == 1000
  @a == 499500
  @b == 999000
DIFF maps

NAME uretprobe-value
PROG uretprobe:{workload}:workload_work { @n = count(); @r = sum(retval); }
WORKLOAD {workload} work 1000
CHECK
  @n == 1000
  @r == 1498500
DIFF maps

NAME uprobe-six-args
PROG uprobe:{workload}:workload_six { printf("%d %d %d %d %d %d\n", arg0, arg1, arg2, arg3, arg4, arg5); }
WORKLOAD {workload} functions 2
EXPECT
  1 2 3 4 5 6
  1 2 3 4 5 6
CHECK lines(^1 2 3 4 5 6$) == 2
DIFF text

NAME uprobe-negative-value
PROG uretprobe:{workload}:workload_negative { printf("%d\n", (int32)retval); }
WORKLOAD {workload} functions 1
EXPECT -5
DIFF text

NAME uprobe-string
PROG uprobe:{workload}:workload_string { @[str(arg0)] = count(); @cut[str(arg0, 5)] = count(); }
WORKLOAD {workload} functions 3
CHECK
  @[hello, "tracer"] == 3
  keys(@cut) == 1
DIFF maps

NAME uprobe-buffer
PROG uprobe:{workload}:workload_buffer { printf("%r\n", buf(arg0, arg1)); }
WORKLOAD {workload} functions 1
EXPECT \x00a\xff\x0ab\x7f\x80c
DIFF text

NAME uprobe-struct-walk
PROG
  struct workload_pair { int number; char name[12]; struct workload_pair *next; };
  uprobe:{workload}:workload_struct { $p = (struct workload_pair *)arg0;
    printf("%d %s, then %d %s, end %p\n", $p->number, $p->name, $p->next->number, $p->next->name, $p->next->next); }
WORKLOAD {workload} functions 1
EXPECT_REGEX ^42 first, then 43 second, end (0x)?0$
DIFF text

NAME uprobe-wildcard
PROG uprobe:{workload}:workload_*ner, uprobe:{workload}:workload_m*, uprobe:{workload}:workload_ou* { @[func] = count(); }
# There until the end, so that its functions can be named.
BEFORE {workload} wait 5 1
WORKLOAD {workload} poke {before}
CHECK
  @[workload_inner] == 5
  @[workload_middle] == 5
  @[workload_outer] == 5
  keys(@) == 3

NAME uprobe-cpp-name
PROG uprobe:{workload}:cpp:"strix::add" { @n = count(); @sum = sum(arg0 + arg1); }
WORKLOAD {workload} functions 4
CHECK
  @n == 4
  @sum == 168
DIFF maps

NAME uprobe-offset-zero
PROG uprobe:{workload}:workload_work+0 { @n = count(); }
WORKLOAD {workload} work 10
CHECK @n == 10
DIFF maps

NAME uprobe-static-binary
PROG uprobe:{static}:workload_work { @n = count(); }
WORKLOAD {static} work 17
CHECK @n == 17
DIFF maps

NAME uprobe-libc-by-name
PROG uprobe:libc:malloc /comm == "wl-run"/ { @[arg0] = count(); }
WORKLOAD {workload} malloc 100 123
CHECK @[123] == 100

NAME uprobe-ustack
PROG uprobe:{workload}:workload_inner { @[ustack(3)] = count(); }
BEFORE {workload} wait 6 1
WORKLOAD {workload} poke {before}
EXPECT_REGEX
  ^    +workload_inner\+0
  ^    +workload_outer\+[0-9]+
CHECK
  keys(@) == 1
  sum(@) == 6

NAME uprobe-usym-and-uaddr
PROG uprobe:{workload}:workload_inner { printf("%s\n", usym(reg("ip"))); }
BEFORE {workload} wait 1 1
WORKLOAD {workload} poke {before}
EXPECT_REGEX ^workload_inner(\+0)?$

NAME begin-and-end
PROG BEGIN { printf("begin\n"); } END { printf("end\n"); }
EXPECT_ALL
  begin
  end
DIFF text

NAME begin-end-lower-case
PROG begin { printf("begin\n"); } end { printf("end\n"); }
EXPECT_ALL
  begin
  end
DIFF text

NAME begin-in-order-of-writing
PROG begin { printf("1\n"); } begin { printf("2\n"); } end { printf("3\n"); } end { printf("4\n"); }
EXPECT_ALL
  1
  2
  3
  4
DIFF text
