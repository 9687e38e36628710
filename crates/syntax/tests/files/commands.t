# Commands that people type: one-liners and scripts of every day.

kprobe:vfs_read { printf("pid=%d comm=%s size=%d\n", pid, comm, arg2); }
----
kprobe:vfs_read {
    printf("pid=%d comm=%s size=%d\n", pid, comm, arg2);
}

====
kretprobe:vfs_read /retval > 0/ { @bytes = hist(retval); }
----
kretprobe:vfs_read /retval > 0/ {
    @bytes = hist(retval);
}

====
kprobe:tcp_sendmsg { @[comm] = count(); }
----
kprobe:tcp_sendmsg {
    @[comm] = count();
}

====
kprobe:vfs_read { @start[tid] = nsecs; } kretprobe:vfs_read /@start[tid]/ { @duration_us = hist((nsecs - @start[tid]) / 1000); delete(@start[tid]); }
----
kprobe:vfs_read {
    @start[tid] = nsecs;
}
kretprobe:vfs_read /@start[tid]/ {
    @duration_us = hist((nsecs - @start[tid]) / 1000);
    delete(@start[tid]);
}

====
uprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:malloc { @start[tid] = arg0; } uretprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:malloc /@start[tid]/ { printf("pid=%d comm=%s malloc(%d) = %p\n", pid, comm, @start[tid], retval); delete(@start[tid]); }
----
uprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:malloc {
    @start[tid] = arg0;
}
uretprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:malloc /@start[tid]/ {
    printf("pid=%d comm=%s malloc(%d) = %p\n", pid, comm, @start[tid], retval);
    delete(@start[tid]);
}

====
uprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:malloc /comm == "nginx"/ { @size = hist(arg0); }
----
uprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:malloc /comm == "nginx"/ {
    @size = hist(arg0);
}

====
uprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:pthread_mutex_lock { @start[tid] = nsecs; } uretprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:pthread_mutex_lock /@start[tid]/ { @lock_time_us = hist((nsecs - @start[tid]) / 1000); delete(@start[tid]); }
----
uprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:pthread_mutex_lock {
    @start[tid] = nsecs;
}
uretprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:pthread_mutex_lock /@start[tid]/ {
    @lock_time_us = hist((nsecs - @start[tid]) / 1000);
    delete(@start[tid]);
}

====
usdt:/usr/bin/python3:function__entry { printf("%s:%s:%d\n", str(arg0), str(arg1), arg2); }
----
usdt:/usr/bin/python3:function__entry {
    printf("%s:%s:%d\n", str(arg0), str(arg1), arg2);
}

====
tracepoint:syscalls:sys_enter_execve { printf("%-6d %-16s %s\n", pid, comm, str(args->filename)); }
----
tracepoint:syscalls:sys_enter_execve {
    printf("%-6d %-16s %s\n", pid, comm, str(args->filename));
}

====
tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }
----
tracepoint:raw_syscalls:sys_enter {
    @[comm] = count();
}

====
tracepoint:syscalls:sys_exit_read /args->ret > 0/ { @bytes = hist(args->ret); }
----
tracepoint:syscalls:sys_exit_read /args->ret > 0/ {
    @bytes = hist(args->ret);
}

====
kprobe:vfs_* { @[func] = count(); }
----
kprobe:vfs_* {
    @[func] = count();
}

====
tracepoint:syscalls:sys_enter_openat { printf("%-6d %-16s %s\n", pid, comm, str(args->filename)); }
----
tracepoint:syscalls:sys_enter_openat {
    printf("%-6d %-16s %s\n", pid, comm, str(args->filename));
}

====
profile:hz:49 { @[kstack(5)] = count(); }
----
profile:hz:49 {
    @[kstack(5)] = count();
}

====
profile:hz:99 { @[comm] = count(); }
----
profile:hz:99 {
    @[comm] = count();
}

====
profile:hz:99 { @[kstack] = count(); }
----
profile:hz:99 {
    @[kstack] = count();
}

====
tracepoint:sched:sched_waking { @qtime[args->pid] = nsecs; } tracepoint:sched:sched_switch /args->next_pid/ { $ns = @qtime[args->next_pid]; if ($ns) { @usecs = hist((nsecs - $ns) / 1000); } delete(@qtime[args->next_pid]); }
----
tracepoint:sched:sched_waking {
    @qtime[args->pid] = nsecs;
}
tracepoint:sched:sched_switch /args->next_pid/ {
    $ns = @qtime[args->next_pid];
    if ($ns) {
        @usecs = hist((nsecs - $ns) / 1000);
    }
    delete(@qtime[args->next_pid]);
}

