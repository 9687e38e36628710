# What people get wrong, and what they read then.

BEGIN { print(1);
----
error: syntax error, unexpected end of file, expected `}` at 1:18 ``
  label: this brace is not closed at 1:7 `{`

====
kprobe:vfs_read { @ = count();
kprobe:vfs_write { @w = count(); }
----
error: syntax error, a probe cannot begin inside of another at 2:1 `kprobe`
  label: this brace is not closed at 1:17 `{`
  help: close it with `}`

====
BEGIN { if (1) { print(1); 
END { print(2); }
----
error: syntax error, a probe cannot begin inside of another at 2:1 `END`
  label: this brace is not closed at 1:16 `{`
  help: close it with `}`

====
kprobe:f /pid = 1/ { @ = count(); }
----
error: syntax error, unexpected `=`, expected `/` at 1:15 `=`
  help: compare with `==`

====
kprobe:f /(pid = 1)/ { @ = count(); }
----
error: syntax error, unexpected `=` in a condition at 1:15 ` = `
  help: compare with `==`

====
kprobe:f /@x = 1/ { @ = count(); }
----
error: syntax error, unexpected `=`, expected `/` at 1:14 `=`
  help: compare with `==`

====
BEGIN { if (pid = 1) { print(1); } }
----
error: syntax error, unexpected `=` in a condition at 1:16 ` = `
  help: compare with `==`

====
BEGIN { if ($x = 1) { print(1); } }
----
error: syntax error, unexpected `=`, expected `,` or `)` at 1:16 `=`
  label: this is not closed at 1:12 `(`
  help: compare with `==`

====
BEGIN { while ($x = 1) { print(1); } }
----
error: syntax error, unexpected `=`, expected `,` or `)` at 1:19 `=`
  label: this is not closed at 1:15 `(`
  help: compare with `==`

====
BEGIN { $x = 1 $y = 2; }
----
error: syntax error, unexpected `$y`, expected `;` or `}` at 1:16 `$y`
  label: the statement before it ends here at 1:14 `1`

====
BEGIN {
  $x = 1
  print($x)
}
----
error: syntax error, unexpected `print`, expected `;` or `}` at 3:3 `print`
  label: the statement before it ends here at 2:8 `1`

====
{ print(1); }
----
error: syntax error, a block without a probe at 1:1 `{`
  help: put an attach point before it, such as BEGIN

====
/pid == 1/ { print(1); }
----
error: syntax error, a predicate without a probe at 1:1 `/`
  help: put an attach point before it

====
print(1);
----
error: syntax error, unexpected end of file, expected `{` at 1:10 ``

====
kprobe:f print(1); }
----
error: syntax error, unexpected `print(1);`, expected `,`, a predicate or `{` at 1:10 `print(1);`
error: syntax error, unexpected end of file, expected `{` at 1:21 ``

====
kprobe:f kprobe:g { print(1); }
----
error: syntax error, unexpected `kprobe:g`, expected `,`, a predicate or `{` at 1:10 `kprobe:g`

====
BEGIN { print(“hello”); }
----
error: syntax error, typographic quote “: use " at 1:15 `“`

====
BEGIN { print(‘hello’); }
----
error: syntax error, typographic quote ‘: use ' in the shell and " in the script at 1:15 `‘`

====
BEGIN { print('hello'); }
----
error: syntax error, unexpected `'`, expected an expression at 1:15 `'`
  help: strings stand in double quotes: "text"

====
BEGIN { printf("hello); }
END { print(2); }
----
error: syntax error, unterminated string at 1:16 `"hello); }`

====
BEGIN { printf("hello\q world\n"); }
----
error: syntax error, unknown escape "\q" at 1:22 `\q`

====
BEGIN { printf("\xzz \400"); }
----
error: syntax error, hexadecimal digits must follow the escape "\x" at 1:17 `\x`

====
uprobe:"/tmp/a b:f { print(1); }
----
error: unterminated quote in attach point at 1:1 `uprobe:"/tmp/a b:f { print(1); }`

====
BEGIN { print(1); } }
----
error: syntax error, unexpected `}` at 1:21 `}`
  help: no brace is open here

====
BEGIN { print(1)); }
----
error: syntax error, unexpected `)`, expected `;` or `}` at 1:17 `)`
  label: the statement before it ends here at 1:16 `)`

====
BEGIN { print((1, 2; }
----
error: syntax error, unexpected `;`, expected `,` or `)` at 1:20 `;`
  label: this is not closed at 1:15 `(`

====
BEGIN { print(1, 2; }
----
error: syntax error, unexpected `;`, expected `,` or `)` at 1:19 `;`
  label: this is not closed at 1:14 `(`

====
BEGIN { @x[1 = 2; }
----
error: syntax error, unexpected `=`, expected `,` or `]` at 1:14 `=`
  label: this is not closed at 1:11 `[`
  help: compare with `==`

====
BEGIN { @x[] = 2; }
----
error: a map's key cannot be empty at 1:9 `@x[]`

====
BEGIN { $x = 1.5; }
----
error: numbers with a fraction are not supported at 1:14 `1.5`
  help: use integers, such as microseconds for milliseconds

====
BEGIN { $x = 5x; $y = 0xg; $z = 99999999999999999999; }
----
error: syntax error, invalid suffix "x" on number "5x" at 1:14 `5x`
error: syntax error, invalid number "0xg" at 1:23 `0xg`
error: syntax error, number "99999999999999999999" does not fit 64 bits at 1:33 `99999999999999999999`

====
BEGIN { $ = 1; }
----
error: syntax error, "$" without a name at 1:9 `$`

====
BEGIN { print($0); }
----
error: syntax error, invalid parameter "$0": the first is $1 at 1:15 `$0`

====
BEGIN { 1 = 2; pid += 1; comm++; }
----
error: only a variable ($x) or a map (@x) can be assigned to at 1:9 `1`
error: only a variable ($x) or a map (@x) can be assigned to at 1:16 `pid`
error: `++` needs a variable ($x) or a map (@x) at 1:26 `comm`

====
BEGIN { $x = ; }
----
error: syntax error, unexpected `;`, expected an expression at 1:14 `;`

====
BEGIN { for (i : 0..10) { } }
----
error: syntax error, unexpected `i`, expected a variable ($name) at 1:14 `i`
  help: loops go over a range or a map: for ($i : 0..10) { }, for ($kv : @map) { }

====
BEGIN { for ($i = 0; $i < 10; $i++) { } }
----
error: syntax error, unexpected `=`, expected `:` at 1:17 `=`
  help: loops go over a range or a map: for ($i : 0..10) { }, for ($kv : @map) { }

====
BEGIN { for ($i : 10) { } }
----
error: syntax error, unexpected `)`, expected `..` at 1:21 `)`

====
BEGIN { if { print(1); } }
----
error: syntax error, unexpected `{`, expected a condition at 1:12 `{`

====
BEGIN { if (1) print(1); }
----
error: syntax error, unexpected `print`, expected `{` at 1:16 `print`

====
BEGIN { else { } }
----
error: syntax error, `else` without an `if` before it at 1:9 `else`

====
BEGIN { $x = struct task_struct; }
----
error: unexpected `struct`: a type stands in parentheses, as a cast at 1:14 `struct`

====
BEGIN { $x = { $y = 1; }; }
----
error: a block used as a value must end with an expression at 1:14 `{`

====
BEGIN { print(1) /* never ended }
----
error: syntax error, unterminated comment at 1:18 `/*`

====
macro f($x, 1) { $x }
BEGIN { f(1); }
----
error: syntax error, unexpected number, expected a parameter: a name, $name or @name at 1:13 `1`

====
import "x.bt";
fn f($x: int64): int64 { return $x; }
BEGIN { print(1); }
----
error: `import` is not supported: strix has no imports yet at 1:1 `import`
  help: write the code out where it is used
error: `fn` is not supported: strix has no functions of a script (fn) yet at 2:1 `fn`
  help: write the code out where it is used

====
here=kprobe:f { print(1); }
----
error: named probes (`name=probe`) are not supported yet at 1:1 `here=kprobe:f`
  help: leave out the name and the `=`

====
let a = hash(10);
BEGIN { }
----
error: syntax error, unexpected `a`, expected a map (@name) at 1:5 `a`

====
config = { max_strlen 64 }
BEGIN { }
----
error: syntax error, unexpected number, expected `=` at 1:23 `64`

====
config = { max_strlen = }
BEGIN { }
----
error: syntax error, unexpected `}`, expected a number, a word or a string at 1:25 `}`

====
struct a { int x int y; };
BEGIN { }
----
error: syntax error, unexpected `int`, expected `;` at 1:18 `int`

====
struct a { int x : 65; };
BEGIN { }
----
error: a bit-field has 64 bits at most at 1:20 `65`

====
struct a { int x
BEGIN { }
----
error: syntax error, unexpected `BEGIN`, expected `;` at 2:1 `BEGIN`

====
enum e { 1 };
BEGIN { }
----
error: syntax error, unexpected number, expected an enumerator at 1:10 `1`

====
#define F(x) (x + 1)
#define G 1 +
#error no
BEGIN { print(G); }
----
warning: `#define F(…)` is ignored: strix has no macros with parameters at 1:1 `#define F(x) (x + 1)`
warning: `#define G` is ignored: its value is not an expression at 2:1 `#define G 1 +`
warning: preprocessor line `#error` is ignored at 3:1 `#error no`

====
BEGIN { print(1 ++ 2); }
----
error: `++` needs a variable ($x) or a map (@x) at 1:15 `1`

====
BEGIN { print(1 === 2); }
----
error: syntax error, unexpected `=`, expected an expression at 1:19 `=`
  help: compare with `==`

====
BEGIN { $x = $y ? 1; }
----
error: syntax error, unexpected `;`, expected `:` at 1:20 `;`

====
BEGIN { print(a b); }
----
error: syntax error, unexpected `b`, expected `,` or `)` at 1:17 `b`
  label: this is not closed at 1:14 `(`

====
BEGIN – { }
----
error: syntax error, unexpected `–`, expected `,`, a predicate or `{` at 1:7 `–`

====
BEGIN { $x = 1 − 2; }
----
error: syntax error, typographic dash −: use - at 1:16 `−`

====
BEGIN { sizeof(); offsetof(struct a); offsetof(struct a, ); }
----
error: syntax error, unexpected `)`, expected an expression at 1:16 `)`
error: syntax error, unexpected `)`, expected `,` at 1:36 `)`
error: syntax error, unexpected `)`, expected a field's name at 1:58 `)`

====
BEGIN { comptime 1; if comptime 1 { } typeof(1); }
----
error: `comptime` is not supported yet at 1:9 `comptime`
error: `comptime` is not supported yet at 1:24 `comptime`
error: `typeof` is not supported yet at 1:39 `typeof`

====
BEGIN { return 1 2; }
----
error: syntax error, unexpected number, expected `;` or `}` at 1:18 `2`
  label: the statement before it ends here at 1:16 `1`

====
BEGIN { @x{1} = 1; }
----
error: syntax error, unexpected `{`, expected `;` or `}` at 1:11 `{`
  label: the statement before it ends here at 1:9 `@x`
error: syntax error, unexpected `=`, expected an expression at 1:15 `=`
  help: compare with `==`

====
BEGIN { delete @x[1]; }
----
error: syntax error, unexpected `@x`, expected `;` or `}` at 1:16 `@x`
  label: the statement before it ends here at 1:9 `delete`

====
BEGIN { let x = 1; }
----
error: syntax error, unexpected `x`, expected a variable ($name) at 1:13 `x`

====
BEGIN { x => 1 }
----
error: only a variable ($x) or a map (@x) can be assigned to at 1:9 `x`

====
kprobe:f { @ = count() } kprobe:g { @b = count( } kprobe:h { @c = ; }
----
error: syntax error, unexpected `}`, expected an expression at 1:49 `}`
error: syntax error, unexpected `;`, expected an expression at 1:67 `;`
