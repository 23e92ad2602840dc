import { randomBytes } from 'node:crypto'
import { createHash } from 'node:crypto'
import t from 'tap'
import { canonical } from '../../src/wire/canonical.ts'
import { fingerprintOf } from '../../plugins/image-tier-billing/idempotency.ts'
import { countCharacters } from '../../plugins/token-usage/count-characters.ts'
import { measureInTurns, measureText } from '../../plugins/token-usage/measure-text.ts'
import { pruneEvent } from '../../plugins/token-usage/prune-event.ts'
import { EventReader } from '../../plugins/token-usage/read-events.ts'
import { StreamEstimate } from '../../plugins/token-usage/stream-estimate.ts'
import { bodyRefusals, scanObject, scanObjectInTurns } from '../../src/engine/fields.ts'
import { Gather } from '../../src/engine/gather.ts'
import { type LongTurn, Stopwatch, EventLoopWatch } from '../../src/engine/event-loop-watch.ts'
import { Failure, type Json } from '../../src/domain/index.ts'
import { imageToolOf } from '../../src/plugin-api/index.ts'
import { systemClock } from '../../src/util/index.ts'
import { ObjectScan, parseJson } from '../../src/wire/index.ts'
import { jsonTexts } from '../cases/json-texts.ts'
import { around, fill, jsonBodies } from '../growth/bodies.ts'
import { caseName } from '../harness/case-name.ts'
import { seed, seeded } from '../harness/seed.ts'

const random = seeded(seed)
t.comment(`seed ${seed}`)

const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T

function bodyOf(bytes: Buffer) {
  return { kind: 'json', json: scanObject(bytes) } as const
}

/** The result of scanning a text in slices of this many bytes. */
function verdictOf(bytes: Buffer, sliceBytes: number): string {
  const scan = new ObjectScan(bytes, bodyRefusals)
  try {
    while (!scan.read(sliceBytes));
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return error.code
  }
  return scan.members.map(({ name, start, valueStart, end }) => `${name} ${start} ${valueStart} ${end}`).join('\n')
}

t.test('[6.1] a body read in slices of any size equals one read whole', t => {
  const bodies = jsonTexts.flatMap(([, text]) => [text, around('{"a":', text, ',"b":[', text, ']}')])
  for (const body of bodies) {
    const whole = verdictOf(body, body.length + 1)
    for (const sliceBytes of [1, 2, 3, 7, 64, 1000]) {
      if (body.length > 10_000 && sliceBytes < 64) continue
      if (verdictOf(body, sliceBytes) !== whole)
        t.equal(verdictOf(body, sliceBytes), whole, `${sliceBytes}: ${body.toString('latin1').slice(0, 80)}`)
    }
  }
  t.pass(`${bodies.length} texts`)
  t.end()
})

const atoms = [
  'a',
  '\\n',
  '\\u0041',
  '\\ud83d\\ude00',
  '\\ud800',
  '\\udc00',
  '港',
  '😀',
  '\\"',
  '\\\\',
  '\\/',
  '{',
  ']',
  ',',
  ':',
  ' ',
]

function randomString(): string {
  const length = random() < 0.003 ? 20_000 : random() * 20
  let text = ''
  for (let i = 0; i < length; i++) text += pick(atoms)
  return `"${text}"`
}

function randomText(depth: number): string {
  const kind = random()
  if (depth > 5 || kind < 0.4) return randomString()
  if (kind < 0.55)
    return pick(['1', '-0', '1e5', '-1.50E-3', 'true', 'false', 'null', '12345678901234567890', '01', '1.', 'nul'])
  const blank = pick(['', '', ' ', '\n\t', '\r\n'])
  const count = Math.floor(random() * 6)
  if (kind < 0.75)
    return `[${blank}${Array.from({ length: count }, () => randomText(depth + 1)).join(`${blank},`)}${blank}]`
  const members = Array.from({ length: count }, () => `${randomString()}${blank}:${randomText(depth + 1)}`)
  return `{${members.join(`,${blank}`)}${blank}}`
}