====
tracepoint:sched:sched_switch { @[args->prev_comm] = count(); }
----
tracepoint:sched:sched_switch {
    @[args->prev_comm] = count();
}

====
tracepoint:kmem:kmalloc { @bytes = hist(args->bytes_alloc); }
----
tracepoint:kmem:kmalloc {
    @bytes = hist(args->bytes_alloc);
}

====
software:page-faults:1 { @[comm] = count(); }
----
software:page-faults:1 {
    @[comm] = count();
}

====
uprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:malloc { @size[comm] = hist(arg0); }
----
uprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:malloc {
    @size[comm] = hist(arg0);
}

====
tracepoint:block:block_rq_issue { @start[args->dev, args->sector] = nsecs; } tracepoint:block:block_rq_complete /@start[args->dev, args->sector]/ { @usecs = hist((nsecs - @start[args->dev, args->sector]) / 1000); delete(@start[args->dev, args->sector]); }
----
tracepoint:block:block_rq_issue {
    @start[args->dev, args->sector] = nsecs;
}
tracepoint:block:block_rq_complete /@start[args->dev, args->sector]/ {
    @usecs = hist((nsecs - @start[args->dev, args->sector]) / 1000);
    delete(@start[args->dev, args->sector]);
}

====
kprobe:tcp_v4_connect { @start[tid] = nsecs; } kretprobe:tcp_v4_connect /@start[tid]/ { $dur = (nsecs - @start[tid]) / 1000; printf("%-6d %-16s %d us (ret=%d)\n", pid, comm, $dur, retval); delete(@start[tid]); }
----
kprobe:tcp_v4_connect {
    @start[tid] = nsecs;
}
kretprobe:tcp_v4_connect /@start[tid]/ {
    $dur = (nsecs - @start[tid]) / 1000;
    printf("%-6d %-16s %d us (ret=%d)\n", pid, comm, $dur, retval);
    delete(@start[tid]);
}

====
tracepoint:tcp:tcp_retransmit_skb { printf("%-6d %-16s %s:%d -> %s:%d state=%d\n", pid, comm, ntop(args->saddr), args->sport, ntop(args->daddr), args->dport, args->state); }
----
tracepoint:tcp:tcp_retransmit_skb {
    printf("%-6d %-16s %s:%d -> %s:%d state=%d\n", pid, comm, ntop(args->saddr), args->sport, ntop(args->daddr), args->dport, args->state);
}

====
tracepoint:net:net_dev_xmit { @bytes[args->name] = hist(args->len); }
----
tracepoint:net:net_dev_xmit {
    @bytes[args->name] = hist(args->len);
}

====
tracepoint:raw_syscalls:sys_enter /pid == cpid/ { @syscalls = count(); @by_id[args->id] = count(); } interval:s:1 { printf("syscalls/sec: "); print(@syscalls); clear(@syscalls); }
----
tracepoint:raw_syscalls:sys_enter /pid == cpid/ {
    @syscalls = count();
    @by_id[args->id] = count();
}
interval:s:1 {
    printf("syscalls/sec: ");
    print(@syscalls);
    clear(@syscalls);
}

====
tracepoint:writeback:writeback_pages_written { @pages = hist(args->pages); }
----
tracepoint:writeback:writeback_pages_written {
    @pages = hist(args->pages);
}

====
tracepoint:skb:kfree_skb { @drops[args->protocol, args->location] = count(); } interval:s:10 { print(@drops); clear(@drops); }
----
tracepoint:skb:kfree_skb {
    @drops[args->protocol, args->location] = count();
}
interval:s:10 {
    print(@drops);
    clear(@drops);
}

====
fentry:tcp_v4_connect { printf("%d\n", args.addr_len); }
----
fentry:tcp_v4_connect {
    printf("%d\n", args.addr_len);
}

====
fexit:tcp_v4_connect /retval != 0/ { printf("failed: %d\n", retval); }
----
fexit:tcp_v4_connect /retval != 0/ {
    printf("failed: %d\n", retval);
}

====
tracepoint:block:block_rq_issue { @start[args->dev, args->sector] = nsecs; } tracepoint:block:block_rq_complete /@start[args->dev, args->sector]/ { $dur = (nsecs - @start[args->dev, args->sector]) / 1000000; if ($dur > 10) { printf("slow I/O: %dms dev=%d sector=%d bytes=%d\n", $dur, args->dev, args->sector, args->nr_sector * 512); } delete(@start[args->dev, args->sector]); }
----
tracepoint:block:block_rq_issue {
    @start[args->dev, args->sector] = nsecs;
}
tracepoint:block:block_rq_complete /@start[args->dev, args->sector]/ {
    $dur = (nsecs - @start[args->dev, args->sector]) / 1000000;
    if ($dur > 10) {
        printf("slow I/O: %dms dev=%d sector=%d bytes=%d\n", $dur, args->dev, args->sector, args->nr_sector * 512);
    }
    delete(@start[args->dev, args->sector]);
}

