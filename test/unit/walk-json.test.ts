import t from 'tap'
import { JsonWalk, type JsonVisitor } from '../../src/wire/index.ts'
import { jsonTexts } from '../cases/json-texts.ts'
import { caseName } from '../harness/case-name.ts'

/** Walks a text in two pieces. */
function walk(text: string, cut: number): { readonly walk: JsonWalk; readonly scalars: readonly string[] } {
  const scalars: string[] = []
  const walked = new JsonWalk({
    string: () => 'skip',
    bytes: () => undefined,
    bytesEnd: () => undefined,
    scalar: (_, value) => void scalars.push(value),
  })
  const bytes = Buffer.from(text)
  walked.walk(bytes.subarray(0, cut), 0)
  walked.walk(bytes.subarray(cut), cut)
  return { walk: walked, scalars }
}

const long = `0.${'1'.repeat(254)}`

t.test('numbers and literals of JSON are read completely however they are split', async t => {
  for (const value of ['true', 'false', 'null', '0', '-0', '10', '1.25', '1e10', '1E+100', '2.5e-300', long]) {
    const text = `{"a":${value},"b":[${value}]}`
    for (let cut = 0; cut <= text.length; cut++) {
      const { walk: walked, scalars } = walk(text, cut)
      t.strictSame([walked.fault, walked.complete, scalars], [undefined, true, [value, value]], `${text} cut at ${cut}`)
    }
  }
})

t.test('any other token ends the walk', async t => {
  for (const value of ['01', '1.', '.5', '1e', '1e+', '+1', '--1', 'tru', 'NaN', 'True', '0x10', `${long}1`])
    t.ok(walk(`{"a":${value}}`, 7).walk.fault, value)
})

/** Records all events of a text in pieces; content of strings that arrived in several pieces is joined. */
function tell(text: Buffer | string, cuts: readonly number[], read: 'skip' | 'bytes' = 'bytes') {
  const told: string[] = []
  let content = ''
  const walked = new JsonWalk({
    name: walk => void told.push(`${walk.path()} named ${walk.nameFrom}-${walk.nameTo}`),
    string: (walk, at) => {
      told.push(`${walk.path()} string ${at}`)
      return read
    },
    bytes: (piece, from, to) => void (content += piece.toString('utf8', from, to)),
    bytesEnd: (walk, at) => {
      told.push(`${walk.path()} is ${content}, to ${at}`)
      content = ''
    },
    scalar: (walk, value) => void told.push(`${walk.path()} is ${value}`),
    opened: (walk, isObject) => void told.push(`${walk.path()} begins ${isObject ? '{' : '['}`),
    closed: (walk, depth) => void told.push(`${walk.path()} ends, ${depth} deep`),
  })
  const bytes = Buffer.from(text)
  const places = [0, ...cuts, bytes.length]
  for (let i = 1; i < places.length; i++) walked.walk(bytes.subarray(places[i - 1], places[i]), places[i - 1] as number)
  return { walk: walked, told }
}

const every = (text: Buffer | string): number[] => Array.from({ length: Buffer.from(text).length }, (_, i) => i)

t.test('every value is reported at its place, however it is split', async t => {
  const text = String.raw`{"a" : "\\\"x", "b":[ {"c\u0064":true},"",[0]],"e":{}}`
  const expected = [
    'a named 1-4',
    'a string 7',
    String.raw`a is \\\"x, to 13`,
    'b named 16-19',
    'b begins [',
    'b[] begins {',
    'b[].cd named 23-32',
    'b[].cd is true',
    'b[].cd ends, 3 deep',
    'b[] string 39',
    'b[] is , to 40',
    'b[] begins [',
    'b[][] is 0',
    'b[][] ends, 3 deep',
    'b[] ends, 2 deep',
    'e named 47-50',
    'e begins {',
    'e. ends, 2 deep',
    'e ends, 1 deep',
  ]
  for (const cuts of [[], every(text), ...every(text).map(cut => [cut])])
    t.strictSame(tell(text, cuts).told, expected, `cut at ${cuts.length > 1 ? 'every byte' : cuts.join('')}`)
})

