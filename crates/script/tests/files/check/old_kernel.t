# What a kernel of 2020 lacks.
# facts 5.10-x86_64

begin { @a[1] = 1; for ($kv : @a) { } }
----
error: missing required kernel feature: for_each_map_elem (a loop over a map) at 1:20 `for ($kv : @a) { }`
  help: kernels have it since v5.13

====
begin { for ($i : 0..10) { } for ($i : 0..2000) { } for ($j : 0..pid) { } }
----
error: missing required kernel feature: bpf_loop (a loop that is not known to end after 1024 rounds) at 1:30 `for ($i : 0..2000) { }`
  help: kernels have it since v5.17
error: missing required kernel feature: bpf_loop (a loop that is not known to end after 1024 rounds) at 1:53 `for ($j : 0..pid) { }`
  help: kernels have it since v5.17

====
begin { @a = count(); print(@a); if (@a > 1) { } }
----
error: missing required kernel feature: map_lookup_percpu_elem (reading an aggregation) at 1:38 `@a`
  help: kernels have it since v5.19

====
begin { print(nsecs(tai)); print(jiffies); print(cgroup); }
----
error: missing required kernel feature: ktime_get_tai_ns (nsecs(tai)) at 1:15 `nsecs(tai)`
  help: kernels have it since v6.1

====
begin { @a[1] = 1; print(len(@a)); }
----
error: missing required kernel feature: for_each_map_elem (len()) at 1:26 `len(@a)`
  help: kernels have it since v5.13

====
begin { $i = 0; while ($i < 10) { $i++; } }
----
warning: while loops are deprecated and may be removed in the future at 1:17 `while ($i < 10) { $i++; }`
  help: a range does the same and is known to end: `for ($i : 0..10) { … }`
$i: int64
