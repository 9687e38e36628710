# The scripts that engineers really type, by the row of the acceptance list. Where a script has no filter,
# other processes count too, so the workload's part is looked at by its thread name.

NAME T05-malloc-pairs
PROG uprobe:{libc}:malloc { @start[tid] = arg0; } uretprobe:{libc}:malloc /@start[tid]/ { printf("pid=%d comm=%s malloc(%d) = %p\n", pid, comm, @start[tid], retval); delete(@start[tid]); }
WORKLOAD {workload} malloc 100 4321
EXPECT_REGEX ^pid=[0-9]+ comm=wl-run malloc\(4321\) = 0x[0-9a-f]+$
CHECK lines(comm=wl-run malloc\(4321\)) == 100

NAME T06-malloc-sizes-of-one-command
PROG uprobe:{libc}:malloc /comm == "wl-run"/ { @size = hist(arg0); }
WORKLOAD
  {workload} malloc 100 100
  {workload} malloc 50 1000
CHECK
  row(@size [64, 128)) == 100
  row(@size [512, 1K)) == 50
  @size == 150
DIFF maps

NAME T07-mutex-time
PROG uprobe:{libc}:pthread_mutex_lock { @start[tid] = nsecs; } uretprobe:{libc}:pthread_mutex_lock /@start[tid]/ { @lock_time_us = hist((nsecs - @start[tid]) / 1000); delete(@start[tid]); }
WORKLOAD {workload} mutex 3 30000
CHECK
  @lock_time_us >= 3
  row(@lock_time_us [16K, 32K)) == 3

NAME T09-list-tracepoints
CALL -l tracepoint:syscalls:*
EXPECT
  tracepoint:syscalls:sys_enter_openat
  tracepoint:syscalls:sys_exit_openat
CHECK lines(^tracepoint:syscalls:sys_e) >= 600

NAME T09-list-with-arguments
CALL -lv tracepoint:syscalls:sys_enter_openat
EXPECT_REGEX
  ^tracepoint:syscalls:sys_enter_openat$
  int dfd
  char \* *filename
  int flags

NAME T09-info
CALL --info
EXPECT_REGEX
  btf: yes
  uprobe_multi: (yes|no)

NAME T09-version
RUN bpftrace --version
EXPECT_REGEX ^(bpftrace v|strix )[0-9]

NAME T10-execs
PROG tracepoint:syscalls:sys_enter_execve { printf("%-6d %-16s %s\n", pid, comm, str(args->filename)); }
WORKLOAD {workload} exec 5
EXPECT_REGEX ^[0-9]+ +wl-run           /proc/self/exe$
CHECK lines(wl-run           /proc/self/exe$) == 5

NAME T11-syscalls-by-command
PROG tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }
WORKLOAD {workload} getppid 1000
CHECK @[wl-run] == 1001

NAME T12-read-sizes
PROG tracepoint:syscalls:sys_exit_read /args->ret > 0/ { @bytes = hist(args->ret); }
WORKLOAD {workload} steps 1000
CHECK
  row(@bytes [1]) >= 1000
  row(@bytes [512, 1K)) >= 1000
  row(@bytes [1K, 2K)) >= 1000
  @bytes >= 11000

NAME T12-read-sizes-exact
PROG tracepoint:syscalls:sys_exit_read /comm == "wl-run" && args->ret > 0/ { @bytes = hist(args->ret); }
WORKLOAD {workload} steps 10
CHECK @bytes == 110
EXPECT
  @bytes:
  [1]                   10 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [2, 4)                10 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [4, 8)                10 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [8, 16)               10 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [16, 32)              10 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [32, 64)              10 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [64, 128)             10 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [128, 256)            10 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [256, 512)            10 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [512, 1K)             10 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [1K, 2K)              10 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
DIFF text

NAME T14-opens
PROG tracepoint:syscalls:sys_enter_openat { printf("%-6d %-16s %s\n", pid, comm, str(args->filename)); }
WORKLOAD
  {workload} open 20
  {workload} missing 10
CHECK
  lines(wl-run           /dev/null$) == 20
  lines(wl-run           /nonexistent/strix$) == 10

NAME T15-profile-kernel-stacks
PROG profile:hz:49 { @[kstack(5)] = count(); }
WORKLOAD {workload} burn 1000
CHECK sum(@) >= 40

NAME T15-profile-commands
PROG profile:hz:99 { @[comm] = count(); }
WORKLOAD {workload} burn 1000
CHECK @[wl-run] >= 50

NAME T15-profile-whole-stacks
PROG profile:hz:99 { @[kstack] = count(); }
WORKLOAD {workload} read 1500000 4096
EXPECT_REGEX ^    +[a-zA-Z_].*\+[0-9]+$
CHECK sum(@) >= 10

NAME T16-run-queue-latency
PROG tracepoint:sched:sched_waking { @qtime[args->pid] = nsecs; } tracepoint:sched:sched_switch /args->next_pid/ { $ns = @qtime[args->next_pid]; if ($ns) { @usecs = hist((nsecs - $ns) / 1000); } delete(@qtime[args->next_pid]); }
WORKLOAD {workload} ctxsw 500
# Half of the wake-ups find the other awake: it was preempted before it slept.
CHECK @usecs >= 450

