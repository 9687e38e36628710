# What scripts that were written for other tools rely on.

NAME conform-stacks-in-records-of-uprobes
PROG uprobe:{workload}:workload_work /comm == "wl-run"/ { printf("%d %d\n", len(ustack) > 0, len(ustack(1))); printf("%s", ustack(1)); @n = count(); }
WORKLOAD {workload} work 3
CHECK
  @n == 3
  lines(^1 1$) == 3
  lines(^ {8}\S) == 3

NAME conform-bytes-of-literals
PROG BEGIN { printf("%r %rx\n", buf("ab\0c", 4), buf("xy", 2)); @[buf("key", 3)] = 1; print((int8[])"hey"); }
EXPECT
  ab\x00c \x78\x79
  [104,101,121,0]
  @[key]: 1
DIFF text

NAME conform-lengths-of-strings-count-the-nul
PROG BEGIN { $s = "hello"; print(str($s, 3)); $n = 4; print(str($s, $n)); print(str("hello", 3)); printf("%s|\n", str($s, 1)); }
EXPECT_ALL
  he
  hel
  hel
  |
DIFF text

NAME conform-cut-strings-are-marked
PROG tracepoint:syscalls:sys_enter_openat /pid == cpid/ { printf("<%s>\n", str(args.filename)); @[str(args.filename)] = count(); }
ARGS -c "{workload} open 2"
ENV BPFTRACE_MAX_STRLEN=6
CHECK
  lines(^</dev/n\.\.>$) == 2
  @[/dev/n..] == 2

NAME conform-fields-of-printed-records
PROG
  struct low { int a; char text[4]; unsigned long long x:1, y:2; }
  struct high { unsigned long long p:1; unsigned long long q:1; unsigned long long r:2; int s:4; }
  BEGIN { $v = (uint64)0x1e; print(*(struct high *)(&$v)); $w = (1, 2); }
EXPECT
  { .p = 0, .q = 1, .r = 3, .s = 1 }

NAME conform-microseconds-of-dates-agree
RUN
  strix trace -q -e 'BEGIN { printf("%s\n%s\n", strftime("%s%f", 1000123000), strftime("%s%f", 0)); }' | sed -n '/^[0-9]/p' | { read a; read b; echo $((a - b)); }
EXPECT
  1000123

NAME conform-macros
PROG
  macro add_one($x) { $x += 1; }
  macro double(x) { x * 2 }
  macro fill(@m, value) { @m[value] = double(value); }
  macro total(@m) { $sum = 0; for ($kv : @m) { $sum += $kv.1; } $sum }
  macro answer() { let $x = 42; $x }
  macro shout(x) { x; x; }
  BEGIN {
    $x = 1; add_one($x); $sum = 7; fill(@a, 5); fill(@a, double(5));
    printf("%d %d %d %d\n", $x, double($x + 1), total(@a), $sum);
    print(answer); print(answer());
    shout({ printf("ho") });
    printf("\n");
  }
EXPECT
  2 6 30 7
  42
  42
  hoho
  @a[5]: 10
  @a[10]: 20
DIFF text
