# Macros of the script.
# facts 6.18-x86_64

macro set($v, @m) { $v = 1; @m[$v] = 2; }
begin { $a = 0; set($a, @x); set(1, @x); set($a, @x[1]); set($a); }
----
error: no macro set takes these arguments at 2:30 `set(1, @x)`
  label: defined here at 1:1 `macro set($v, @m) { $v = 1; @m[$v] = 2; }`
error: no macro set takes these arguments at 2:42 `set($a, @x[1])`
  label: defined here at 1:1 `macro set($v, @m) { $v = 1; @m[$v] = 2; }`
error: no macro set takes these arguments at 2:58 `set($a)`
  label: defined here at 1:1 `macro set($v, @m) { $v = 1; @m[$v] = 2; }`

====
macro loop(x) { loop(x + 1) }
macro other() { loop(1) }
begin { print(loop(1)); print(other); }
----
error: the macro loop calls itself at 1:17 `loop(x + 1)`
error: the macro has no value: its last statement is no expression at 3:31 `other`

====
macro nothing($v) { $v++; let $w = 1; }
begin { $a = 1; print(nothing($a)); }
----
error: the macro has no value: its last statement is no expression at 2:23 `nothing($a)`

====
macro hidden() { $inner = 1; @m = 1; }
begin { hidden(); print($inner); }
----
error: @m is no parameter of the macro at 1:30 `@m`
  help: give the macro the map when calling it
error: undefined or undeclared variable: $inner at 2:25 `$inner`

====
macro one(a) { a } macro one(b) { b + 1 } macro one($c) { $c + 2 }
begin { $x = 1; print(one($x)); print(one(1)); }
----
error: the macro one is there already with these parameters at 1:26 `one`
  label: here at 1:7 `one`

====
macro pid(x) { x } macro comm() { 7 }
begin { print(pid(1)); print(pid); print(comm + 1); print(__builtin_comm); }
----
ok

====
macro a(x) { x + x + x + x + x + x + x + x + x + x }
begin { print(a(a(a(a(a(a(1))))))); }
----
error: the macros of the script make too much code at 2:15 `a(a(a(a(a(a(1))))))`
error: the macros of the script make too much code at 2:17 `a(a(a(a(a(1)))))`
