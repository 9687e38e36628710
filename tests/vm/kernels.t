# What must be the same on every kernel: the providers that each has, on a machine with no tracefs mounted.

NAME begin-end
PROG BEGIN { printf("begin\n"); } END { printf("end\n"); }
EXPECT_ALL
  begin
  end

NAME tracepoint-count
PROG tracepoint:syscalls:sys_enter_getppid /comm == "wl-run"/ { @n = count(); }
WORKLOAD /bin/workload getppid 1000
CHECK @n == 1000

NAME tracepoint-wildcard
PROG tracepoint:syscalls:sys_enter_* /comm == "wl-run"/ { @[probe] = count(); }
WORKLOAD /bin/workload open 40
CHECK
  @[tracepoint:syscalls:sys_enter_openat] == 40
  @[tracepoint:syscalls:sys_enter_close] == 40
  keys(@) == 3
TIMEOUT 60

NAME raw-syscalls-by-id
PROG tracepoint:raw_syscalls:sys_enter /comm == "wl-run"/ { @[args.id] = count(); }
WORKLOAD /bin/workload getppid 500
CHECK @[110] == 500

NAME rawtracepoint
PROG rawtracepoint:sys_enter /comm == "wl-run"/ { @[arg1] = count(); }
WORKLOAD /bin/workload getppid 200
CHECK @[110] == 200

NAME sched-tracepoint
PROG tracepoint:sched:sched_switch { @[args->prev_comm] = count(); }
WORKLOAD /bin/workload ctxsw 100
CHECK @[wl-run] >= 95

NAME uprobe-and-uretprobe
PROG uprobe:/bin/workload:workload_work { @n = count(); @a = sum(arg0); } uretprobe:/bin/workload:workload_work { @r = sum(retval); }
WORKLOAD /bin/workload work 100
NEEDS uprobe
CHECK
  @n == 100
  @a == 4950
  @r == 14850

NAME uprobe-wildcard
PROG uprobe:/bin/workload:workload_*ner, uprobe:/bin/workload:workload_m*, uprobe:/bin/workload:workload_ou* { @[func] = count(); }
BEFORE /bin/workload wait 5 1
WORKLOAD /bin/workload poke {before}
NEEDS uprobe
CHECK
  @[workload_inner] == 5
  @[workload_middle] == 5
  @[workload_outer] == 5

NAME software-event
PROG software:page-faults:1 /comm == "wl-run"/ { @n = count(); }
WORKLOAD /bin/workload fault 100
CHECK
  @n >= 100
  @n <= 110

NAME profile-and-interval
PROG profile:hz:99 { @p = count(); } interval:ms:100 { @i++; if (@i == 5) { exit(); } }
CHECK
  @i == 5
  @p >= 1

NAME loops-over-ranges-and-maps
PROG BEGIN { for ($i : 0..5) { @a[$i] = $i; } for ($kv : @a) { @sum += $kv.1; } }
KERNELS 6.1 6.12
CHECK @sum == 10

NAME loops-too-new-for-the-kernel-are-named
PROG BEGIN { for ($kv : @a) { @sum += $kv.1; } @a[1] = 1; }
KERNELS 5.10
STDERR_REGEX (?i)kernel
EXIT 1

NAME kernel-structs
PROG tracepoint:syscalls:sys_enter_getppid /comm == "wl-run"/ { printf("%d %s\n", curtask->pid == tid, curtask->comm); }
WORKLOAD /bin/workload getppid 1
NEEDS btf
EXPECT 1 wl-run

NAME kernel-stacks
PROG tracepoint:raw_syscalls:sys_enter /comm == "wl-run"/ { @[kstack] = count(); }
WORKLOAD /bin/workload getppid 50
EXPECT_REGEX ^    +[a-z_].*\+[0-9]+$
CHECK sum(@) == 51

NAME child-command
PROG tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @n = count(); }
ARGS -c "/bin/workload getppid 77"
CHECK @n == 77

NAME printf-stream
PROG tracepoint:syscalls:sys_enter_getppid /comm == "wl-run"/ { printf("event %d\n", pid); }
WORKLOAD /bin/workload getppid 2000
CHECK lines(^event ) == 2000

NAME nothing-is-left-mounted
RUN
  strix trace -e 'BEGIN { exit(); }' >/dev/null
  grep -c -E 'tracefs|debugfs' /proc/mounts || true
NEEDS cmd:sh
EXPECT 0

NAME info
CALL --info
EXPECT_REGEX btf: yes
