# JSON, options, signals, exit codes, files.

NAME json-maps
PROG BEGIN { @x = 5; @y[1, "a"] = 2; @y[2, "b"] = 7; @s = "text"; }
ARGS -f json
EXPECT
  {"type": "attached_probes", "count": 1, "data": {"probes": 1}}
  {"type": "map", "data": {"@s": "text"}}
  {"type": "map", "data": {"@x": 5}}
  {"type": "map", "data": {"@y": {"1,a": 2, "2,b": 7}}}

NAME json-printf-and-time
PROG BEGIN { printf("a \"b\"\t%d\n", 1); print(5); print((1, "x")); }
ARGS -f json
EXPECT
  {"type": "printf", "data": "a \"b\"\t1\n"}
  {"type": "value", "data": 5}
  {"type": "value", "data": [1,"x"]}
DIFF text

NAME json-hist-and-stats
PROG BEGIN { @h = hist(1); @h = hist(5); @l = lhist(15, 0, 100, 10); @st = stats(4); @c = count(); }
ARGS -f json
EXPECT_REGEX
  ^\{"type": "map", "data": \{"@c": 1\}\}$
  ^\{"type": "hist", "data": \{"@h": \[\{"min": 1, "max": 1, "count": 1\},.*\{"min": 4, "max": 7, "count": 1\}\]\}\}$
  ^\{"type": "hist", "data": \{"@l": \[\{"min": 10, "max": 19, "count": 1\}\]\}\}$
  ^\{"type": "stats", "data": \{"@st": \{"count": 1, "average": 4, "total": 4\}\}\}$
DIFF text

NAME json-hostile-name-is-escaped
PROG tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[comm] = count(); }
ARGS -f json -c "{workload} hostile 2"
CHECK
  lines(\x1b) == 0
  lines(\\u001b\[31mred) == 1

NAME text-banner-is-on-stderr
PROG BEGIN { printf("result\n"); }
EXPECT_ALL result
STDERR_REGEX ^Attached 1 probe$

NAME quiet-has-no-banner
PROG BEGIN { printf("result\n"); }
ARGS -q
EXPECT_ALL result
STDERR_NONE Attached

NAME output-to-a-file
RUN
  strix trace -o out.txt -e 'BEGIN { printf("in the file\n"); @x = 1; }'
  echo "mode $(stat -c %a out.txt)"; cat out.txt
EXPECT
  mode 600
  in the file
  @x: 1

NAME exit-code-of-exit
PROG BEGIN { exit(42); }
EXIT 42

NAME exit-without-code
PROG BEGIN { @x = 1; exit(); }
CHECK @x == 1
DIFF text

NAME exit-ends-the-session-at-once
PROG interval:ms:50 { printf("once\n"); exit(); }
EXPECT_ALL once
CHECK wall_ms < 5000
DIFF text

NAME end-runs-after-interrupt
PROG tracepoint:syscalls:sys_enter_getppid /comm == "wl-run"/ { @n = count(); } END { printf("the end\n"); }
WORKLOAD {workload} getppid 5
EXPECT the end
CHECK @n == 5

NAME end-runs-after-terminate
PROG tracepoint:syscalls:sys_enter_getppid /comm == "wl-run"/ { @n = count(); } END { printf("the end\n"); }
WORKLOAD {workload} getppid 5
STOP term
EXPECT the end
CHECK @n == 5

NAME child-is-traced-from-its-first-instruction
PROG tracepoint:syscalls:sys_enter_execve /pid == cpid/ { @execs = count(); } tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @n = count(); }
ARGS -c "{workload} getppid 123"
CHECK @n == 123
TIMEOUT 10

NAME child-exit-code-is-not-passed-on
PROG tracepoint:syscalls:sys_enter_exit_group /pid == cpid/ { @code = args.error_code; }
ARGS -c "{workload} status 7"
CHECK @code == 7

NAME child-that-is-not-there
PROG BEGIN { printf("no\n"); }
ARGS -c /nonexistent/program
EXPECT_NONE ^no$
STDERR_REGEX /nonexistent/program
EXIT 1

NAME process-filter
PROG uprobe:{workload}:workload_inner { @n = count(); }
ARGS -p {before}
BEFORE {workload} wait 9 1
WORKLOAD
  {workload} poke {before}
  {workload} functions 100
CHECK @n == 9

NAME process-end-ends-the-session
PROG uprobe:{workload}:workload_inner { @n = count(); } END { printf("the end\n"); }
ARGS -p {before}
BEFORE {workload} sleep 1 1500000
EXPECT the end
TIMEOUT 10

NAME process-that-is-not-there
PROG interval:s:1 { exit(); }
ARGS -p 4194303
STDERR_REGEX 4194303
EXIT 1

NAME dry-run-attaches-nothing
PROG BEGIN { printf("no\n"); } tracepoint:syscalls:sys_enter_getppid { @ = count(); }
ARGS --dry-run
EXPECT_NONE ^no$
STDERR_NONE ^Attached
EXIT 0

NAME script-from-standard-input
CALL -
STDIN BEGIN { printf("from stdin\n"); }
EXPECT_ALL from stdin

NAME script-file-that-is-not-there
CALL nosuch.bt
STDERR_REGEX nosuch\.bt
EXIT 1

NAME usage-unknown-option
CALL --no-such-option
STDERR_REGEX --no-such-option
EXIT 2

NAME usage-without-a-script
CALL -q
STDERR_REGEX .
EXIT 2

NAME usage-personality-keeps-its-code
RUN bpftrace --no-such-option
STDERR_REGEX no-such-option
EXIT 1

NAME help-is-on-stdout
CALL --help
EXPECT_REGEX -e
EXIT 0

NAME list-of-nothing
CALL -l tracepoint:nosuch:nosuch
EXIT 1

NAME list-software-events
CALL -l software:*
EXPECT
  software:context-switches:
  software:page-faults:

NAME list-user-functions
CALL -l uprobe:{workload}:workload_*
EXPECT_REGEX ^uprobe:.*/workload:workload_work$
CHECK lines(^uprobe:) == 9

NAME list-struct-fields
CALL -lv "struct list_head"
EXPECT_REGEX
  struct list_head \{
  struct list_head \* *next;

NAME personality-by-name
RUN bpftrace -e 'BEGIN { printf("as %s\n", comm); }'
EXPECT as bpftrace

NAME verbose-states-the-accounts
PROG tracepoint:syscalls:sys_enter_getppid /comm == "wl-run"/ { @n = count(); }
ARGS -v
WORKLOAD {workload} getppid 50
CHECK
  @n == 50
  errlines(sys_enter_getppid) >= 1

NAME map-full-is-counted
PROG tracepoint:syscalls:sys_enter_read /comm == "wl-run"/ { @i++; @[@i] = 1; }
ENV BPFTRACE_MAX_MAP_KEYS=100
WORKLOAD {workload} read 150 1
CHECK
  keys(@) == 100
  @i == 150
STDERR_REGEX (?i)(map|@).*(full|50)

NAME memory-of-the-tracer
PROG tracepoint:raw_syscalls:sys_enter { @[comm, args.id] = count(); }
WORKLOAD {workload} getppid 1000
CHECK rss_mib <= 20
