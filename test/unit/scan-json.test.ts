import t from 'tap'
import { bodyRefusals } from '../../src/engine/fields.ts'
import { Failure } from '../../src/domain/index.ts'
import { depthMax, ObjectScan, structuralTokensMax } from '../../src/wire/index.ts'
import { jsonTexts } from '../cases/json-texts.ts'
import { caseName } from '../harness/case-name.ts'
import { seeded } from '../harness/seed.ts'

/** The result of scanning a text in slices: its members with all known facts, or the reason of the refusal. */
function read(text: Buffer | string, sliceBytes = Number.POSITIVE_INFINITY): readonly string[] | string {
  const bytes = Buffer.from(text)
  const scan = new ObjectScan(bytes, bodyRefusals)
  try {
    while (!scan.read(Math.min(sliceBytes, bytes.length + 1)));
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return error.message
  }
  return scan.members.map(
    ({ name, start, valueStart, end, tokens, elements }) =>
      `${name}=${bytes.toString('utf8', valueStart, end)} from ${start}, ${tokens} tokens, ${elements} elements`,
  )
}

t.test("members are found with offsets, tokens, and the number of a list's elements", async t => {
  const text = ' {"a" : 1 ,"b":[ ],"c":[[],{}],"d":{"x":[1,2]},"\\u0065":"é,[",\n"f":[1,[2,3],4] } '
  const expected = [
    'a=1 from 2, 0 tokens, undefined elements',
    'b=[ ] from 11, 1 tokens, 0 elements',
    'c=[[],{}] from 19, 4 tokens, 2 elements',
    'd={"x":[1,2]} from 31, 4 tokens, undefined elements',
    'e="é,[" from 47, 0 tokens, undefined elements',
    'f=[1,[2,3],4] from 64, 5 tokens, 3 elements',
  ]
  for (let sliceBytes = 1; sliceBytes < 90; sliceBytes++)
    t.strictSame(read(text, sliceBytes), expected, `in slices of ${sliceBytes}`)
})

t.test('a text is refused with the same message and position, in any slices', async t => {
  for (const [name, text] of jsonTexts)
    for (const body of [
      text,
      Buffer.concat([Buffer.from('{"a":'), text, Buffer.from(',"b":['), text, Buffer.from(']}')]),
    ]) {
      const whole = read(body)
      // In invalid UTF-8 a slice may end before the fault that the whole text has.
      if (body.length > 5_000 || String(whole).includes('UTF-8')) continue
      for (const sliceBytes of [1, 2, 3, 5, 8])
        if (String(read(body, sliceBytes)) !== String(whole))
          t.same(read(body, sliceBytes), whole, `${name}, in slices of ${sliceBytes}`)
    }
  t.pass(`${jsonTexts.length} texts`)
})

t.test('a text is accepted exactly if JSON.parse reads it as an object', async t => {
  const isObject = (text: Buffer): boolean => {
    try {
      const value = JSON.parse(new TextDecoder('utf8', { fatal: true, ignoreBOM: true }).decode(text)) as unknown
      return value !== null && typeof value === 'object' && !Array.isArray(value)
    } catch {
      return false
    }
  }
  for (const [name, text] of jsonTexts)
    for (const body of [text, Buffer.concat([Buffer.from('{"a":'), text, Buffer.from('}')])]) {
      const result = read(body)
      const refusedAsJson = typeof result === 'string' && result.includes('not a valid JSON object')
      if (refusedAsJson === isObject(body)) t.equal(result, isObject(body), name)
    }
})

const faults: readonly (readonly [text: string, why: string, at: number])[] = [
  ['', 'it ends too early', 0],
  [' ', 'it ends too early', 1],
  ['[]', 'an object must start with {', 0],
  ['{}x', 'extra data follows the object', 2],
  ['{} {}', 'extra data follows the object', 3],
  ['{"a"', 'it ends too early', 4],
  ['{"a" 1}', 'a colon is missing', 5],
  ['{"a":1 "b"}', 'a comma or } is missing', 7],
  ['{"a":[1 2]}', 'a comma or ] is missing', 8],
  ['{"a":[1}', 'a comma or ] is missing', 7],
  ['{a:1}', 'a member must start with a quoted name', 1],
  ['{"a":1,}', 'a member must start with a quoted name', 7],
  ['{"a":"x', 'a string is not terminated', 5],
  ['{"a', 'a string is not terminated', 1],
  ['{"a":"xyz\n"}', 'a string contains an unescaped control character', 9],
  ['{"a":"x\\y"}', 'an escape is malformed', 7],
  ['{"a":"x\\u00g0"}', 'an escape is malformed', 7],
  ['{"a":"x\\', 'an escape is malformed', 7],
  ['{"a":"x\\u00', 'an escape is malformed', 7],
  ['{"a":}', 'a value is missing or malformed', 5],
  ['{"a":[1,]}', 'a value is missing or malformed', 8],
  ['{"a":01}', 'a value is missing or malformed', 5],
  ['{"a":-}', 'a value is missing or malformed', 5],
  ['{"a":-01}', 'a value is missing or malformed', 5],
  ['{"a":trve}', 'a value is missing or malformed', 5],
  ['{"a":tru', 'a value is missing or malformed', 5],
  ['{"a":1.}', 'a number is malformed', 6],
  ['{"a":12.x}', 'a number is malformed', 7],
  ['{"a":1.5e}', 'a number is malformed', 8],
  ['{"a":1e+}', 'a number is malformed', 6],
  ['{"a":1e-x}', 'a number is malformed', 6],
  ['{"a":1e5.5}', 'a comma or } is missing', 8],
  ['{"a":1.5.5}', 'a comma or } is missing', 8],
]
for (const [text, why, at] of faults)
  t.test(`reports the error and its position: ${JSON.stringify(text)}`, async t => {
    for (const sliceBytes of [1, 2, 3, 7, 90]) {
      const result = read(text, sliceBytes)
      t.match(result, why, `in slices of ${sliceBytes}`)
      t.match(result, new RegExp(`\\b${at}\\b`), `in slices of ${sliceBytes}`)
    }
  })

