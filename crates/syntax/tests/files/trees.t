# Scripts and the trees that come of them, in the printer's hand.

BEGIN { $a = 1 + 2 * 3 - 4; $b = 1 << 2 + 3 & 4 | 5 ^ 6; $c = !$a == ~$b; $d = $a && $b || $c; }
----
BEGIN {
    $a = 1 + (2 * 3) - 4;
    $b = ((1 << (2 + 3)) & 4) | (5 ^ 6);
    $c = (!$a) == (~$b);
    $d = ($a && $b) || $c;
}

====
BEGIN { $a = $x ? 1 : $y ? 2 : 3; $b = $x ?: 4; $c = -$x++; $d = *$p.q; $e = &$p; $f = (int8)-1; $g = (uint64)1 + 2; }
----
BEGIN {
    $a = $x ? 1 : $y ? 2 : 3;
    $b = $x ?: 4;
    $c = -($x++);
    $d = *$p.q;
    $e = &$p;
    $f = (int8)(-1);
    $g = ((uint64)1) + 2;
}

====
kprobe:f/pid==1/{@=count()}kprobe:g{@[pid]=count()}
----
kprobe:f /pid == 1/ {
    @ = count();
}
kprobe:g {
    @[pid] = count();
}

====
kprobe:f /@a / 2 > 3/ { } uprobe:/bin/bash:f / *$1 == 2 / { }
----
kprobe:f /(@a / 2) > 3/ {
}
uprobe:/bin/bash:f /(*$1) == 2/ {
}

====
kprobe:f,kprobe:g,
kprobe:h, { print(1) }
----
kprobe:f,
kprobe:g,
kprobe:h {
    print(1);
}

====
struct a { int x; char name[16]; struct b *next; unsigned long long y, *z; }
struct c { int x } BEGIN { }
----
struct a {
    int x;
    char name[16];
    struct b *next;
    unsigned long long y;
    unsigned long long *z;
};
struct c {
    int x;
};
BEGIN {
}

====
struct a { struct { u8 lo : 4; u8 hi : 4 } bits; void (*fn)(int, char *); } __attribute__((packed));
union { int a; } ;
BEGIN { }
----
struct a {
    struct {
        u8 lo : 4;
        u8 hi : 4;
    } bits;
    void *fn;
} __attribute__((packed));
union {
    int a;
};
BEGIN {
}

====
typedef struct { int x; }
a_t;
typedef struct b { int x } b_t; BEGIN { }
----
struct a_t {
    int x;
};
struct b {
    int x;
};
typedef struct b b_t;
BEGIN {
}

====
typedef unsigned long u; typedef struct a *a_p; typedef enum { A, B } e_t; enum f { C = 1 << 2, D, };
BEGIN { }
----
typedef unsigned long u;
typedef struct a *a_p;
enum e_t { A, B, };
enum f { C = 1 << 2, D, };
BEGIN {
}

====
#include <linux/fs.h>
#define A (1 << 4)
#define B \
  2
#ifdef BPFTRACE_HAVE_BTF
#else
struct never { int x; };
#endif
BEGIN { print(A + B) }
----
#include <linux/fs.h>
#define A 1 << 4
#define B 2
BEGIN {
    print(A + B);
}

====
config = { max_strlen = 64; missing_probes = "warn"; x = true; y = none } let @m = lruhash(1 << 4); BEGIN { }
----
config = {
    max_strlen = 64;
    missing_probes = "warn";
    x = true;
    y = none;
}
let @m = lruhash(1 << 4);
BEGIN {
}

====
BEGIN { if $a > 1 { $a++ } else if ($a) { } else { --@x[1, $a]; } while ($a < 5) { $a += 1; break; continue; } }
----
BEGIN {
    if ($a > 1) {
        $a++;
    } else if ($a) {
    } else {
        --@x[1, $a];
    }
    while ($a < 5) {
        $a += 1;
        break;
        continue;
    }
}

====
BEGIN { for ($i : 0..10) { } for $kv : @x { print($kv.0.1); } for ($i : @n + 1..@m) { } for ($i : @n..5) { } unroll(3) { } unroll 2 { } return; }
----
BEGIN {
    for ($i : 0..10) {
    }
    for ($kv : @x) {
        print($kv.0.1);
    }
    for ($i : @n + 1..@m) {
    }
    for ($i : @n..5) {
    }
    unroll (3) {
    }
    unroll (2) {
    }
    return;
}

====
BEGIN { let $a: uint64 = 1; let $b; let $c: (int, string[8]); let $d: typeof($a)[4]; _ = f(); }
----
BEGIN {
    let $a: uint64 = 1;
    let $b;
    let $c: (int, string[8]);
    let $d: typeof($a)[4];
    _ = f();
}

====
BEGIN { $x = { $y = 1; $y + 1 }; $t = (1, "x"); $u = (1,); $v = (); $r = (a = 1, b = (c = "d",)); }
----
BEGIN {
    $x = { $y = 1; $y + 1 };
    $t = (1, "x");
    $u = (1,);
    $v = ();
    $r = (a = 1, b = (c = "d"));
}

====
BEGIN { print(10ms); print(1h); print(0x1F); print(017); print(1e6); print(1_000u); print("\x41\102\n\t\"\\\e"); print($1 + $#); }
----
BEGIN {
    print(10000000ns);
    print(3600000000000ns);
    print(31);
    print(15);
    print(1000000);
    print(1000u);
    print("AB\n\t\"\\\x1b");
    print($1 + $#);
}

====
BEGIN { $a = ((struct task_struct *)curtask)->mm.pgd; $b = $p[1][2]; $c = @m[1][2]; $d = (@m)[1]; $e = sizeof(struct a) + sizeof($a) + offsetof(struct a, b.c); }
----
BEGIN {
    $a = ((struct task_struct *)curtask)->mm.pgd;
    $b = $p[1][2];
    $c = @m[1][2];
    $d = (@m)[1];
    $e = sizeof(struct a) + sizeof($a) + offsetof(struct a, b.c);
}

====
#!/usr/bin/env bpftrace
// A comment
BEGIN { /* another */ } ;;
----
BEGIN {
}

====
uprobe:/lib/libc.so.6:malloc, uprobe:cpp:"ns::f(int, char*)", usdt:/bin/x:a:b, tracepoint:syscalls:sys_enter_*, *:f, k*:g { }
----
uprobe:/lib/libc.so.6:malloc,
uprobe:cpp:"ns::f(int, char*)",
usdt:/bin/x:a:b,
tracepoint:syscalls:sys_enter_*,
*:f,
k*:g {
}

====
macro twice(x){x*2} macro set($v,@m,key){@m[key]=$v;} macro none(){} BEGIN{set($a,@b,1);print(twice(2))}
----
macro twice(x) {
    x * 2;
}
macro set($v, @m, key) {
    @m[key] = $v;
}
macro none() {
}
BEGIN {
    set($a, @b, 1);
    print(twice(2));
}
