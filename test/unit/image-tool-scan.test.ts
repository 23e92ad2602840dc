import t from 'tap'
import { type FoundImage, type ScanResult, tailBytes } from '../../plugins/image-tier-billing/scan-result.ts'
import { ToolAnswerScanner } from '../../plugins/image-tier-billing/scan-tool-answer.ts'
import { ToolEventScanner } from '../../plugins/image-tier-billing/scan-tool-events.ts'
import { ByteBudget } from '../../src/wire/index.ts'
import { pngHead } from '../harness/image-heads.ts'
import { leaveOut } from '../harness/left-out.ts'
import { caseName } from '../harness/case-name.ts'

const unreadable = { name: 'Unreadable' }
const unrecognised = { name: 'Unrecognised' }

function image(width: number, bytes = 60): string {
  return Buffer.concat([pngHead(width, 5), Buffer.alloc(bytes, width)]).toString('base64')
}
const found = (index: number, width: number): FoundImage => ({ index, kind: 'bytes', size: { width, height: 5 } })
const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`
const call = (id: string | undefined, result: string | null) => ({ id, type: 'image_generation_call', result })
const done = (item: object): string => event({ type: 'response.output_item.done', output_index: 0, item })
const completed = (output: object[]): string => event({ type: 'response.completed', response: { id: 'r', output } })

type Scanner = { write(chunk: Buffer): ScanResult; end(): ScanResult }

function scan(scanner: Scanner, parts: readonly Buffer[]): { out: string; done: FoundImage[] } {
  const out: Buffer[] = []
  const images: FoundImage[] = []
  for (const scanned of [...parts.map(part => scanner.write(part)), scanner.end()]) {
    out.push(...scanned.out)
    images.push(...scanned.done)
  }
  return { out: Buffer.concat(out).toString(), done: images }
}

/** Splits at every byte into two pieces, and into single bytes. */
function splits(text: string): Buffer[][] {
  const bytes = Buffer.from(text)
  const pairs = Array.from({ length: bytes.length + 1 }, (_, at) => [bytes.subarray(0, at), bytes.subarray(at)])
  return [...pairs, Array.from(bytes, byte => Buffer.of(byte))]
}

const answers: readonly (readonly [title: string, text: string, images: FoundImage[]])[] = [
  [
    'none',
    JSON.stringify({ output: [{ type: 'message', content: [{ result: 'x', type: 'image_generation_call' }] }] }),
    [],
  ],
  ['one', JSON.stringify({ id: 'r', output: [call('a', image(7))], usage: { input_tokens: 1 } }), [found(0, 7)]],
  ['its type last', `{"output":[{"result" : "${image(8)}", "type":"image_generation_call"}]}`, [found(0, 8)]],
  [
    'two of one id, which are two',
    JSON.stringify({ output: [call('a', image(7)), { type: 'message', result: 'no' }, call('a', image(9))] }),
    [found(0, 7), found(1, 9)],
  ],
  ['an empty one', JSON.stringify({ output: [call('a', ''), call('b', null)] }), []],
  [
    'escaped names, and others elsewhere',
    `{"data":[{"type":"image_generation_call","result":"AAAA"}],"o\\u0075tput":[{"type":"image_generation_c\\u0061ll","r\\u0065sult":"${image(3)}"}]}`,
    [found(0, 3)],
  ],
]

for (const [title, text, images] of answers) {
  t.test(`images of tools in an answer, split at every byte: ${title}`, async t => {
    for (const parts of splits(text)) {
      const scanned = scan(new ToolAnswerScanner(), parts)
      if (scanned.out !== text || JSON.stringify(scanned.done) !== JSON.stringify(images))
        t.same(scanned, { out: text, done: images }, caseName({ parts }))
    }
  })
}

const streams: readonly (readonly [title: string, text: string, images: FoundImage[]])[] = [
  ['none', `event: x\n${event({ type: 'response.output_text.delta', delta: 'result' })}data: [DONE]\n\n`, []],
  [
    'a preview, the image, and the image again',
    event({ type: 'response.image_generation_call.partial_image', partial_image_b64: image(5) }) +
      done(call('a', image(7))) +
      completed([call('a', image(7))]),
    [found(0, 7)],
  ],
  [
    'two, told again without their ids',
    done(call('a', image(7))) +
      done(call('b', image(8))) +
      completed([call(undefined, image(7)), call(undefined, image(8))]),
    [found(0, 7), found(1, 8)],
  ],
  [
    'without ids, told again with them',
    done(call(undefined, image(7))) + completed([{ type: 'message', result: 'no' }, call('a', image(7))]),
    [found(0, 7)],
  ],
  [
    'one that only the last event tells',
    done(call('a', image(7))) + completed([call('a', image(7)), call('b', image(9))]),
    [found(0, 7), found(1, 9)],
  ],
  ['one told twice', done(call('a', image(7))) + done(call('a', image(7))), [found(0, 7)]],
  [
    'other line ends',
    done(call('a', image(7))).replaceAll('\n', '\r\n') + done(call('b', image(8))).replaceAll('\n', '\r'),
    [found(0, 7), found(1, 8)],
  ],
  ['the last without its blank line', done(call('a', image(7))).trimEnd(), [found(0, 7)]],
]

for (const [title, text, images] of streams) {
  for (const [held, bytes] of [
    ['held whole', 1e6],
    ['with no room to hold it', 0],
  ] as const) {
    t.test(`images of tools in a stream, split at every byte, ${held}: ${title}`, async t => {
      for (const parts of splits(text)) {
        const scanned = scan(new ToolEventScanner(new ByteBudget(bytes)), parts)
        if (scanned.out !== text || JSON.stringify(scanned.done) !== JSON.stringify(images))
          t.same(scanned, { out: text, done: images }, caseName({ parts }))
      }
    })
  }
}

t.test("the last 4 KiB of an image in an answer wait until its object's type is known", async t => {
  const scanner = new ToolAnswerScanner()
  const head = `{"output":[{"result":"${image(7, 9_000)}`
  const first = scanner.write(Buffer.from(head))
  t.equal(Buffer.concat(first.out).length, head.length - tailBytes)
  const second = scanner.write(Buffer.from('","type":"image_generation_call"'))
  t.same(second.done, [])
  t.equal(Buffer.concat(second.out).length, 0)
  t.same(scanner.write(Buffer.from('}')).done, [found(0, 7)])
})

t.test(
  'nothing of an event passes before its end; without memory to hold it, all but the last 4 KiB of its image',
  async t => {
    const text = done(call('a', image(7, 9_000)))
    const cut = Buffer.from(text.slice(0, -2))
    t.equal(Buffer.concat(new ToolEventScanner(new ByteBudget(1e6)).write(cut).out).length, 0)
    const crowded = new ToolEventScanner(new ByteBudget(10))
    const out = Buffer.concat(crowded.write(Buffer.from(text.slice(0, text.lastIndexOf('"')))).out)
    t.ok(out.length > 4_000)
    t.ok(out.length <= text.lastIndexOf('"') - tailBytes)
  },
)

t.test('the memory of whole events is released', async t => {
  const budget = new ByteBudget(1_000)
  const scanner = new ToolEventScanner(budget)
  scanner.write(Buffer.from('data: {"type":"a"}\n\ndata: {"ty'))
  t.notOk(budget.take(1_000))
  scanner.close()
  scanner.close()
  t.ok(budget.take(1_000))
})

t.test('a cut or malformed answer or event is never passed to its end', async t => {
  const answer = JSON.stringify({ output: [call('a', image(7))] })
  for (let at = 1; at < answer.length; at++)
    t.throws(() => scan(new ToolAnswerScanner(), [Buffer.from(answer.slice(0, at))]), unreadable, caseName({ at }))
  t.throws(() => scan(new ToolAnswerScanner({ endUnknown: true }), []), unreadable)
  const text = done(call('a', image(7)))
  t.throws(() => scan(new ToolEventScanner(new ByteBudget(1e6)), [Buffer.from(text.slice(0, 80))]), unreadable)
  t.throws(() => scan(new ToolEventScanner(new ByteBudget(1e6)), [Buffer.from('data: {"a":1]}\n\n')]), unreadable)
})

t.test('[6.2] an image of a tool in an unknown place is not delivered', async t => {
  const item = (more: object) => ({
    output: [{ id: 'a', type: 'image_generation_call', status: 'completed', ...more }],
  })
  const rows: [string, string][] = [
    ['twice', `{"output":[{"type":"image_generation_call","result":"AAAA","result":"BBBB"}]}`],
    ['under another name', JSON.stringify(item({ image: image(7) }))],
    [
      'as a data: URL elsewhere',
      JSON.stringify({ output: [{ type: 'message', picture: `data:image/png;base64,${image(7)}` }] }),
    ],
    ['in an object', JSON.stringify(item({ result: { b64_json: 'AAAA' } }))],
    ['as a link', JSON.stringify(item({ result_url: 'https://images.example/1.png' }))],
    ['as a link in a list', JSON.stringify(item({ results: [{ href: 'https://images.example/1.png' }] }))],
    ['no JSON object', `[${JSON.stringify(item({ result: image(7) }))}]`],
  ]
  for (const [what, text] of rows) {
    const results = splits(text).map(parts => leaveOut(new ToolAnswerScanner(), parts))
    t.notMatch(results[0]?.out, /https:/, what)
    t.equal(new Set(results.map(one => one.images)).size, 1, what)
  }
  const strange = event({ type: 'response.image.done', image: image(7) })
  const result = leaveOut(new ToolEventScanner(new ByteBudget(1e6)), [Buffer.from(strange)])
  t.match(result, { shape: /^image \(a picture in base64\)$/, images: 0 })
  const edited = JSON.stringify({ output: [{ type: 'image_edit_call', result: image(7) }] })
  for (const parts of splits(edited))
    t.match(leaveOut(new ToolAnswerScanner(), parts), { out: edited, images: 1 }, `${parts.length} pieces`)
})

t.test("[6.2] a model's text, and the repeated request, are no image of a tool", async t => {
  const answer = JSON.stringify({
    instructions: `draw data:image/png;base64,${image(3)}`,
    tools: [{ type: 'image_generation', input_image_mask: { image_url: `data:image/png;base64,${image(3)}` } }],
    output: [
      {
        type: 'message',
        content: [{ type: 'output_text', text: image(4), annotations: [{ url: 'https://x.example' }] }],
      },
      { type: 'image_generation_call', id: 'a', result: null, status: 'failed' },
      { type: 'image_generation_call', id: 'b', result: image(7), revised_prompt: 'as https://x.example' },
    ],
  })
  for (const parts of splits(answer)) {
    const scanned = scan(new ToolAnswerScanner(), parts)
    if (scanned.out !== answer || scanned.done.length !== 1)
      t.same(scanned, { out: answer, done: [found(0, 7)] }, caseName({ parts }))
  }
})

t.test('[6.11] results without ids, or with one id, are one image if their bytes are equal', async t => {
  const rows: [string, string, number][] = [
    ['one id, other bytes', done(call('a', image(7))) + done(call('a', image(8))), 2],
    ['no id, other bytes told again', done(call(undefined, image(7))) + completed([call(undefined, image(8))]), 2],
    [
      'no id, the same twice in the list',
      done(call(undefined, image(7))) + completed([call('a', image(7)), call('b', image(7))]),
      2,
    ],
    [
      'lists that tell all so far',
      completed([call('a', image(7))]) + completed([call('a', image(7)), call('b', image(8))]),
      2,
    ],
  ]
  for (const [what, text, count] of rows)
    t.equal(scan(new ToolEventScanner(new ByteBudget(1e6)), [Buffer.from(text)]).done.length, count, what)
})

// Its value is not a real picture: only its position decides.
const made = '{"type":"image_generation_call","result":"AAAA"}'
const places: readonly (readonly [name: string, text: string, count: number])[] = [
  ['an item', `{"item":${made}}`, 1],
  ['an object of another name', `{"other":${made}}`, 0],
  ['a list of items', `{"item":[${made}]}`, 0],
  ['an object in an item', `{"item":{"item":${made}}}`, 0],
  ['the event itself', made, 0],
  ['the list of a response', `{"response":{"output":[${made},1,${made}]}}`, 2],
  ['another list of it', `{"response":{"outputs":[${made}]}}`, 0],
  ['a list of something else', `{"request":{"output":[${made}]}}`, 0],
  ['an object in place of the list', `{"response":{"output":{"a":${made}}}}`, 0],
  ['a list in the list', `{"response":{"output":[[${made}]]}}`, 0],
  ['an object in an object of the list', `{"response":{"output":[{"a":${made}}]}}`, 0],
  ['a list in place of the response', `{"response":[[${made}]]}`, 0],
]
for (const [name, text, count] of places)
  t.test(`a tool result counts in its known places: ${name}`, async t => {
    const scanned = scan(new ToolEventScanner(new ByteBudget(1e6)), [Buffer.from(`data: ${text}\n\n`)])
    t.same(
      scanned.done,
      Array.from({ length: count }, (_, index) => ({ index, kind: 'bytes', size: null })),
    )
  })

const wholePlaces: readonly (readonly [name: string, text: string, count: number])[] = [
  ['the list', `{"output":[${made},1,${made}]}`, 2],
  ['another list', `{"outputs":[${made}]}`, 0],
  ['an object in place of the list', `{"output":{"a":${made}}}`, 0],
  ['a list in the list', `{"output":[[${made}]]}`, 0],
  ['an object of the list', `{"output":[{"a":${made}}]}`, 0],
  ['the answer itself', made, 0],
]
for (const [name, text, count] of wholePlaces)
  t.test(`in an answer a tool result counts only in its list: ${name}`, async t => {
    t.equal(scan(new ToolAnswerScanner(), [Buffer.from(text)]).done.length, count)
  })

t.test('malformed or trailing data ends an answer or an event at once, with the reason', async t => {
  const events = (text: string) => () => new ToolEventScanner(new ByteBudget(1e6)).write(Buffer.from(text))
  const answer = (text: string) => () => new ToolAnswerScanner().write(Buffer.from(text))
  t.throws(events('data: {"a":1]'), { ...unreadable, message: 'its brackets do not match' })
  const behind = 'data after the JSON object'
  t.match(leaveOut(new ToolEventScanner(new ByteBudget(1e6)), [Buffer.from('data: {}{}\n\n')]), {
    shape: `${behind} of an event`,
  })
  t.throws(events('data: {"a":1\n\n'), { ...unreadable, message: 'an event ends before its JSON does' })
  t.throws(answer('{"a":1]'), { ...unreadable, message: 'its brackets do not match' })
  t.match(leaveOut(new ToolAnswerScanner(), [Buffer.from('{}{}')]), { shape: behind, out: '{}  ' })
  t.throws(answer('[]'), { ...unrecognised, shape: 'no JSON object' })
  t.throws(() => scan(new ToolAnswerScanner(), [Buffer.from('{')]), {
    ...unreadable,
    message: 'it ends before its JSON does',
  })
  t.throws(() => scan(new ToolAnswerScanner({ endUnknown: true }), [Buffer.from(' ')]), {
    ...unreadable,
    message: 'nothing says whether it is whole',
  })
  t.equal(scan(new ToolAnswerScanner({ endUnknown: true }), [Buffer.from('{}')]).out, '{}')
  t.equal(scan(new ToolAnswerScanner(), [Buffer.from(' ')]).out, ' ', 'nothing is whole where its end is told')
})

t.test('an image is charged when its event is delivered: at its end, or at once without memory to hold it', async t => {
  const cut = done(call('a', image(7))).slice(0, -1)
  const held = new ToolEventScanner(new ByteBudget(1e6))
  t.same(held.write(Buffer.from(cut)), { out: [], done: [] })
  t.same(held.write(Buffer.from('\n')).done, [found(0, 7)])
  t.same(new ToolEventScanner(new ByteBudget(0)).write(Buffer.from(cut)).done, [found(0, 7)])
})

t.test('each event is held whole if there is memory for it, whatever came before', async t => {
  const text = done(call('a', image(7)))
  const scanner = new ToolEventScanner(new ByteBudget(text.length))
  t.equal(
    Buffer.concat(scanner.write(Buffer.from(event({ type: 'x', delta: 'y'.repeat(text.length) }))).out).length > 0,
    true,
  )
  for (let i = 0; i < 3; i++) {
    t.same(scanner.write(Buffer.from(text.slice(0, -1))).out, [], 'nothing before its end')
    t.equal(Buffer.concat(scanner.write(Buffer.from('\n')).out).toString(), text, caseName({ i }))
  }
})
