# What must not break a run: outputs that take nothing, and scripts that nobody wrote.

NAME robust-full-disk-is-an-error
RUN
  for words in version help "trace --help" "trace --info" "trace -V" "trace -l tracepoint:sched:*"; do
    code=0; strix $words > /dev/full 2> err || code=$?
    echo "$words: $code, $(grep -c 'No space left' err || true) said, $(grep -c panicked err || true) panics"
  done
EXPECT_ALL
  version: 1, 1 said, 0 panics
  help: 1, 1 said, 0 panics
  trace --help: 1, 1 said, 0 panics
  trace --info: 1, 1 said, 0 panics
  trace -V: 1, 1 said, 0 panics
  trace -l tracepoint:sched:*: 1, 1 said, 0 panics

NAME robust-stderr-that-takes-nothing-ends-no-run
RUN
  strix trace -e 'BEGIN { printf("all is well\n"); exit(); }' 2> /dev/full; echo "code $?"
  code=0; strix nonsense 2> /dev/full || code=$?; echo "code $code"
EXPECT
  all is well
  code 0
  code 2

NAME robust-nested-unrolling-is-bounded
PROG BEGIN { unroll(100) { unroll(100) { unroll(100) { @ = count(); } } } exit(); }
EXIT 1
STDERR_REGEX
  unroll writes out \d+ statements and expressions: more than \d+ are not supported

NAME robust-long-lines-are-shown-in-part
RUN
  head -c 1000000 /dev/zero | tr '\0' a > long.bt
  strix trace long.bt 2> err || true
  test $(wc -c < err) -lt 2000 && echo short
EXPECT
  short

NAME robust-cat-of-a-pipe-does-not-wait
RUN
  mkfifo pipe
  strix trace -e "BEGIN { cat(\"$PWD/pipe\"); printf(\"went on\n\"); exit(); }"
EXPECT
  went on

# The kernel's numbers: CAP_DAC_READ_SEARCH 2, CAP_KILL 5, CAP_SYS_PTRACE 19, CAP_SYSLOG 34, CAP_BPF 39.
NAME robust-capabilities-go-once-attached
NEEDS root
RUN
  for option in --no-warnings --unsafe; do
    strix trace $option -e 'interval:s:60 { } END { printf("the end\n"); }' 2> err & tracer=$!
    until grep -q Attached err; do sleep 0.1; done; sleep 0.3
    now=$(sed -n 's/^CapEff:\t//p' /proc/$tracer/status)
    if test $now = $(sed -n 's/^CapEff:\t//p' /proc/self/status); then echo "$option: all"; else echo "$option: $now"; fi
    kill $tracer; wait $tracer
  done
EXPECT
  --no-warnings: 0000008400080024
  the end
  --unsafe: all
  the end

NAME robust-least-privilege-is-enough
NEEDS root uprobe btf cmd:setpriv
RUN
  place=$(mktemp -d /tmp/strix-robust.XXXXXX); trap 'rm -r $place' EXIT; chmod 755 $place; cp $(command -v strix) $place/strix
  caps=+bpf,+perfmon,+dac_read_search,+syslog,+sys_ptrace
  try() {
    setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=$caps --ambient-caps=$caps $place/strix trace -q -e "$1" -c 'ls /' > out 2> err || cat err
    grep -E "$2" out | head -1
  }
  try 'tracepoint:syscalls:sys_enter_openat /pid == cpid/ { @opened = count(); }' '^@opened: [1-9]'
  try 'tracepoint:sched:sched_switch { @switched[args.next_pid >= 0] = count(); }' '^@switched'
  try 'uprobe:libc:malloc /pid == cpid/ { @called = count(); }' '^@called: [1-9]'
  try 'uprobe:libc:malloc /pid == cpid/ { @stack[ustack(1)] = count(); } uretprobe:libc:malloc { @back = count(); }' '^@back: [1-9]'
  try 'profile:hz:999 { @sampled = count(); }' '^@sampled: [1-9]'
  try 'software:page-faults:1 /pid == cpid/ { @faults = count(); }' '^@faults: [1-9]'
  try 'BEGIN { printf("%s\n", ksym(kaddr("schedule"))); }' '^schedule$'
