# What no kernel could take, said before code is made.

begin { unroll(100) { unroll(100) { unroll(100) { @ = count(); } } } }
----
error: unroll writes out 2010101 statements and expressions: more than 131072 are not supported at 1:37 `unroll(100) { @ = count(); }`
  help: a loop over a range (for $i : 0..n) is not written out

====
begin { unroll(100) { @a = 1; } unroll(50) { unroll(20) { @b++; } } }
----
@a: int64
@b: int64

====
begin { unroll(90) { unroll(90) { if (1) { @a = (1 + 2) * 3 - 4 + pid; @b = tid + pid; @c = 1 + tid; } } } }
----
error: unroll writes out 162091 statements and expressions: more than 131072 are not supported at 1:22 `unroll(90) { if (1) { @a = (1 + 2) * 3 - 4 + pid; @b = tid + pid; @c = 1 + tid; } }`
  help: a loop over a range (for $i : 0..n) is not written out