t.test('a string may begin and end anywhere, with any backslashes', async t => {
  for (const content of ['', '\\\\', '\\"', '\\\\\\"', '\\\\\\\\', 'x\\\\', '\\\\x\\"', '\\\\\\"\\\\']) {
    const text = `{"a":"${content}","${content}":["${content}"]}`
    for (const cuts of [[], every(text), ...every(text).map(cut => [cut])]) {
      const { walk, told } = tell(text, cuts)
      t.ok(walk.complete && walk.fault === undefined, `${text} cut at ${cuts.join()}`)
      t.equal(told.filter(one => one.includes(` is ${content}, to `)).length, 2, caseName({ content, cuts }))
    }
  }
})

t.test('skipped strings are reported only with their beginning', async t => {
  t.strictSame(tell('{"a":"\\"x","b":["y"]}', [8], 'skip').told, [
    'a named 1-4',
    'a string 5',
    'b named 11-14',
    'b begins [',
    'b[] string 16',
    'b[] ends, 2 deep',
    'b ends, 1 deep',
  ])
})

t.test('a selective visitor gets only what it requests', async t => {
  const texts: string[] = []
  const visitor: JsonVisitor = {
    string: () => 'bytes',
    bytes: (piece, from, to) => void texts.push(piece.toString('utf8', from, to)),
    bytesEnd: () => undefined,
  }
  const walked = new JsonWalk(visitor)
  walked.walk(Buffer.from('{"a":1,"b":[{"c":"x"}]}'), 0)
  t.strictSame([texts, walked.complete], [['x'], true])
})

t.test('only valid JSON is walked to its end', async t => {
  const isObject = (text: string): boolean => {
    try {
      // The content of strings does not matter here.
      const value = JSON.parse(text.replaceAll(/"(?:\\[^]|[^"\\])*"/g, '""')) as unknown
      return value !== null && typeof value === 'object' && !Array.isArray(value)
    } catch {
      return false
    }
  }
  let objects = 0
  // Leaves out numbers without an end; byte order marks are skipped.
  for (const [name, text] of jsonTexts.filter(([name]) => !/^(?:long|bytes)/.test(name)))
    for (const body of [
      text,
      Buffer.concat([Buffer.from('{"a":'), text, Buffer.from(',"b":['), text, Buffer.from(']}')]),
    ]) {
      const expected = isObject(body.toString())
      if (expected) objects++
      for (const cuts of [[], every(body)]) {
        const { walk } = tell(body, cuts)
        const isWalked = walk.complete && !walk.foreign && !walk.followed && walk.fault === undefined
        if (isWalked !== expected) t.equal(isWalked, expected, `${name}: ${body.toString()}`)
      }
    }
  t.ok(objects > 100, `${objects} objects`)
})

const faults: readonly (readonly [string, string])[] = [
  ['{,', 'unexpected comma'],
  ['{"a":1,,', 'unexpected comma'],
  ['{:', 'unexpected colon'],
  ['{"a"::', 'unexpected colon'],
  ['{"a":1: ', 'a value is neither a number nor a word'],
  ['{"a":1 :', 'unexpected colon'],
  ['{1', 'it is not JSON'],
  ['{"a" 1', 'it is not JSON'],
  ['{"a":"b" 1', 'it is not JSON'],
  ['{[', 'unexpected bracket'],
  ['{"a":1 {', 'unexpected bracket'],
  ['{"a":{}[', 'unexpected bracket'],
  [']', 'no object'],
  ['{]', 'its brackets do not match'],
  ['{"a":[}', 'its brackets do not match'],
  ['{"a":[1,]', 'its brackets do not match'],
  ['{"a":1,}', 'its brackets do not match'],
  ['{"a"}', 'its brackets do not match'],
  ['{"a":}', 'its brackets do not match'],
  ['{"a":"b" "', 'unexpected string'],
  ['{"a" "', 'unexpected string'],
  ['{"a":1x ', 'a value is neither a number nor a word'],
  [`{"a":${'1'.repeat(257)}`, 'a value is neither a number nor a word'],
  [`{"a":${'['.repeat(64)}`, 'it is nested deeper than 64 levels'],
]
for (const [text, why] of faults)
  t.test(`invalid JSON is reported at once, and nothing after it: ${text.slice(0, 12)}`, async t => {
    for (const cuts of [[], every(text)]) {
      const { walk } = tell(text, cuts)
      t.equal(walk.foreign ? 'no object' : walk.fault, why, caseName({ cuts }))
      t.equal(tell(text.slice(0, -1), []).walk.fault, undefined, 'not before')
      const more = tell(`${text}"x":1,{"y":2}]}`, cuts)
      t.strictSame(more.told, tell(text, cuts).told, caseName({ cuts }))
    }
  })