EXPECT_REGEX
  ^@opened: \d+$
  ^@switched.*: \d+$
  ^@called: \d+$
  ^@back: \d+$
  ^@sampled: \d+$
  ^@faults: \d+$
  ^schedule$
STDERR_NONE
  .

NAME robust-what-is-missing-is-named
NEEDS root uprobe btf cmd:setpriv
RUN
  place=$(mktemp -d /tmp/strix-robust.XXXXXX); trap 'rm -r $place' EXIT; chmod 755 $place; cp $(command -v strix) $place/strix
  try() {
    setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=${1:--all} --inh-caps=${1:--all} --ambient-caps=${1:--all} \
      $place/strix trace --no-feature uprobe_multi -e "$2" -c true 2>&1 | grep -o "$3" | head -1
  }
  try '' 'interval:s:1 { }' 'needs CAP_BPF and CAP_PERFMON: run it as root, or let root type `setcap cap_bpf,.*strix`'
  try +bpf 'interval:s:1 { }' 'needs CAP_PERFMON'
  try +perfmon 'interval:s:1 { @ = 1; }' 'needs CAP_BPF'
  try +bpf,+perfmon 'tracepoint:sched:sched_switch { @[args.next_pid] = 1; }' 'not allowed to read .*CAP_DAC_READ_SEARCH'
  try +bpf,+perfmon 'BEGIN { print(ksym(1)); exit(); }' 'kernel addresses are hidden.*CAP_SYSLOG'
EXPECT_REGEX
  ^needs CAP_BPF and CAP_PERFMON: run it as root, or let root type `setcap cap_bpf,.*strix`$
  ^needs CAP_PERFMON$
  ^needs CAP_BPF$
  CAP_DAC_READ_SEARCH
  CAP_SYSLOG

NAME keys-are-evaluated-once
PROG BEGIN { $n = 0; @a[{ $n++; $n }] = count(); @b[{ $n++; $n }] = 7; print($n); exit(); }
WORKLOAD true
EXPECT 2

NAME robust-a-killed-tracer-takes-its-command-along
NEEDS cmd:pgrep
RUN
  strix trace -e 'interval:s:60 { }' -c 'sleep 4242' > out 2> err & tracer=$!
  until child=$(pgrep -P $tracer -x sleep); do sleep 0.05; done
  kill -9 $tracer; wait $tracer || echo "killed: $?"
  for i in 1 2 3 4 5 6 7 8 9 10; do
    case $(cut -d' ' -f3 /proc/$child/stat 2> err || echo gone) in gone|Z) echo "no command"; break;; esac
    sleep 0.1
  done
EXPECT
  killed: 137
  no command

# Nobody reads the pipe, so the first signal cannot be acted on.
NAME robust-a-second-signal-ends-a-tracer-that-is-stuck
RUN
  mkfifo pipe; sleep 60 < pipe & reader=$!
  strix trace -e 'tracepoint:raw_syscalls:sys_enter { printf("%100s\n", comm); }' > pipe 2> err & tracer=$!
  until grep -q Attached err; do sleep 0.05; done
  i=0; while test $i -lt 3000; do i=$((i + 1)); : < err; done
  kill -INT $tracer; sleep 0.5
  if kill -INT $tracer; then code=0; wait $tracer || code=$?; echo "ended by signal $((code - 128))"; fi
  kill $reader
EXPECT
  ended by signal 2

NAME robust-signals-that-come-together-are-one
RUN
  strix trace -e 'interval:s:60 { } END { printf("finished\n"); }' 2> err & tracer=$!
  until grep -q Attached err; do sleep 0.05; done
  kill -INT $tracer; kill -TERM $tracer
  wait $tracer
EXPECT
  finished
