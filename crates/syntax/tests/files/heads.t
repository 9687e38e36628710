# Attach points, and statements with a head that is wrong: their bodies are read all the same.

uprobe:/bin/bash:"a\"b" { } uprobe:"/tmp/a b":cpp:"ns::f<int, char>(int)" { }
----
uprobe:/bin/bash:"a\"b" {
}
uprobe:"/tmp/a b":cpp:"ns::f<int, char>(int)" {
}

====
iter:task:/sys/fs/bpf/x { } UPROBE:/bin/x:f /1/ { } kprobe:f/pid == 1/{ } usdt:./a/b:p/1/ { }
----
iter:task:/sys/fs/bpf/x {
}
UPROBE:/bin/x:f /1/ {
}
kprobe:f /pid == 1/ {
}
usdt:./a/b:p/1/ {
}

====
BEGIN { for (int i = 0; i < 5; i++) { $x = ; } $y = ; }
----
error: syntax error, unexpected `int`, expected a variable ($name) at 1:14 `int`
  help: loops go over a range or a map: for ($i : 0..10) { }, for ($kv : @map) { }
error: syntax error, unexpected `;`, expected an expression at 1:44 `;`
error: syntax error, unexpected `;`, expected an expression at 1:53 `;`

====
BEGIN { if (1 +) { $x = ; } else if (2 +) { $y = ; } else { $z = ; } $w = ; }
----
error: syntax error, unexpected `)`, expected an expression at 1:16 `)`
error: syntax error, unexpected `;`, expected an expression at 1:25 `;`
error: syntax error, unexpected `)`, expected an expression at 1:41 `)`
error: syntax error, unexpected `;`, expected an expression at 1:50 `;`
error: syntax error, unexpected `;`, expected an expression at 1:66 `;`
error: syntax error, unexpected `;`, expected an expression at 1:75 `;`

====
BEGIN { while (*) { $x = ; } unroll () { $y = ; } }
----
error: syntax error, unexpected `)`, expected an expression at 1:17 `)`
error: syntax error, unexpected `;`, expected an expression at 1:26 `;`
error: syntax error, unexpected `;`, expected an expression at 1:47 `;`

====
BEGIN { if (1) print(1); $x = ; }
----
error: syntax error, unexpected `print`, expected `{` at 1:16 `print`
error: syntax error, unexpected `;`, expected an expression at 1:31 `;`

====
probe begin { }
----
error: syntax error, unexpected `begin`, expected `,`, a predicate or `{` at 1:7 `begin`
  help: a probe begins with its attach point: leave out the word `probe`

====
kprobe:f pid == 1 { }
----
error: syntax error, unexpected `pid`, expected `,`, a predicate or `{` at 1:10 `pid`
  help: a condition stands between slashes: kprobe:f /pid == 1/ { }