t.test('64 levels are walked', async t => {
  const text = `{"a":${'['.repeat(63)}${']'.repeat(63)}}`
  t.match(tell(text, []).walk, { fault: undefined, complete: true, depth: 0 })
})

t.test('a text other than an object is foreign, and trailing data is detected', async t => {
  for (const text of ['[', 'x', '"', '1', ':', '\0', '\ufeff[', '\xa0{}', '{"a"\0:1}', '{\0']) {
    const { walk, told } = tell(`${text}{"a":1}`, [])
    t.equal(walk.foreign, true, JSON.stringify(text))
    t.notOk(told.includes('a is 1'), caseName({ text }))
  }
  for (const text of ['\ufeff{}', ' \r\n\t{}', '{} \r\n\t'])
    for (const cuts of [[], every(text)])
      t.match(tell(text, cuts).walk, { foreign: false, complete: true, followed: false }, JSON.stringify(text))
  for (const text of ['{}{}', '{} x', '{}]', '{},', '{}\ufeff', '{}\0'])
    for (const cuts of [[], every(text)])
      t.match(tell(text, cuts).walk, { foreign: false, complete: true, followed: true }, JSON.stringify(text))
})

t.test('a name is its decoded text, up to 192 characters, and empty if it is escaped wrongly', async t => {
  const nameOf = (raw: string, isCut = false): string => {
    const text = `{"${raw}":`
    return tell(text, isCut ? every(text) : []).walk.name
  }
  for (const isCut of [false, true]) {
    t.equal(nameOf('x'.repeat(192), isCut), 'x'.repeat(192), caseName({ isCut }))
    t.equal(nameOf('x'.repeat(193), isCut), '', caseName({ isCut }))
    t.equal(nameOf('x'.repeat(1_000), isCut), '', caseName({ isCut }))
  }
  t.equal(nameOf('\\u0075r\\u006c'), 'url')
  t.equal(nameOf('a\\"\\\\'), 'a"\\')
  t.equal(nameOf('a\\x'), '')
  for (const isCut of [false, true]) t.equal(nameOf('naïve 港\\u6e2f', isCut), 'naïve 港港', caseName({ isCut }))
  t.equal(nameOf('a\tb'), 'a\tb', 'unchanged')
})

/** Records the events of a walk whose visitor decides by member, element or value. */
function tellPassed(text: string, cuts: readonly number[], loose = false) {
  const told: string[] = []
  const walked = new JsonWalk({
    loose,
    name({ name }) {
      if (name.startsWith('keep')) return Number(name.slice(4))
      return name === 'skip' ? 'skip' : undefined
    },
    kept: (walk, bytes) => void told.push(`${walk.path()} kept ${bytes.toString()}`),
    string: walk => (walk.path() === 'rest[]' && told.includes('2') ? 'rest' : 'skip'),
    bytes: () => undefined,
    bytesEnd: () => undefined,
    scalar(_, value) {
      told.push(value)
      return value === '-1' ? 'rest' : undefined
    },
    opened(walk, isObject) {
      told.push(`${walk.path()} begins`)
      if (walk.path() === 'rest[]' && isObject) return 'rest'
      return walk.path() === 'skipped' ? 'skip' : undefined
    },
    closed: (walk, depth) => void told.push(`${walk.path()} ends, ${depth} deep`),
  })
  const bytes = Buffer.from(text)
  const places = [0, ...cuts, bytes.length]
  for (let i = 1; i < places.length; i++) walked.walk(bytes.subarray(places[i - 1], places[i]), places[i - 1] as number)
  return { walk: walked, told }
}