NAME T17-context-switches-by-command
PROG tracepoint:sched:sched_switch { @[args->prev_comm] = count(); }
WORKLOAD {workload} ctxsw 500
CHECK
  @[wl-run] >= 490
  @[wl-peer] >= 490

NAME T18-kmalloc-sizes
PROG tracepoint:kmem:kmalloc { @bytes = hist(args->bytes_alloc); }
WORKLOAD {workload} pipe 500
CHECK @bytes >= 500

NAME T19-page-faults-by-command
PROG software:page-faults:1 { @[comm] = count(); }
WORKLOAD {workload} fault 400
CHECK
  @[wl-run] >= 400
  @[wl-run] <= 410

NAME T20-malloc-sizes-by-command
PROG uprobe:{libc}:malloc { @size[comm] = hist(arg0); }
WORKLOAD {workload} malloc 300 48
CHECK
  row(@size[wl-run] [32, 64)) == 300
  @size[wl-run] == 300

NAME T21-block-latency
PROG tracepoint:block:block_rq_issue { @start[args->dev, args->sector] = nsecs; } tracepoint:block:block_rq_complete /@start[args->dev, args->sector]/ { @usecs = hist((nsecs - @start[args->dev, args->sector]) / 1000); delete(@start[args->dev, args->sector]); }
WORKLOAD {workload} direct 50
NEEDS block
CHECK @usecs >= 50

NAME T22-slow-block
PROG tracepoint:block:block_rq_issue { @start[args->dev, args->sector] = nsecs; } tracepoint:block:block_rq_complete /@start[args->dev, args->sector]/ { $dur = (nsecs - @start[args->dev, args->sector]) / 1000000; if ($dur >= 0) { printf("slow I/O: %dms dev=%d sector=%d bytes=%d\n", $dur, args->dev, args->sector, args->nr_sector * 512); } delete(@start[args->dev, args->sector]); }
WORKLOAD {workload} direct 50
NEEDS block
CHECK lines(^slow I/O: [0-9]+ms dev=[0-9]+ sector=[0-9]+ bytes=4096$) >= 50

NAME T24-retransmissions
PROG tracepoint:tcp:tcp_retransmit_skb { printf("%-6d %-16s %s:%d -> %s:%d state=%d\n", pid, comm, ntop(args->saddr), args->sport, ntop(args->daddr), args->dport, args->state); }
WORKLOAD {workload} retransmit 3
EXPECT_REGEX ^[0-9]+ +[^ ].* 127\.0\.0\.1:[0-9]+ -> 127\.0\.0\.1:[0-9]+ state=2$
CHECK lines(127\.0\.0\.1:[0-9]+ -> 127\.0\.0\.1:[0-9]+ state=2$) >= 3

NAME T25-transmissions-by-device
PROG tracepoint:net:net_dev_xmit { @bytes[str(args->name)] = hist(args->len); }
WORKLOAD {workload} udp 200 100
CHECK
  @bytes[lo] >= 200
  row(@bytes[lo] [128, 256)) >= 200

NAME T25-transmissions-field-without-str
PROG tracepoint:net:net_dev_xmit { @bytes[args->name] = hist(args->len); }
WORKLOAD {workload} udp 200 100
CHECK row(@bytes[lo] [128, 256)) >= 200

NAME T26-slow-locks
PROG uprobe:{libc}:pthread_mutex_lock { @start[tid] = nsecs; } uretprobe:{libc}:pthread_mutex_lock /@start[tid]/ { $dur = (nsecs - @start[tid]) / 1000; if ($dur > 1000) { printf("slow lock: pid=%d comm=%s %d us\n", pid, comm, $dur); print(ustack); } @lock_us = hist($dur); delete(@start[tid]); }
WORKLOAD {workload} mutex 2 30000
EXPECT_REGEX
  ^slow lock: pid=[0-9]+ comm=wl-run [0-9]+ us$
  do_mutex\+[0-9]+
CHECK lines(^slow lock: pid=[0-9]+ comm=wl-run [0-9]+ us$) == 2

NAME T27-direct-reclaim-attaches
PROG tracepoint:vmscan:mm_vmscan_direct_reclaim_begin { @direct_reclaim[comm] = count(); @reclaim_start[tid] = nsecs; } tracepoint:vmscan:mm_vmscan_direct_reclaim_end /@reclaim_start[tid]/ { @reclaim_us = hist((nsecs - @reclaim_start[tid]) / 1000); delete(@reclaim_start[tid]); }
WORKLOAD {workload} fault 10
STDERR_REGEX ^Attached 2 probes$

NAME T28-syscalls-of-a-command
PROG tracepoint:raw_syscalls:sys_enter /pid == cpid/ { @syscalls = count(); @by_id[args->id] = count(); } interval:s:1 { printf("syscalls/sec: "); print(@syscalls); clear(@syscalls); }
ARGS -c "{workload} getppid 700"
CHECK
  @by_id[110] == 700
  @by_id[157] == 3