t.test('[6.1] each of thousands of made-up texts is JSON exactly if JSON.parse accepts it', t => {
  let accepted = 0
  for (let i = 0; i < 4_000; i++) {
    const text = `{"first":${randomText(0)},"second":${randomText(0)}${pick(['}', '}', '}', '', ']', '}x'])}`
    const bytes = Buffer.from(text)
    const found = verdictOf(bytes, bytes.length)
    let parsed: { [name: string]: Json } | undefined
    try {
      JSON.parse(text)
      // V8 may return wrong names if they contain escapes (nodejs/node issue 63785).
      parsed = parseJson(text) as { [name: string]: Json }
    } catch {
      parsed = undefined
    }
    if (parsed) accepted++
    if ((found === 'invalid_json') === (parsed !== undefined)) t.fail(`seed ${seed}, round ${i}: ${found}`, { text })
    if (!parsed) continue
    const json = scanObject(bytes)
    for (const name of ['first', 'second']) {
      if (JSON.stringify(json.get(name)) !== JSON.stringify(parsed[name]))
        t.fail(`seed ${seed}, round ${i}: ${name}`, { text })
      const list = parsed[name]
      if (json.elements(name) !== (Array.isArray(list) ? list.length : undefined))
        t.fail(`elements of ${name}, seed ${seed}, round ${i}`, { text })
    }
  }
  t.comment(`${accepted} of 4000 are JSON`)
  t.ok(accepted > 1_000 && accepted < 3_500, 'both verdicts occur often')
  t.end()
})

t.test('[6.1] a fingerprint is unchanged, however long the body is', async t => {
  const before = (bytes: Buffer): string =>
    createHash('sha256')
      .update(canonical(['/path', parseJson(bytes.toString())]))
      .digest('hex')
  for (const [kind, make] of Object.entries(jsonBodies))
    for (const bytes of [100, 20_000, 300_001]) {
      const body = make(bytes)
      t.equal(await fingerprintOf('/path', bodyOf(body)), before(body), `${kind}, ${bytes}`)
    }
  for (let i = 0; i < 500; i++) {
    const body = Buffer.from(`{"a":${randomText(0)},"\\u0062":${randomText(0)},"a1":[${randomString()}]}`)
    if (verdictOf(body, body.length) === 'invalid_json') continue
    if ((await fingerprintOf('/path', bodyOf(body))) !== before(body)) t.fail(`seed ${seed}, round ${i}`)
  }
})

t.test('[6.1] other work runs while a long body is read', async t => {
  const body = (jsonBodies['Chinese, escaped'] as (bytes: number) => Buffer)(8 * 1024 * 1024)
  let slices = 0
  let turns = 0
  let reading = true
  const other = (): void => {
    turns++
    if (reading) setImmediate(other)
  }
  setImmediate(other)
  const json = await scanObjectInTurns(body, slice => {
    slices++
    return slice()
  })
  reading = false
  t.strictSame(json.names(), ['model', 'messages'])
  t.equal(slices, 33, 'slices of 256 KiB')
  t.ok(turns >= slices, `${turns} turns of others`)
  const small = Buffer.from('{"model":"m"}')
  await scanObjectInTurns(small, () => t.fail('a short one needs none'))
})

t.test('[6.1] changes to a body are written once, in the order they were sent', t => {
  const json = scanObject(Buffer.from('{ "a" : 1 ,"b":[1, 2],\n"c":"x"}'))
  const changed = json.with(
    new Map<string, Json | undefined>([
      ['b', undefined],
      ['a', 'é'],
      ['new', { x: 1 }],
    ]),
  )
  t.equal(changed.bytes.toString(), '{"a":"é","c":"x","new":{"x":1}}')
  t.equal(changed.bytes, changed.bytes, 'once')
  t.equal(changed.pick(name => name === 'c').bytes.toString(), '{"c":"x"}')
  t.equal(changed.pick(() => false).bytes.toString(), '{}')
  t.same(changed.get('new'), { x: 1 })
  t.equal(changed.raw('a')?.toString(), '"é"')
  t.end()
})

t.test('[6.1] a field too long for one turn is refused if it is read, and passes if it is not', t => {
  const long = bodyOf(around('{"model":"', fill(4_200_000, 'm'), '","n":1}'))
  t.throws(() => long.json.get('model', 4_194_304), { code: 'field_too_long', param: 'model' })
  t.equal(long.json.get('n', 4_194_304), 1)
  t.equal((long.json.get('model') as string).length, 4_200_000, 'without a bound it is read')
  const crowded = bodyOf(around('{"model":[', fill(120_000, '1,'), '1]}'))
  t.throws(() => crowded.json.get('model', 4_194_304), { code: 'body_too_complex', param: 'model' })
  t.end()
})