/** The events of each text, without the end of the object. */
const passed: readonly (readonly [name: string, text: string, told: readonly string[]])[] = [
  ['a value that is not wanted', '{"skip":[1,{"a":"]\\"}"},[]],"b":2,"skip": 3 ,"skip":"\\\\"}', ['2']],
  [
    'a value that is kept',
    '{"keep20": {"a":["}",1]} ,"keep4":true}',
    ['keep20 kept  {"a":["}",1]} ', 'keep4 kept true'],
  ],
  ['a value longer than what is kept', '{"keep4":12345,"keep4":"123","a":1}', ['1']],
  ['a list by its brackets', '{"skipped":[1,[{"a":"]"}]],"b":2}', ['skipped begins', '2']],
  [
    'the rest of a list behind a number',
    '{"rest":[1,-1,3,{"a":"}"},"]"],"b":4}',
    ['rest begins', '1', '-1', 'rest[] ends, 2 deep', '4'],
  ],
  [
    'the rest of a list from a string on',
    '{"rest":["a",2,"]\\"",3],"b":4}',
    ['rest begins', '2', 'rest[] ends, 2 deep', '4'],
  ],
  [
    'the rest of a list from an object on',
    '{"rest":[1,{"a":[1]},3,[]],"b":4}',
    ['rest begins', '1', 'rest[] begins', 'rest[] ends, 2 deep', '4'],
  ],
]
for (const [name, text, expected] of passed)
  t.test(`skipped content is not reported, however it is split: ${name}`, async t => {
    for (const cuts of [[], every(text), ...every(text).map(cut => [cut])]) {
      const { walk, told: found } = tellPassed(text, cuts)
      t.match(walk, { complete: true, fault: undefined, followed: false }, caseName({ cuts }))
      t.match(found.pop(), / ends, 1 deep$/, caseName({ cuts }))
      t.strictSame(found, expected, `${text} cut at ${cuts.length > 1 ? 'every byte' : cuts.join('')}`)
    }
  })

t.test('a loose walk accepts a list too, and several texts', async t => {
  const text = '\ufeff[{"a":1},2]\n{"b":3}\r\n[4]'
  for (const cuts of [[], every(text), ...every(text).map(cut => [cut])]) {
    const { walk, told } = tellPassed(text, cuts, true)
    t.match(walk, { complete: true, fault: undefined, followed: false, foreign: false }, caseName({ cuts }))
    t.strictSame(
      told,
      ['[] begins', '1', '[].a ends, 2 deep', '2', '[] ends, 1 deep', '3', 'b ends, 1 deep', '4', '[] ends, 1 deep'],
      caseName({ cuts }),
    )
  }
  t.equal(tellPassed('[1] x', [], true).walk.followed, true)
  t.equal(tellPassed('"a"', [], true).walk.foreign, true)
})

t.test('at each byte it is known whether a name awaits its value, and whether the object is open', async t => {
  const text = ' { "a" : 1 ,"b":[ "c", true ],"d":{"e":"f" } } '
  const wanted = '   nnnnnn   nnnn              nnnn nnnn        '
  for (const [i] of Array.from(text).entries()) {
    const { walk } = tell(text.slice(0, i + 1), [])
    t.equal(walk.naming, wanted[i] === 'n', `naming behind ${text.slice(0, i + 1)}`)
    t.equal(walk.open, i > 0 && i < text.length - 2, `open behind ${text.slice(0, i + 1)}`)
  }
})
