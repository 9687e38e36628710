# Typed probes on kernel functions.

NAME T34-fentry-typed-argument
PROG fentry:tcp_v4_connect { printf("%d\n", args.addr_len); }
WORKLOAD /bin/workload connect 3 0
NEEDS fentry btf
CHECK lines(^16$) == 3

NAME T34-fexit-return-value
PROG fexit:tcp_v4_connect /retval != 0/ { printf("failed: %d\n", retval); } fexit:tcp_v4_connect /retval == 0/ { @ok = count(); }
WORKLOAD /bin/workload connect 3 0
NEEDS fentry btf
EXPECT_NONE failed
CHECK @ok == 3

NAME fentry-counts
PROG fentry:vfs_read /comm == "wl-run"/ { @n = count(); @sizes[args.count] = count(); }
WORKLOAD /bin/workload read 40 77
NEEDS fentry btf
CHECK
  @n == 40
  @sizes[77] == 40

NAME fexit-arguments-and-return-value
PROG fexit:vfs_read /comm == "wl-run"/ { @equal[retval == args.count] = count(); }
WORKLOAD /bin/workload read 40 77
NEEDS fentry btf
CHECK sum(@equal) == 40

NAME fentry-struct-argument
PROG fentry:vfs_write /comm == "wl-run"/ { @[str(args.file->f_path.dentry->d_name.name)] = count(); }
WORKLOAD /bin/workload write 6 10
NEEDS fentry btf
CHECK @[null] == 6

NAME fentry-old-name
PROG kfunc:vfs_read /comm == "wl-run"/ { @in = count(); } kretfunc:vfs_read /comm == "wl-run"/ { @out = count(); }
WORKLOAD /bin/workload read 5 10
NEEDS fentry btf
CHECK
  @in == 5
  @out == 5

NAME fentry-wildcard
PROG fentry:vfs_rea* /comm == "wl-run"/ { @[func] = count(); }
WORKLOAD /bin/workload read 15 10
NEEDS fentry btf
CHECK @[vfs_read] == 15
TIMEOUT 60

NAME fentry-latency
PROG fentry:vfs_read /comm == "wl-run"/ { @s[tid] = nsecs; } fexit:vfs_read /@s[tid]/ { @ns = hist(nsecs - @s[tid]); delete(@s, tid); }
WORKLOAD /bin/workload read 60 10
NEEDS fentry btf
CHECK @ns == 60

NAME fentry-unknown-argument
PROG fentry:vfs_read { @ = args.nosuch; }
STDERR_REGEX ERROR: .*nosuch
NEEDS fentry btf
EXIT 1

NAME fentry-function-that-is-not-there
PROG fentry:no_such_function_at_all { @ = count(); }
STDERR_REGEX ERROR: .*no_such_function_at_all
NEEDS fentry btf
EXIT 1
