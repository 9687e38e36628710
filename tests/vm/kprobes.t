# What the usual development machine may lack: probes on kernel functions. Counts are exact; the workload's thread
# name keeps others out.

NAME T01-kprobe-arguments
PROG kprobe:vfs_read { printf("pid=%d comm=%s size=%d\n", pid, comm, arg2); }
WORKLOAD /bin/workload read 50 4321
NEEDS kprobe
EXPECT_REGEX ^pid=[0-9]+ comm=wl-run size=4321$
CHECK lines(comm=wl-run size=4321) == 50

NAME T02-kretprobe-hist
PROG kretprobe:vfs_read /retval > 0/ { @bytes = hist(retval); }
WORKLOAD /bin/workload read 64 3000
NEEDS kprobe
CHECK
  row(@bytes [2K, 4K)) >= 64

NAME T02-kretprobe-hist-exact
PROG kretprobe:vfs_read /retval > 0 && comm == "wl-run"/ { @bytes = hist(retval); }
WORKLOAD /bin/workload steps 10
NEEDS kprobe
CHECK
  @bytes == 110
  row(@bytes [1]) == 10
  row(@bytes [1K, 2K)) == 10

NAME T03-kprobe-by-command
PROG kprobe:tcp_sendmsg { @[comm] = count(); }
WORKLOAD /bin/workload connect 20 100
NEEDS kprobe
CHECK
  @[wl-run] == 20
  keys(@) == 1

NAME T04-kprobe-and-kretprobe-latency
PROG kprobe:vfs_read { @start[tid] = nsecs; } kretprobe:vfs_read /@start[tid]/ { @duration_us = hist((nsecs - @start[tid]) / 1000); @n[comm] = count(); delete(@start[tid]); }
WORKLOAD /bin/workload read 100 4096
NEEDS kprobe
CHECK
  @n[wl-run] == 100
  @duration_us >= 100

NAME T13-kprobe-wildcard
PROG kprobe:vfs_* /comm == "wl-run"/ { @[func] = count(); }
WORKLOAD
  /bin/workload read 30 64
  /bin/workload write 20 64
  /bin/workload open 10
NEEDS kprobe
CHECK
  @[vfs_read] == 30
  @[vfs_write] == 20
  @[vfs_open] == 10
TIMEOUT 60

NAME T13-kprobe-wildcard-as-written
PROG kprobe:vfs_* { @[func] = count(); }
WORKLOAD /bin/workload read 30 64
NEEDS kprobe
CHECK @[vfs_read] >= 30
TIMEOUT 60

NAME T23-connection-latency
PROG kprobe:tcp_v4_connect { @start[tid] = nsecs; } kretprobe:tcp_v4_connect /@start[tid]/ { $dur = (nsecs - @start[tid]) / 1000; printf("%-6d %-16s %d us (ret=%d)\n", pid, comm, $dur, retval); delete(@start[tid]); }
WORKLOAD /bin/workload connect 5 0
NEEDS kprobe
EXPECT_REGEX ^[0-9]+ +wl-run +[0-9]+ us \(ret=0\)$
CHECK lines(wl-run .* us \(ret=0\)$) == 5

NAME kprobe-short-name
PROG k:vfs_write /comm == "wl-run"/ { @n = count(); }
WORKLOAD /bin/workload write 9 10
NEEDS kprobe
CHECK @n == 9

NAME kprobe-offset
PROG kprobe:vfs_read+0 /comm == "wl-run"/ { @n = count(); }
WORKLOAD /bin/workload read 9 10
NEEDS kprobe
CHECK @n == 9

NAME kprobe-several-functions-in-one-probe
PROG kprobe:vfs_read, kprobe:vfs_write /comm == "wl-run"/ { @[probe] = count(); }
WORKLOAD
  /bin/workload read 12 10
  /bin/workload write 13 10
NEEDS kprobe
CHECK
  @[kprobe:vfs_read] == 12
  @[kprobe:vfs_write] == 13

NAME kprobe-stack
PROG kprobe:vfs_read /comm == "wl-run"/ { @[kstack(3)] = count(); }
WORKLOAD /bin/workload read 7 10
NEEDS kprobe
EXPECT_REGEX
  ^    +vfs_read\+[0-9]+$
  ^    +[a-z_]*read[a-z0-9_]*\+[0-9]+$
CHECK
  keys(@) == 1
  sum(@) == 7

NAME kprobe-struct-argument
PROG kprobe:vfs_read /comm == "wl-run"/ { $f = (struct file *)arg0; @[str($f->f_path.dentry->d_name.name)] = count(); }
WORKLOAD /bin/workload read 8 10
NEEDS kprobe btf
CHECK @[zero] == 8

NAME T35-task-walk-in-a-kprobe
PROG kprobe:vfs_read /comm == "wl-run"/ { $t = (struct task_struct *)curtask; printf("%s %d\n", str($t->mm->exe_file->f_path.dentry->d_name.name), $t->pid == tid); }
WORKLOAD /bin/workload read 2 10
NEEDS kprobe btf
CHECK lines(^workload 1$) == 2

NAME kprobe-function-that-is-not-there
PROG kprobe:no_such_function_at_all { @n = count(); }
STDERR_REGEX ERROR: .*no_such_function_at_all
NEEDS kprobe
EXIT 1

NAME kprobe-function-with-a-hint
PROG kprobe:vfs_raed { @n = count(); }
STDERR_REGEX vfs_read
NEEDS kprobe
EXIT 1

NAME kprobe-missing-with-warning
PROG config = { missing_probes = "warn" } kprobe:vfs_read, kprobe:no_such_function_at_all /comm == "wl-run"/ { @n = count(); }
WORKLOAD /bin/workload read 4 10
STDERR_REGEX no_such_function_at_all
NEEDS kprobe
CHECK @n == 4

NAME kretprobe-many-at-once
PROG kretprobe:vfs_re* /comm == "wl-run"/ { @[func] = count(); }
WORKLOAD /bin/workload read 25 10
NEEDS kprobe
CHECK @[vfs_read] == 25

NAME kprobe-list
CALL -l kprobe:vfs_rea*
EXPECT kprobe:vfs_read
NEEDS kprobe

NAME kprobe-and-tracepoint-together
PROG kprobe:vfs_read /comm == "wl-run"/ { @k = count(); } tracepoint:syscalls:sys_enter_read /comm == "wl-run"/ { @t = count(); }
WORKLOAD /bin/workload read 33 10
NEEDS kprobe
CHECK
  @k == 33
  @t == 33
