# What stands in place of a value: casts and parentheses, types, `if`, numbers.

BEGIN { $a = (foo_t)$x; $b = (pid_t)args.pid; $c = (foo_t)(1 + 2); $d = (size_t)"x"; $e = (foo_t *)-1; $f = (foo_t)!$x; }
----
BEGIN {
    $a = (foo_t)$x;
    $b = (pid_t)args.pid;
    $c = (foo_t)(1 + 2);
    $d = (size_t)"x";
    $e = (foo_t *)(-1);
    $f = (foo_t)(!$x);
}

====
BEGIN { $a = (pid) + 1; $b = (A) - 1; $c = (A) * 2; $d = (A) & $x; $e = (arg0)[1]; $f = (pid); }
----
BEGIN {
    $a = pid + 1;
    $b = A - 1;
    $c = A * 2;
    $d = A & $x;
    $e = arg0[1];
    $f = pid;
}

====
BEGIN { $a = (unsigned long)$x; $b = (struct task_struct *)$x; $c = (uint8[4])$x; $d = (int8 *[2])$x; $e = (const char *)$x; }
----
BEGIN {
    $a = (unsigned long)$x;
    $b = (struct task_struct *)$x;
    $c = (uint8[4])$x;
    $d = (int8 *[2])$x;
    $e = (char *)$x;
}

====
BEGIN { $a = (typeof($x))1; $b = (typeof($x) *)2; $c = (typeof(struct s *))3; $d = (typeof(foo_t *) *)4; let $e: typeof(size_t *); let $f: typeof($x) = 1; }
----
BEGIN {
    $a = (typeof($x))1;
    $b = (typeof($x) *)2;
    $c = (struct s *)3;
    $d = (foo_t **)4;
    let $e: size_t *;
    let $f: typeof($x) = 1;
}

====
BEGIN { print(sizeof(typeof($x))); print(sizeof(foo_t *)); print(sizeof(foo_t)); print(sizeof($a * $b)); print(offsetof(typeof(struct s), a.b)); print(offsetof(foo_t *, a)); }
----
BEGIN {
    print(sizeof(typeof($x)));
    print(sizeof(foo_t *));
    print(sizeof(foo_t));
    print(sizeof($a * $b));
    print(offsetof(struct s, a.b));
    print(offsetof(foo_t *, a));
}

====
BEGIN { $a = (int8[2] *)$x; }
----
error: pointers to arrays are not supported yet at 1:23 `*`

====
BEGIN { $a = (typeof(int8[2]) *)$x; }
----
error: pointers to arrays are not supported yet at 1:15 `typeof`

====
BEGIN { f(typeof(uint64)); }
----
error: `typeof` is not supported yet at 1:11 `typeof`

====
BEGIN { $a = if ($x) { 1 } else { 2 }; $b = if $x { $y = 1; $y } else if $z { 3 } else { 4 }; }
----
BEGIN {
    $a = $x ? 1 : 2;
    $b = $x ? ({ $y = 1; $y }) : $z ? 3 : 4;
}

====
BEGIN { $a = { $b = 1; if ($b) { 1 } else { 2 } }; $c = { { 5 } }; print(if (pid) { "a" } else { "b" }); }
----
BEGIN {
    $a = { $b = 1; $b ? 1 : 2 };
    $c = { ({ 5 }) };
    print(pid ? "a" : "b");
}

====
BEGIN { $a = if ($x) { 1 }; $b = if ($x) { $y = 1; } else { 2 }; }
----
error: an `if` used as a value needs a value in each branch at 1:14 `if`
  help: write `if (…) { 1 } else { 2 }` or `… ? 1 : 2`
error: an `if` used as a value needs a value in each branch at 1:34 `if`
  help: write `if (…) { 1 } else { 2 }` or `… ? 1 : 2`

====
BEGIN { $a = $x ? 1 : 2; $b = $x ?: 2; $c = $x ? : 2; $d = $x ? $y ? 1 : 2 : $z ?: 3; }
----
BEGIN {
    $a = $x ? 1 : 2;
    $b = $x ?: 2;
    $c = $x ?: 2;
    $d = $x ? ($y ? 1 : 2) : $z ?: 3;
}

====
BEGIN { print((0x1f, 017, 0b101, 1e6, 1_000, 5u, 4294967296ul, 5ll, 10ms, 1d, 0)); }
----
BEGIN {
    print((31, 15, 5, 1000000, 1000, 5u, 4294967296ul, 5, 10000000ns, 86400000000000ns, 0));
}

====
BEGIN { $a = 08; $b = 1_; $c = 4294967296u; $d = 9223372036854775808l; $e = 1e30; $f = 12x; }
----
error: syntax error, invalid octal number "08": a number with a leading 0 counts in eights at 1:14 `08`
error: syntax error, underscore at the end of number "1_" at 1:23 `1_`
error: syntax error, number "4294967296u" does not fit its suffix at 1:32 `4294967296u`
error: syntax error, number "9223372036854775808l" does not fit its suffix at 1:50 `9223372036854775808l`
error: syntax error, number "1e30" does not fit 64 bits at 1:77 `1e30`
error: syntax error, invalid suffix "x" on number "12x" at 1:88 `12x`

====
kprobe:f / $x / 2 == (1 / $y) / { $z = $x / 2; }
----
kprobe:f /($x / 2) == (1 / $y)/ {
    $z = $x / 2;
}
