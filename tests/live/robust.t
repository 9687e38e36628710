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