t.test('[6.1] a tool that makes images is found in any spelling, and a long list of others is not parsed', t => {
  const others = around('{"tools":[{"type":"function","name":"', fill(3_000_000, 'x'), '"}]}')
  t.equal(imageToolOf(bodyOf(others)), undefined)
  for (const type of ['image_generation', 'image\\u005fgeneration'])
    t.ok(imageToolOf(bodyOf(Buffer.from(`{"tools":[{"type":"${type}"}]}`))), type)
  t.ok(imageToolOf(bodyOf(Buffer.from('{"tools":"image_generation"}'))), 'a text in their place')
  t.end()
})

t.test('[6.1] a text that arrives byte by byte is assembled, announced or not', t => {
  const text = Buffer.from('a body that comes in pieces of many sizes '.repeat(4_000))
  for (const announced of [undefined, text.length])
    for (const sizes of [[1], [1, 3, 9_000], [4_096, 65_536, 1], [text.length]]) {
      const gather = new Gather(announced)
      for (let at = 0, i = 0; at < text.length; i++) {
        const size = sizes[i % sizes.length] as number
        gather.add(text.subarray(at, at + size))
        at += size
      }
      t.equal(gather.length, text.length, caseName({ announced, sizes }))
      t.ok(
        gather.take().equals(text),
        `${announced === undefined ? 'of unknown length' : 'announced'}, ${sizes.join(' ')}`,
      )
    }
  t.equal(new Gather(0).take().length, 0)
  t.end()
})

t.test('[13.5] a copied chunk is freed only if no other code has it', t => {
  const text = randomBytes(200_000)
  for (const announced of [undefined, text.length])
    for (const isOurs of [true, false]) {
      const gather = new Gather(announced)
      const chunks: Buffer[] = []
      for (let at = 0; at < text.length; at += 50_000) {
        const chunk = Buffer.allocUnsafeSlow(50_000)
        text.copy(chunk, 0, at)
        chunks.push(chunk)
        gather.add(chunk, isOurs)
      }
      const name = caseName({ announced, isOurs })
      t.ok(gather.take().equals(text), name)
      const isFreed = isOurs && announced !== undefined
      t.same(new Set(chunks.map(chunk => chunk.length)), new Set([isFreed ? 0 : 50_000]), name)
    }
  t.end()
})

t.test('[6.1] characters are counted without parsing a long text', t => {
  for (const unit of [
    'abc',
    '港口',
    '😀',
    '\\n',
    '\\u6e2f',
    '\\ud83d\\ude00',
    '\\ud800',
    '\\uD83D\\uDE00x',
    '\\ud83dx\\ude00',
    '\\ud83d\\u0041',
    '\\\\u0041',
  ]) {
    const text = fill(80_000, unit)
    const body = bodyOf(around('{"input":"', text, '"}'))
    t.equal(countCharacters(body, 'input'), Array.from(JSON.parse(`"${text.toString()}"`) as string).length, unit)
    t.equal(countCharacters(body, 'input'), countCharacters(body, 'input'), 'and again')
  }
  t.equal(countCharacters(bodyOf(around('{"input":[', fill(80_000, '1,'), '1]}')), 'input'), null)
  t.equal(countCharacters(bodyOf(Buffer.from('{"input":"a"}')), 'none'), null)
  t.end()
})

t.test('[6.1] a long body measured in turns equals one measured at once', async t => {
  const file = fill(700_000, 'QUJD')
  const body = around('{"a":"', file, '","b":"', fill(900_000, 'word '), '","c":"', file, 'x"}')
  await measureInTurns(body)
  t.same(measureText(body), measureText(Buffer.from(body)))
  t.equal(measureText(body).files, 2)
  t.equal(measureInTurns(body.subarray(0, 1000)), undefined, 'a short one does not wait')
})

t.test('[13.5] a file ends at the same byte at any memory offset, in any slices', async t => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_'
  for (let offset = 0; offset < 2; offset++)
    for (let more = 0; more < 12; more++)
      for (const after of ['"', ' ', ',.', '.,', '\\"', '\u00ff', '@', '`', '']) {
        const file = alphabet.repeat(40).slice(0, 2_048 + more)
        const text = Buffer.from(`${' '.repeat(offset)}${file}${after}`)
        const moved = Buffer.concat([Buffer.alloc(offset), text]).subarray(offset)
        t.same(
          measureText(moved),
          { textBytes: text.length - file.length, files: 1 },
          caseName({ offset, more, after }),
        )
      }
})