NAME T28-rate-is-printed-and-cleared
PROG tracepoint:raw_syscalls:sys_enter /pid == cpid/ { @syscalls = count(); } interval:s:1 { printf("syscalls/sec: "); print(@syscalls); clear(@syscalls); }
ARGS -c "{workload} sleep 25 100000"
EXPECT_REGEX
  ^syscalls/sec: @syscalls: [0-9]+$
  ^syscalls/sec: @syscalls: (9|10|11)$

NAME T29-leak-hunt
PROG uprobe:{libc}:malloc /comm == "wl-run"/ { @sz[tid] = arg0; } uretprobe:{libc}:malloc /@sz[tid]/ { @outstanding[retval] = @sz[tid]; @alloc_stacks[ustack(8)] = sum(@sz[tid]); delete(@sz[tid]); } uprobe:{libc}:free { delete(@outstanding[arg0]); } interval:s:10 { print(@alloc_stacks, 5); clear(@alloc_stacks); }
WORKLOAD
  {workload} malloc 20 64
  {workload} leak 40 100
CHECK
  keys(@outstanding) == 40
  sum(@outstanding) == 4000
  sum(@alloc_stacks) == 5280

NAME T30-writeback
PROG tracepoint:writeback:writeback_pages_written { @pages = hist(args->pages); }
WORKLOAD {workload} dirty 200
STDERR_REGEX ^Attached 1 probe$

NAME T31-name-lookups
PROG uprobe:{libc}:getaddrinfo { @host[tid] = arg0; @t[tid] = nsecs; } uretprobe:{libc}:getaddrinfo /@host[tid]/ { printf("%s %d ret=%d\n", str(@host[tid]), (nsecs - @t[tid]) > 0, retval); delete(@host[tid]); delete(@t[tid]); }
WORKLOAD {workload} resolve 4
CHECK lines(^127\.0\.0\.1 1 ret=0$) == 4

NAME T32-drops
PROG tracepoint:skb:kfree_skb { @drops[args->protocol, args->location] = count(); } interval:s:10 { print(@drops); clear(@drops); }
WORKLOAD {workload} drop 30
EXPECT_REGEX ^@drops\[2048, (0x)?[0-9a-f]+\]: [0-9]+$
CHECK sum(@drops) >= 30

NAME T33-every-builtin-in-a-tracepoint
PROG tracepoint:syscalls:sys_enter_getppid /comm == "wl-run"/ { printf("%d %d %d %d %d %d %d %s %s %s %d\n", pid == tid, uid, gid, nsecs > 0, elapsed > 0, cpu >= 0, cgroup > 0, comm, probe, username, rand >= 0); printf("task %d\n", curtask > 0); }
WORKLOAD {workload} getppid 1
EXPECT
  1 0 0 1 1 1 1 wl-run tracepoint:syscalls:sys_enter_getppid root 1
  task 1

NAME T33-every-builtin-in-a-user-probe
PROG uprobe:{workload}:workload_six { printf("%d %d %s %s\n", arg0, arg5, func, probe); printf("%s", kstack(1)); printf("%s", ustack(1)); printf("ctx %d\n", ctx != 0); } uretprobe:{workload}:workload_six { printf("ret %d\n", retval); }
BEFORE {workload} wait 1 1
WORKLOAD {workload} poke {before}
EXPECT_REGEX
  ^1 6 workload_six uprobe:.*workload:workload_six$
  workload_six\+0
  ^ctx 1$
  ^ret 21$

NAME T35-struct-walk-from-the-current-task
PROG tracepoint:syscalls:sys_enter_getppid /comm == "wl-run"/ { $t = (struct task_struct *)curtask; printf("%s %d %s\n", str($t->mm->exe_file->f_path.dentry->d_name.name), $t->pid == tid, $t->comm); }
WORKLOAD {workload} getppid 1
EXPECT workload 1 wl-run
DIFF text

NAME T35-typed-current-task
PROG tracepoint:syscalls:sys_enter_getppid /comm == "wl-run"/ { printf("%d %s\n", curtask->pid == tid, str(curtask->mm->exe_file->f_path.dentry->d_name.name)); }
WORKLOAD {workload} getppid 1
EXPECT 1 workload
DIFF text

NAME T36-script-file-with-parameters
FILE count.bt
  #!/usr/bin/env bpftrace
  // counts calls of one command
  tracepoint:syscalls:sys_enter_getppid
  /comm == str($1)/
  {
      @n = count();
      @limit = $2;
  }
CALL count.bt wl-run 42
WORKLOAD {workload} getppid 64
CHECK
  @n == 64
  @limit == 42
DIFF maps

NAME T36-interpreter-line
FILE hello.bt
  #!/usr/bin/env bpftrace
  BEGIN { printf("hello %s, %d parameters\n", str($1), $#); exit(); }
RUN
  chmod +x {dir}/hello.bt
  {dir}/hello.bt world
EXPECT hello world, 1 parameters
