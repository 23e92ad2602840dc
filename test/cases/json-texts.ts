/** Texts by the feature they test, separated by `¦`. */
const groups: { readonly [group: string]: readonly string[] } = {
  number: [
    '0 ¦ -0 ¦ 1 ¦ -1 ¦ 10 ¦ 123456789 ¦ 0.1 ¦ -0.1 ¦ 1.0 ¦ 1e1 ¦ 1E1 ¦ 1e+1 ¦ 1e-1 ¦ 1.5e3 ¦ 0e0 ¦ 0e+1 ¦ 0E1',
    '0.0e-0 ¦ -0e-0 ¦ 1e999 ¦ -1e999 ¦ 1e-999 ¦ 9007199254740993 ¦ -9007199254740993',
    '123456789012345678901234567890 ¦ 1e00 ¦ 1e01 ¦ 1e000000000000000001 ¦ 0.00000000000000000000001',
    '1.7976931348623157e308 ¦ 4.9e-324 ¦ -123.456E+78 ¦ 01 ¦ 00 ¦ -01 ¦ -00 ¦ 012 ¦ +1 ¦ +0 ¦ ++1 ¦ --1 ¦ - ¦ +',
    '. ¦ .1 ¦ -.1 ¦ 1. ¦ -1. ¦ 0. ¦ 0.e1 ¦ 1.e1 ¦ .e1 ¦ e1 ¦ 1e ¦ 1e+ ¦ 1e- ¦ 1E ¦ 1e1.5 ¦ 1e1e1 ¦ 1..1 ¦ 1.1.1',
    '1-1 ¦ 1+1 ¦ 1 1 ¦ 1 .5 ¦ - 1 ¦ 1e 1 ¦ 0x1 ¦ 0x ¦ 0X1F ¦ 0b1 ¦ 0o7 ¦ 1_000 ¦ 1,000 ¦ 1f ¦ 1n ¦ 1L ¦ １ ¦ NaN',
    '-NaN ¦ nan ¦ Infinity ¦ -Infinity ¦ +Infinity ¦ Inf ¦ infinity ¦ 1e1a ¦ -a ¦ -1x ¦ 2.e3 ¦ 2.e+3 ¦ 0e ¦ 0E+',
    '1eE2 ¦ 1ea ¦ .123 ¦ -2. ¦ 0.3e ¦ 0.3e+ ¦ 1.0e ¦ 1.0e- ¦ 9.e+ ¦ 1/2 ¦ 1\u0000 ¦ -\u0000',
  ],
  word: [
    'true ¦ false ¦ null ¦ True ¦ TRUE ¦ False ¦ NULL ¦ Null ¦ nil ¦ none ¦ None ¦ undefined ¦ tru ¦ tr ¦ t ¦ f',
    'n ¦ fals ¦ nul ¦ truee ¦ nulll ¦ true1 ¦ true false ¦ truefalse ¦ null, ¦ ťrue ¦ yes ¦ fals\u0000 ¦ nu ll',
    'true\u0000 ¦ \u0000true ¦ trUe ¦ a ¦ abc ¦ * ¦ & ¦ @ ¦ ^ ¦ ~ ¦ ` ¦ # ¦ \\',
  ],
  string: [
    '"" ¦ "a" ¦ " " ¦ "\\"" ¦ "\\\\" ¦ "\\/" ¦ "\\b\\f\\n\\r\\t" ¦ "\\u0041" ¦ "\\u0000" ¦ "\\uD83D\\uDE00"',
    '"\\ud800" ¦ "\\udc00" ¦ "\\ud800\\ud800" ¦ "\\udc00\\ud800" ¦ "\\uD800a" ¦ "\\uFFFF" ¦ "\\uFFFE"',
    '"\\uFEFF" ¦ "é" ¦ "漢字" ¦ "😀" ¦ "\u007f" ¦ "\u0080" ¦ "\u2028" ¦ "\u2029" ¦ "\ufeff" ¦ "\uffff" ¦ "/"',
    '"/* x */" ¦ "\\\\\\"" ¦ "\\\\\\\\" ¦ "\\u00e9" ¦ "\\uAbCd" ¦ "\\u005C" ¦ "\\u0022" ¦ "{}[]:," ¦ " ¦ "a',
    'a" ¦ "\\ ¦ "\\" ¦ "\\\\\\" ¦ \'\' ¦ \'a\' ¦ "a\' ¦ "\n" ¦ "\t" ¦ "\r" ¦ "\u0000" ¦ "\u001f" ¦ "a\nb"',
    '"\\a" ¦ "\\x41" ¦ "\\0" ¦ "\\\'" ¦ "\\v" ¦ "\\e" ¦ "\\ " ¦ "\\\n" ¦ "\\é" ¦ "\\U0041" ¦ "\\u" ¦ "\\u0"',
    '"\\u00" ¦ "\\u004" ¦ "\\u004G" ¦ "\\uG041" ¦ "\\u 041" ¦ "\\u+041" ¦ "\\u-041" ¦ "\\u{41}" ¦ "\\u0x41"',
    '"\\uD83D\\u" ¦ "\\uD83D\\uD" ¦ "\\uD83D\\x" ¦ "\\uD83D\\" ¦ "a" "b" ¦ "a""b" ¦ "a"b ¦ \\u0022a\\u0022',
    '“a” ¦ `a` ¦ "a"\u0000 ¦ "\\u００４１" ¦ "\\\u0000" ¦ "\\😀"',
  ],
  array: [
    '[] ¦ [ ] ¦ [1] ¦ [1,2] ¦ [[]] ¦ [[],[]] ¦ [[[[[]]]]] ¦ [{}] ¦ [null] ¦ [""] ¦ [1,"a",null,true,{}]',
    '[\n1\n,\r\n2\t] ¦ [1 , 2] ¦  [] ¦ []  ¦ [[1],{"a":[2]}]',
    '[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]',
    '[1,2,3,4,5] ¦ [ ¦ ] ¦ [1 ¦ [1, ¦ [,1] ¦ [1,] ¦ [,] ¦ [1,,2] ¦ [1 2] ¦ [1;2] ¦ [1:2] ¦ ["a":1] ¦ ["a" 1]',
    '[1} ¦ {1] ¦ [1]] ¦ [[1] ¦ [[] ¦ []] ¦ []( ¦ [1], ¦ [1],[2] ¦ [1]1 ¦ [1]x ¦ [a] ¦ [-] ¦ [.1] ¦ [1.] ¦ ["]',
    '["a] ¦ [“”] ¦ [\u000b1] ¦ [\u000c1] ¦ [\u00a01] ¦ [1\u2028] ¦ [\ufeff1] ¦ [1, \u0000] ¦ [//x\n1]',
    '[/*x*/1] ¦ [#x\n1] ¦ [...1] ¦ [1,\n ¦ [tru] ¦ [truE] ¦ [nul] ¦ [+1] ¦ [0x1] ¦ ["\\x"] ¦ [\'a\'] ¦ [][]',
    '[]{} ¦ <[]> ¦ [<null>] ¦ ["", ¦ ["a",\n4\n,1, ¦ [3[4]] ¦ [1,{] ¦ [1,{} ¦ [{} ¦ [{"a":1] ¦ [\\n]',
    '[\\u0031]',
  ],
  object: [
    '{} ¦ { } ¦ {"a":1} ¦ {"a":1,"b":2} ¦ {"a":{}} ¦ {"a":{"a":1}} ¦ {"":0} ¦ {"":""} ¦ {"a":[]}',
    '{"a\\u0000b":1} ¦ {"\\u0061":1} ¦ {"a" : 1} ¦ {\n"a"\t:\r1 } ¦ {"a":1,"b":[1,{"c":null}]} ¦ {"é":1}',
    '{"😀":1} ¦ {"a":"}"} ¦ {"a":{"b":1,"b":2}} ¦ {"a":"\\""} ¦ {"__proto__":1}',
    '{"constructor":{"prototype":1}} ¦ {"a":-0} ¦ {"}":"{"} ¦ { ¦ } ¦ {" ¦ {"a ¦ {"a" ¦ {"a": ¦ {"a":1',
    '{"a":1, ¦ {"a":1,} ¦ {,} ¦ {,"a":1} ¦ {"a":1,,"b":2} ¦ {"a" 1} ¦ {"a":} ¦ {"a"} ¦ {a:1} ¦ {\'a\':1}',
    '{1:1} ¦ {null:1} ¦ {true:1} ¦ {[]:1} ¦ {{}:1} ¦ {"a"::1} ¦ {"a":1:2} ¦ {"a",1} ¦ {"a"=1} ¦ {"a"=>1}',
    '{"a":1;"b":2} ¦ {"a":1 "b":2} ¦ {"a":1}} ¦ {{"a":1} ¦ {"a":1}{ ¦ {"a":1}{} ¦ {}{} ¦ {}1 ¦ {}x ¦ {} {}',
    '{}, ¦ {}\u0000 ¦ {} \n\t\r ¦ \n\t\r {} ¦ {}\u00a0 ¦ \u000b{} ¦ \u000c{} ¦ {"a":1}//x ¦ {"a":1}/*x*/',
    '/*x*/{} ¦ //x\n{} ¦ #x\n{} ¦ {"a":/*x*/1} ¦ {"a":1 /*x*/} ¦ {"a":"b"] ¦ {"a":[} ¦ {"a":[1} ¦ {"a":{]',
    '{"a":{"b"}} ¦ {"a":{"b":}} ¦ {"a":{"b":1,}} ¦ {"a":{,}} ¦ {"a":{1:1}} ¦ {"a":[1,]} ¦ {"a":[,]} ¦ {"a":[1}]',
    '{"a":{} ¦ {"a":" ¦ {"a":"b ¦ {"a":01} ¦ {"a":+1} ¦ {"a":.1} ¦ {"a":1.} ¦ {"a":NaN} ¦ {"a":undefined}',
    '{"a":tru} ¦ {"a":"\n"} ¦ {"a":"\\x"} ¦ {"\n":1} ¦ {"\\x":1} ¦ {"a\\":1} ¦ {"a\\\\":1} ¦ {"\\ud800":1}',
    '{ "a":1, } ¦ ({}) ¦ "{}" ¦ {"a":1] ¦ {\u00a0} ¦ {\u2028} ¦ {""} ¦ {"":} ¦ {:1} ¦ {"a":b} ¦ {"a":"b",c:1}',
    '{"a":"b","c"} ¦ {"a":"b","c": ¦ {"a":"a" 123} ¦ {"a":true"b":1} ¦ {"a":1"b":2}',
  ],
  nothing: ['  ¦ \n ¦ \r\n\t  ¦ \u0000 ¦ \u00a0 ¦ \u2028 ¦ \u000b ¦ // ¦ /**/ ¦ , ¦ : ¦ ; ¦ []: ¦ :{} ¦ -- ¦ <null>'],
}