====
uprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:pthread_mutex_lock { @start[tid] = nsecs; } uretprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:pthread_mutex_lock /@start[tid]/ { $dur = (nsecs - @start[tid]) / 1000; if ($dur > 1000) { printf("slow lock: pid=%d comm=%s %d us\n", pid, comm, $dur); print(ustack); } @lock_us = hist($dur); delete(@start[tid]); }
----
uprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:pthread_mutex_lock {
    @start[tid] = nsecs;
}
uretprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:pthread_mutex_lock /@start[tid]/ {
    $dur = (nsecs - @start[tid]) / 1000;
    if ($dur > 1000) {
        printf("slow lock: pid=%d comm=%s %d us\n", pid, comm, $dur);
        print(ustack);
    }
    @lock_us = hist($dur);
    delete(@start[tid]);
}

====
tracepoint:vmscan:mm_vmscan_direct_reclaim_begin { @direct_reclaim[comm] = count(); @reclaim_start[tid] = nsecs; } tracepoint:vmscan:mm_vmscan_direct_reclaim_end /@reclaim_start[tid]/ { @reclaim_us = hist((nsecs - @reclaim_start[tid]) / 1000); delete(@reclaim_start[tid]); }
----
tracepoint:vmscan:mm_vmscan_direct_reclaim_begin {
    @direct_reclaim[comm] = count();
    @reclaim_start[tid] = nsecs;
}
tracepoint:vmscan:mm_vmscan_direct_reclaim_end /@reclaim_start[tid]/ {
    @reclaim_us = hist((nsecs - @reclaim_start[tid]) / 1000);
    delete(@reclaim_start[tid]);
}

====
uprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:malloc { @size[tid] = arg0; } uretprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:malloc /@size[tid]/ { @outstanding[retval] = @size[tid]; @alloc_stacks[ustack(8)] = sum(@size[tid]); delete(@size[tid]); } uprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:free { delete(@outstanding[arg0]); } interval:s:10 { print(@alloc_stacks, 5); clear(@alloc_stacks); }
----
uprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:malloc {
    @size[tid] = arg0;
}
uretprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:malloc /@size[tid]/ {
    @outstanding[retval] = @size[tid];
    @alloc_stacks[ustack(8)] = sum(@size[tid]);
    delete(@size[tid]);
}
uprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:free {
    delete(@outstanding[arg0]);
}
interval:s:10 {
    print(@alloc_stacks, 5);
    clear(@alloc_stacks);
}

====
uprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:getaddrinfo { @host[tid] = arg0; @start[tid] = nsecs; } uretprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:getaddrinfo /@start[tid]/ { printf("%s %d us\n", str(@host[tid]), (nsecs - @start[tid]) / 1000); delete(@host[tid]); delete(@start[tid]); }
----
uprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:getaddrinfo {
    @host[tid] = arg0;
    @start[tid] = nsecs;
}
uretprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:getaddrinfo /@start[tid]/ {
    printf("%s %d us\n", str(@host[tid]), (nsecs - @start[tid]) / 1000);
    delete(@host[tid]);
    delete(@start[tid]);
}

====
kprobe:vfs_read { print((pid, tid, uid, gid, nsecs, elapsed, cpu, comm, kstack, ustack, arg0, func, probe, curtask, cgroup, rand, username, ctx)); } kretprobe:vfs_read { print(retval); } tracepoint:sched:sched_switch { print(args); }
----
kprobe:vfs_read {
    print((pid, tid, uid, gid, nsecs, elapsed, cpu, comm, kstack, ustack, arg0, func, probe, curtask, cgroup, rand, username, ctx));
}
kretprobe:vfs_read {
    print(retval);
}
tracepoint:sched:sched_switch {
    print(args);
}

====
kprobe:vfs_read { printf("%s %d\n", str(((struct task_struct *)curtask)->mm->exe_file->f_path.dentry->d_name.name), curtask->pid); }
----
kprobe:vfs_read {
    printf("%s %d\n", str(((struct task_struct *)curtask)->mm->exe_file->f_path.dentry->d_name.name), curtask->pid);
}

====
#!/usr/bin/env bpftrace
BEGIN { printf("%s %d\n", str($1), $#); }
----
BEGIN {
    printf("%s %d\n", str($1), $#);
}

====
kretprobe:vfs_read /retval > 0 && @start[tid] / 1000 > 5/ { @ = count(); }
----
kretprobe:vfs_read /(retval > 0) && ((@start[tid] / 1000) > 5)/ {
    @ = count();
}