t.test('[6.1] a large event keeps its usage, and nothing long', t => {
  const event = {
    type: 'response.completed',
    candidates: [{ finishReason: 'STOP', content: 'x'.repeat(5_000) }],
    choices: [],
    numbers: Array.from({ length: 10_000 }, (_, i) => i),
    text: '"quoted" \\ \n'.repeat(1_000),
    response: {
      output: [{ content: [{ text: 'x'.repeat(100_000) }] }],
      usage: { input_tokens: 1, details: { cached: 2 } },
    },
  }
  const pruned = pruneEvent(Buffer.from(JSON.stringify(event, undefined, 1)))
  const { length } = JSON.stringify(pruned)
  t.ok(length < 2_500, `${length} bytes`)
  t.match(pruned, {
    type: 'response.completed',
    candidates: [{ finishReason: 'STOP' }],
    choices: [],
    response: { usage: { input_tokens: 1, details: { cached: 2 } } },
  })
  for (const text of ['', '[', '}}}', '"', '{"a":"', '[1,2', '{"a":"\\'])
    t.doesNotThrow(() => pruneEvent(Buffer.from(text)), text)
  t.end()
})

t.test('[6.1] an event is read up to its whole bound, however it was split', t => {
  const data = Buffer.alloc(60_000, 'x')
  const stream = around('data: ', data, '\n\n')
  for (const chunkBytes of [1_000, 40_000, stream.length]) {
    const lengths: number[] = []
    const reader = new EventReader(one => lengths.push(one.length) < 0, { removes: false, bytesMax: 65_536 })
    for (let at = 0; at < stream.length; at += chunkBytes) reader.write(stream.subarray(at, at + chunkBytes))
    t.strictSame(lengths, [60_000], `${chunkBytes}`)
  }
  t.end()
})

t.test('[6.1] the common part of two events is the same natively and byte by byte', t => {
  for (let i = 0; i < 2_000; i++) {
    const text = Buffer.alloc(Math.floor(random() * 1_000), pick(['abc', 'x']))
    const [a, b] = [damaged(text), damaged(text)] as const
    const estimate = new StreamEstimate(1)
    estimate.add(a)
    const first = estimate.tokens
    estimate.add(b)
    const wanted = Math.max(1, differing(a, b))
    if (estimate.tokens - first !== wanted) t.equal(estimate.tokens - first, wanted, `seed ${seed}, round ${i}`)
  }
  t.pass('2000 pairs')
  t.end()
})

function damaged(text: Buffer): Buffer {
  const copy = Buffer.from(text.subarray(0, Math.floor(text.length * (0.5 + random() / 2))))
  for (let times = Math.floor(random() * 3); times > 0 && copy.length > 0; times--)
    copy[Math.floor(random() * copy.length)] = 0x79
  return copy
}

function differing(a: Buffer, b: Buffer): number {
  const most = Math.min(a.length, b.length)
  let from = 0
  while (from < most && a[from] === b[from]) from++
  let after = 0
  while (after < most - from && a[a.length - 1 - after] === b[b.length - 1 - after]) after++
  return b.length - from - after
}

t.test('[6.1] a turn that a request blocked is reported, with its longest step', async t => {
  const longTurns: LongTurn[] = []
  const turns = new EventLoopWatch(systemClock, turn => longTurns.push(turn), 50)
  const ago = (ms: number): number => performance.now() - ms
  turns.took('req_a', 'body', ago(20))
  turns.took('req_a', 'request', ago(35))
  turns.took('req_b', 'request', ago(30))
  turns.took('req_c', 'answer', ago(0))
  await nextTurn()
  t.match(
    longTurns,
    [{ request: 'req_a', step: 'request' }],
    'steps of one turn add up; those of another request do not',
  )
  turns.took('req_b', 'request', ago(30))
  await nextTurn()
  t.equal(longTurns.length, 1, 'another turn begins anew')
  const stopwatch = new Stopwatch(turns, 'req_d')
  stopwatch.run('body', () => {
    stopwatch.run('answer', () => burn(60))
  })
  await nextTurn()
  t.match(longTurns[1], { request: 'req_d', step: 'body' }, 'work inside of work is counted once')
  t.ok((longTurns[1]?.ms ?? 0) < 10_000)
})

function burn(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

function nextTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(() => setImmediate(resolve)))
}
