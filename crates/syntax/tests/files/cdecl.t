# Declarations of C.

#define N 16
enum { M = 4, L };
struct a { char x[N * 2]; int y[M][L + 1]; u32 z : M, : 2; };
BEGIN { }
----
#define N 16
enum { M = 4, L, };
struct a {
    char x[32];
    int y[4][6];
    u32 z : 4;
    u32  : 2;
};
BEGIN {
}

====
struct a { char x[UNKNOWN]; };
BEGIN { }
----
error: an array's length must be a constant that the script defines at 1:19 `UNKNOWN`
  help: headers are not read: write the number, or `#define` the name

====
struct a { char x[1 - 2]; int y : 65; };
BEGIN { }
----
error: an array's length cannot be negative at 1:19 `1`

====
struct a { char x[]; };
BEGIN { $x = 1 / 0; }
----
struct a {
    char x[];
};
BEGIN {
    $x = 1 / 0;
}

====
#define Z (1 / 0)
struct a { char x[Z]; };
BEGIN { }
----
error: an array's length must be a constant that the script defines at 2:19 `Z`
  help: headers are not read: write the number, or `#define` the name

====
struct forward;
union forward_too;
struct a { struct forward *next; };
BEGIN { }
----
struct a {
    struct forward *next;
};
BEGIN {
}

====
struct a { enum { A, B } one; enum e { C = 7 } two; enum e three; };
BEGIN { }
----
enum { A, B, };
enum e { C = 7, };
struct a {
    unsigned int one;
    enum e two;
    enum e three;
};
BEGIN {
}

====
struct a { void (*f)(int, char *); int (*g[4])(int (*)(int)); int (*h)[3]; char *(**i)(void); };
BEGIN { }
----
struct a {
    void *f;
    void *g[4];
    void *h;
    void *i;
};
BEGIN {
}

====
typedef int (*compare)(const void *, const void *);
typedef struct s { int x; } *s_ptr;
typedef struct { int x; } t;
typedef unsigned long long u64, u64_too;
BEGIN { }
----
error: syntax error, unexpected `,`, expected a probe at 4:31 `,`

====
struct __attribute__((packed)) a { int x; };
struct b __attribute__((packed)) { int x; };
struct c { int x; } __attribute__((packed)) struct d { int x; } /**/ __attribute__ /**/ ((packed)) /**/ BEGIN { }
----
struct a {
    int x;
} __attribute__((packed));
struct b {
    int x;
} __attribute__((packed));
struct c {
    int x;
} __attribute__((packed));
struct d {
    int x;
} __attribute__((packed));
BEGIN {
}

====
struct a { int x __attribute__((aligned(8))); struct __attribute__((packed)) { int y; } z; } __attribute__((preserve_access_index));
BEGIN { }
----
warning: `aligned` is ignored: members stand where C puts them without it at 1:33 `aligned`

====
struct a { int x; } __attribute__ BEGIN { }
----
error: syntax error, unexpected `BEGIN`, expected `((` at 1:35 `BEGIN`

====
struct a { int x; } __attribute__ ((packed) BEGIN { }
----
error: syntax error, unexpected `{`, expected `)` at 1:51 `{`
  label: this is not closed at 1:35 `(`

====
let @a = hash(10)
let @b = lruhash(2 * (1 + 4)); let @c = percpuhash(5) BEGIN { }
----
let @a = hash(10);
let @b = lruhash(2 * (1 + 4));
let @c = percpuhash(5);
BEGIN {
}

====
#ifndef BPFTRACE_HAVE_BTF
struct no { int x; };
#else
struct yes { int x; };
#endif
#ifdef UNKNOWN
struct no { int x; };
#endif
BEGIN { }
----
struct yes {
    int x;
};
BEGIN {
}
