# Fields of kernel structs and of arguments.
# facts 6.18-x86_64

tracepoint:sched:sched_switch { $a = args.prev_comm; $b = args.prev_pid; $c = args.prev_sate; }
----
error: args of tracepoint:sched:sched_switch has no field named "prev_sate" at 1:84 `prev_sate`
  help: did you mean `prev_state`?

====
tracepoint:sched:sched_switch { print(args.comon_pid); }
----
error: args of tracepoint:sched:sched_switch has no field named "comon_pid" at 1:44 `comon_pid`
  help: did you mean `common_pid`?

====
tracepoint:net:net_dev_xmit { $n = args.name; $a = args.skbaddr; }
----
$n: string[1024]
$a: void *

====
tracepoint:syscalls:sys_enter_openat { $f = args.filename; $s = str($f, 63); @files[$s] = count(); }
----
@files[string[64]]: count_t
$f: int8 *
$s: string[64]

====
tracepoint:tcp:tcp_retransmit_skb { $a = ntop(args.saddr); $b = args.saddr; $c = args.saddr_v6[3]; }
----
$a: inet
$b: uint8[4]
$c: uint8

====
kprobe:vfs_read { $f = (struct file *)arg0; $n = $f.f_path.dentry.d_name.name; $s = str($n); $i = $f.f_inode.i_ino; }
----
$f: struct file *
$n: uint8 *
$s: string[1024]
$i: uint64

====
kprobe:vfs_read { $f = (struct file *)arg0; print($f.f_pth); }
----
error: struct file has no field named "f_pth" at 1:54 `f_pth`
  help: did you mean `f_path`?

====
kprobe:vfs_read { $f = (struct file *)arg0; print($f.f_path.dentry.x.y); }
----
error: struct dentry has no field named "x" at 1:68 `x`
  help: its fields are d_flags, d_seq, d_hash, d_parent, __d_name, d_name, d_inode, d_shortname, d_op, d_sb, d_time, d_fsdata, d_lockref, d_lru, d_wait, d_sib, d_children, d_u

====
kprobe:vfs_read { $t = *curtask.real_parent; print($t.pid); }
----
$t: struct task_struct

====
kprobe:vfs_read { $p = curtask + 1; $q = &curtask.comm; print(curtask == 0); $z = curtask * 2; }
----
error: the * operator can not be used on expressions of types struct task_struct *, int64 at 1:83 `curtask * 2`

====
kprobe:vfs_read { $p = (uint64 *)arg1; $x = *$p; $y = $p[2]; $z = *arg1; *((void *)arg1); }
----
error: can not dereference a 'void *' at 1:74 `*((void *)arg1)`
  help: cast it to a pointer to what is there: `*(uint64 *)…`

====
fentry:vfs_read { $f = args.file; $i = args.file.f_inode; $c = args.count; $x = args.nope; }
----
error: args of fentry:vmlinux:vfs_read has no field named "nope" at 1:86 `nope`
  help: its fields are file, buf, count, pos

====
fexit:vfs_read { $r = retval; $c = args.count; }
----
$r: int64
$c: uint64

====
kretprobe:vfs_read { $r = retval; if (retval < 0) { } if ((int64)retval < 0) { } }
----
warning: this comparison is always false: 'uint64' is never negative at 1:39 `retval`
  help: if the number is a signed one, cast it: `(int64)…`
$r: uint64

====
kprobe:vfs_read { print(args); }
----
error: the args builtin can only be used with tracepoint, rawtracepoint and fentry/fexit probes (kprobe used here) at 1:25 `args`

====
tracepoint:sched:sched_switch { print(args); }
----
error: args is not a value: name one of its fields at 1:39 `args`

====
tracepoint:block:block_rq_issue { @[args.dev, args.sector] = count(); @b = args.rwbs; }
----
@[(uint64,uint64)]: count_t
@b: string[10]

====
begin { $a = (x=1, y="s"); $a = (x=2, y="t"); print($a.y); print($a.z); $b = (x=1, x=2); $a = (y="s", x=1); print((x=1) == (x=1)); }
----
error: record (x, y) has no field named "z" at 1:69 `z`
  help: did you mean `x`?
error: the record has two fields named x at 1:84 `x`
error: type mismatch for $a: trying to assign value of type 'record (y, x)' when variable already has a type 'record (x, y)' at 1:90 `$a = (y="s", x=1)`
  label: 'record (x, y)' here at 1:9 `$a = (x=1, y="s")`

====
struct task_struct { int mine; }
begin { print(curtask.mine); print(curtask.pid); }
----
error: struct task_struct has no field named "pid" at 2:44 `pid`
  help: its fields are mine