/** Long texts: strings beyond the reach of the byte-by-byte reader, numbers beyond every precision. */
const long = [
  `1${'0'.repeat(400)}`,
  `0.${'0'.repeat(400)}1`,
  `${'['.repeat(60)}${']'.repeat(60)}`,
  `"${'x'.repeat(5000)}"`,
  `"${'x'.repeat(5000)}\\n"`,
  `"${'x'.repeat(5000)}\n"`,
  `"${'x'.repeat(5000)}\u0000"`,
  `"${'x'.repeat(4096)}\\"`,
  `"${'x'.repeat(4097)}\\""`,
  `"${'\\\\'.repeat(3000)}"`,
  `"${'\\\\'.repeat(3000)}\\"`,
  `"${'é'.repeat(4000)}"`,
  `"${'x'.repeat(300_000)}\\q"`,
  `"${'x'.repeat(300_000)}\\u00e9"`,
]

/** Bytes that are not valid UTF-8, or UTF-8 that JSON may not begin with. */
const bytes = [
  '22 80 22',
  '22 ff 22',
  '22 fe 22',
  '22 c3 22',
  '22 c0 80 22',
  '22 c1 bf 22',
  '22 e0 80 af 22',
  '22 e2 82 22',
  '22 ed a0 80 22',
  '22 ed bf bf 22',
  '22 f0 9f 98 22',
  '22 f4 90 80 80 22',
  '22 f5 80 80 80 22',
  '22 f8 88 80 80 80 22',
  '22 e9 22',
  '22 5c 75 30 30 34 31 e9 22',
  'ff',
  '80',
  'e9',
  '31 ff',
  'ef bb bf',
  'ef bb bf 7b 7d',
  'ef bb bf 31',
  'ef bb 7b 7d',
  'fe ff 00 7b 00 7d',
  'ff fe 7b 00 7d 00',
  '7b 00 7d 00',
  '00 7b 00 7d',
  '22 00 61 22',
  'c2 a0 31',
]

/**
 * Texts that JSON parsers disagree on, in the spirit of JSONTestSuite: each is tested as a whole body and as the value
 * of a member. This file does not state which of them are JSON: JSON.parse over strictly decoded UTF-8 decides.
 */
export const jsonTexts: readonly (readonly [name: string, text: Buffer])[] = [
  ...Object.entries(groups).flatMap(([group, lines]) =>
    lines.flatMap(line => line.split(' ¦ ')).map(text => [group, Buffer.from(text)] as const),
  ),
  ...long.map(text => ['long', Buffer.from(text)] as const),
  ...bytes.map(text => ['bytes', Buffer.from(text.replaceAll(' ', ''), 'hex')] as const),
].map(([group, text]) => [`${group}: ${encodeURIComponent(text.toString('latin1')).slice(0, 60)}`, text])
