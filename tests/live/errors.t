# What the user sees when it does not work. Place, message, the line and a caret; the wording of messages is ours.

NAME error-syntax
PROG BEGIN { @x = ; }
STDERR_REGEX
  ^stdin:1:14(-15)?: ERROR: .
  ^BEGIN \{ @x = ; \}$
  ^             [~^]+
EXIT 1

NAME error-unknown-function-with-a-hint
PROG BEGIN { pritnf("x"); }
STDERR_REGEX
  ^stdin:1:9-[0-9]+: ERROR: .*pritnf
  ^BEGIN \{ pritnf\("x"\); \}$
  ^        [~^]+
  printf
EXIT 1

NAME error-unknown-probe
PROG tracepoint:syscalls:sys_enter_nosuch { @ = count(); }
STDERR_REGEX ^stdin:1:1-37: ERROR: .*sys_enter_nosuch
EXIT 1

NAME error-unknown-probe-with-a-hint
PROG tracepoint:syscalls:sys_enter_opena { @ = count(); }
STDERR_REGEX sys_enter_openat?
EXIT 1

NAME error-unknown-field-with-a-hint
PROG tracepoint:syscalls:sys_enter_read { @ = args.cuont; }
STDERR_REGEX
  ^stdin:1:[0-9]+-[0-9]+: ERROR: .*cuont
  count
EXIT 1

NAME error-unknown-struct
PROG BEGIN { $x = (struct nosuch_struct *)0; printf("%d", $x->a); }
STDERR_REGEX nosuch_struct
EXIT 1

NAME error-unknown-kernel-field
PROG tracepoint:syscalls:sys_enter_read { @ = curtask->nosuch; }
STDERR_REGEX ERROR: .*nosuch
EXIT 1

NAME error-several-in-one-run
PROG
  BEGIN { nosuch1(); }
  BEGIN { nosuch2(); }
  tracepoint:syscalls:sys_enter_read { @ = args.nosuch3; }
STDERR_REGEX
  stdin:1:.*nosuch1
  stdin:2:.*nosuch2
  stdin:3:.*nosuch3
EXIT 1

NAME error-types
PROG BEGIN { @x = 1; @x = "text"; }
STDERR_REGEX ^stdin:1:[0-9-]+: ERROR: 
EXIT 1

NAME error-map-kinds
PROG BEGIN { @x = count(); @x[1] = count(); }
STDERR_REGEX ERROR: .*@x
EXIT 1

NAME error-undefined-variable
PROG BEGIN { printf("%d", $nosuch); }
STDERR_REGEX ERROR: .*\$nosuch
EXIT 1

NAME error-printf-arguments
PROG BEGIN { printf("%d %d\n", 1); }
STDERR_REGEX ERROR: .*argument
EXIT 1

NAME error-unsafe-without-the-option
PROG BEGIN { system("true"); }
STDERR_REGEX (?i)ERROR: .*unsafe
EXIT 1

NAME error-user-file-not-there
PROG uprobe:/nonexistent/file:main { @ = count(); }
STDERR_REGEX ERROR: .*/nonexistent/file
EXIT 1

NAME error-user-function-not-there
PROG uprobe:{workload}:no_such_function { @ = count(); }
STDERR_REGEX no_such_function
EXIT 1

NAME error-in-a-file-names-the-file
FILE bad.bt
  BEGIN
  {
      @x = nosuch();
  }
CALL bad.bt
STDERR_REGEX ^bad\.bt:3:[0-9]+-[0-9]+: ERROR: 
EXIT 1

NAME error-unprivileged
RUN
  chmod 755 {dir}
  cp "$(readlink -f "$(command -v strix)")" {dir}/strix
  cd / && setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all {dir}/strix trace -e 'BEGIN { printf("no\n"); }'
NEEDS cmd:setpriv
EXPECT_NONE ^no$
STDERR_REGEX CAP_|root
EXIT 1

NAME missing-probes-warn
PROG config = { missing_probes = "warn" } tracepoint:syscalls:sys_enter_getppid, tracepoint:syscalls:sys_enter_nosuch /comm == "wl-run"/ { @n = count(); }
WORKLOAD {workload} getppid 3
STDERR_REGEX (?i)warn.*sys_enter_nosuch
CHECK @n == 3

NAME kernel-without-kprobes-is-named
PROG kprobe:vfs_read { @ = count(); }
STDERR_REGEX ERROR: .*
EXIT 1

NAME wildcard-without-a-match
PROG tracepoint:nosuch_*:* { @ = count(); }
STDERR_REGEX ERROR: .
EXIT 1
