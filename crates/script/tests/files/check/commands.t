# The commands of the acceptance list that need no user binary.
# facts 6.18-x86_64

kprobe:vfs_read { printf("pid=%d comm=%s size=%d\n", pid, comm, arg2); }
----
ok

====
kretprobe:vfs_read /retval > 0/ { @bytes = hist(retval); }
----
@bytes: hist_t

====
kprobe:tcp_sendmsg { @[comm] = count(); }
----
@[string[16]]: count_t

====
kprobe:vfs_read { @start[tid] = nsecs; } kretprobe:vfs_read /@start[tid]/ { @duration_us = hist((nsecs - @start[tid]) / 1000); delete(@start[tid]); }
----
@start[uint64]: uint64
@duration_us: hist_t

====
tracepoint:syscalls:sys_enter_execve { printf("%-6d %-16s %s\n", pid, comm, str(args->filename)); }
----
ok

====
tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }
----
@[string[16]]: count_t

====
tracepoint:syscalls:sys_exit_read /args->ret > 0/ { @bytes = hist(args->ret); }
----
@bytes: hist_t

====
kprobe:vfs_* { @[func] = count(); }
----
@[func]: count_t

====
tracepoint:syscalls:sys_enter_openat { printf("%-6d %-16s %s\n", pid, comm, str(args->filename)); }
----
ok

====
profile:hz:49 { @[kstack(5)] = count(); }
----
@[kstack(5)]: count_t

====
tracepoint:sched:sched_waking { @qtime[args->pid] = nsecs; } tracepoint:sched:sched_switch /args->next_pid/ { $ns = @qtime[args->next_pid]; if ($ns) { @usecs = hist((nsecs - $ns) / 1000); } delete(@qtime[args->next_pid]); }
----
@qtime[int64]: uint64
@usecs: hist_t
$ns: uint64

====
tracepoint:sched:sched_switch { @[args->prev_comm] = count(); }
----
@[string[16]]: count_t

====
tracepoint:kmem:kmalloc { @bytes = hist(args->bytes_alloc); }
----
@bytes: hist_t

====
software:page-faults:1 { @[comm] = count(); }
----
@[string[16]]: count_t

====
tracepoint:block:block_rq_issue { @start[args->dev, args->sector] = nsecs; } tracepoint:block:block_rq_complete /@start[args->dev, args->sector]/ { @usecs = hist((nsecs - @start[args->dev, args->sector]) / 1000); delete(@start[args->dev, args->sector]); }
----
@start[(uint64,uint64)]: uint64
@usecs: hist_t

====
kprobe:tcp_v4_connect { @start[tid] = nsecs; } kretprobe:tcp_v4_connect /@start[tid]/ { $dur = (nsecs - @start[tid]) / 1000; printf("%-6d %-16s %d us (ret=%d)\n", pid, comm, $dur, retval); delete(@start[tid]); }
----
@start[uint64]: uint64
$dur: int64

====
tracepoint:tcp:tcp_retransmit_skb { printf("%-6d %-16s %s:%d -> %s:%d state=%d\n", pid, comm, ntop(args->saddr), args->sport, ntop(args->daddr), args->dport, args->state); }
----
ok

====
tracepoint:net:net_dev_xmit { @bytes[args->name] = hist(args->len); }
----
@bytes[string[1024]]: hist_t

====
profile:hz:99 { @[comm] = count(); }
----
@[string[16]]: count_t

====
profile:hz:99 { @[kstack] = count(); }
----
@[kstack(127)]: count_t

====
tracepoint:block:block_rq_issue { @start[args->dev, args->sector] = nsecs; } tracepoint:block:block_rq_complete /@start[args->dev, args->sector]/ { $dur = (nsecs - @start[args->dev, args->sector]) / 1000000; if ($dur > 10) { printf("slow I/O: %dms dev=%d sector=%d bytes=%d\n", $dur, args->dev, args->sector, args->nr_sector * 512); } delete(@start[args->dev, args->sector]); }
----
@start[(uint64,uint64)]: uint64
$dur: int64

====
tracepoint:vmscan:mm_vmscan_direct_reclaim_begin { @direct_reclaim[comm] = count(); @reclaim_start[tid] = nsecs; } tracepoint:vmscan:mm_vmscan_direct_reclaim_end /@reclaim_start[tid]/ { @reclaim_us = hist((nsecs - @reclaim_start[tid]) / 1000); delete(@reclaim_start[tid]); }
----
@direct_reclaim[string[16]]: count_t
@reclaim_start[uint64]: uint64
@reclaim_us: hist_t

====
tracepoint:raw_syscalls:sys_enter /pid == cpid/ { @syscalls = count(); @by_id[args->id] = count(); } interval:s:1 { printf("syscalls/sec: "); print(@syscalls); clear(@syscalls); }
----
warning: no child command (`-c`): cpid is zero at 1:43 `cpid`
@syscalls: count_t
@by_id[int64]: count_t

====
tracepoint:writeback:writeback_pages_written { @pages = hist(args->pages); }
----
@pages: hist_t

====
tracepoint:skb:kfree_skb { @drops[args->protocol, args->location] = count(); } interval:s:10 { print(@drops); clear(@drops); }
----
@drops[(uint64,void *)]: count_t

====
kprobe:vfs_read { printf("%d %d %d %d %d %d %d %s %s %d %s %s %d %d %s\n", pid, tid, uid, gid, nsecs, elapsed, cpu, comm, kstack, arg0, func, probe, cgroup, rand, username); print(ustack); print(curtask); print(ctx); }
----
ok

====
fexit:vfs_read /retval != 0/ { printf("failed: %d\n", retval); }
----
ok

====
fentry:vfs_read { printf("%d\n", args.count); }
----
ok

====
profile:hz:99 { printf("%s\n", str(((struct task_struct *)curtask)->mm->exe_file->f_path.dentry->d_name.name)); print(curtask->pid); }
----
ok