t.test('invalid UTF-8 is refused with the beginning of its slice', async t => {
  const text = Buffer.concat([Buffer.from('{"a":"éé'), Buffer.of(0xc3), Buffer.from('"}')])
  t.match(read(text), /not UTF-8.*\b0\b/)
  t.match(read(text, 9), /not UTF-8.*\b10\b/, 'after a complete character')
})

/** Stretches that are read byte by byte, by words, or are long enough for a native search. */
const lengths = [...Array(34).keys(), ...Array.from({ length: 34 }, (_, i) => 262 + i)]

t.test('a byte that a string may not contain is found anywhere, and all others pass', async t => {
  for (let offset = 0; offset < 4; offset++)
    for (const length of lengths) {
      const text = `{"a":"${'x'.repeat(length)}!${'y'.repeat(11)}","b":1}`
      // A view of a larger buffer, at each offset from a word boundary.
      const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)]).subarray(offset)
      for (let byte = 0; byte < 0x80; byte++) {
        bytes[6 + length] = byte
        const scan = new ObjectScan(bytes, bodyRefusals)
        let passes = true
        try {
          passes = scan.read(1_000)
        } catch {
          passes = false
        }
        const expected = byte >= 0x20 && byte !== 0x22 && byte !== 0x5c
        if (passes !== expected) t.fail(`byte ${byte} behind ${length}, ${offset} off a word`)
      }
      bytes.write('\\n', 6 + length)
      if (!new ObjectScan(bytes, bodyRefusals).read(1_000)) t.fail(`an escape behind ${length}, ${offset} off a word`)
    }
  t.pass('all of ASCII')
})

t.test('the same message at any position of a long string, with multi-byte characters', async t => {
  for (const char of ['é', '港', '😀', '\u2028'])
    for (const length of lengths) {
      const text = `{"a":"${'x'.repeat(length)}${char.repeat(9)}"}`
      for (const sliceBytes of [1, 5, 21, 90, 300])
        t.type(read(text, sliceBytes), Array, caseName({ char, length, sliceBytes }))
    }
})

t.test('[13.5] long stretches with anything between them are read like JSON.parse, in any slices', async t => {
  const random = seeded(13)
  const between = ['\\n', '\\"', '\\\\', 'é', '港', '","b":"', '\\u00e9', '\t', '\\x', '"', '']
  for (let round = 0; round < 400; round++) {
    let text = '{"a":"'
    for (let i = 0; i < 4; i++) {
      text += 'x'.repeat(Math.floor(random() * 1_200))
      text += between[Math.floor(random() * (random() < 0.1 ? between.length : 5))] ?? ''
    }
    text += '"}'
    const whole = read(text)
    t.equal(typeof whole === 'string', !parses(text) || text.split('"b":').length > 2, text)
    for (const sliceBytes of [7, 300, 1_000]) t.same(read(text, sliceBytes), whole, caseName({ round, sliceBytes }))
  }
})

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

t.test('the maximum depth and size are read, and no more', async t => {
  const deep = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
  t.type(read(deep(depthMax)), Array)
  t.match(read(deep(depthMax + 1)), /64 levels/)
  // Next to the commas of the list: two brackets, two colons and a comma.
  const wide = (tokens: number) => `{"a":0,"b":[${'1,'.repeat(tokens - 5)}1]}`
  t.match(read(wide(structuralTokensMax)), ['a=0 from 1, 0 tokens, undefined elements', String])
  t.match(read(wide(structuralTokensMax + 1)), /200000 brackets, colons and commas/)
})

t.test('a name counts once, however it is escaped; deeper ones do not', async t => {
  t.match(read('{"a":1,"\\u0061":2}'), /"?a"?/)
  t.type(read('{"a":1,"\\u0061":2}'), 'string')
  t.type(read('{"a":1,"A":2,"b":{"a":1,"a":2}}'), Array)
  t.match(read('{"a\\\\":1,"a":2}'), ['a\\=1 from 1, 0 tokens, undefined elements', String])
})

t.test('a name of more than 4 MiB is refused', async t => {
  const named = (bytes: number) => `{"${'n'.repeat(bytes - 2)}":1}`
  t.type(read(named(4 * 1024 * 1024)), Array)
  t.match(read(named(4 * 1024 * 1024 + 1)), /a field with a longer name/)
})
