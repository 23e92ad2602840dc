import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { scanObject } from '../../src/engine/fields.ts'
import { Failure } from '../../src/index.ts'
import { depthMax, structuralTokensMax } from '../../src/wire/index.ts'
import { counts, formCounts, unreadableSizes } from '../cases/bad-fields.ts'
import { jsonTexts } from '../cases/json-texts.ts'
import { picture, png } from '../harness/pictures.ts'
import { type Started, start, type StartOptions } from '../harness/start.ts'
import { exchangeRaw, openWire, requestHead } from '../harness/wire.ts'
import { caseName } from '../harness/case-name.ts'
import { seed, seeded } from '../harness/seed.ts'

const generations = '/v1/images/generations'
const good = { model: 'alpha-image-2', prompt: 'a boat' }

/** A gateway whose upstreams answer one picture, without request limits. */
async function startOpen(t: Test, options: StartOptions = {}): Promise<Started> {
  const started = await start(t, {
    ...options,
    edit: [['rpm: 60,', 'rpm: 100000,'], { 'models/beta-imagine-image/limits/rpm': 100000 }, ...(options.edit ?? [])],
  })
  for (const upstream of Object.values(started.upstreams)) upstream.answer({ created: 1, data: [picture(64, 64)] })
  return started
}

type ErrorBody = {
  readonly error: { readonly message: string; readonly type: string; readonly param: unknown; readonly code: string }
}

async function errorOf(answer: Response): Promise<ErrorBody['error']> {
  return ((await answer.json()) as ErrorBody).error
}

/** Nothing reached an upstream and nothing was charged. */
async function wantUntouched(t: Test, { upstreams, charges }: Started): Promise<void> {
  for (const [name, upstream] of Object.entries(upstreams))
    t.equal(upstream.received.length, 0, `${name} was not asked`)
  t.strictSame(await charges(), [], 'no charge was opened')
}

/** The longest turn of the event loop during `work`, in milliseconds. Only reported: no assertion depends on it. */
async function measureDelay(work: () => Promise<void>): Promise<number> {
  const histogram = monitorEventLoopDelay({ resolution: 5 })
  histogram.enable()
  await work()
  histogram.disable()
  return Math.round(histogram.max / 1e6)
}

type Verdict = 'accepted' | 'refused' | 'duplicate'

function verdictOfScan(bytes: Buffer): Verdict {
  try {
    scanObject(bytes)
    return 'accepted'
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return error.code === 'duplicate_field' ? 'duplicate' : 'refused'
  }
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function parseStrictly(bytes: Buffer): unknown {
  try {
    return JSON.parse(strict.decode(bytes)) as unknown
  } catch {
    return undefined
  }
}

function verdictOfParse(bytes: Buffer): Verdict {
  const value = parseStrictly(bytes)
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? 'accepted' : 'refused'
}

function asMember(text: Buffer): Buffer {
  return Buffer.concat([Buffer.from('{"first":1,"v":'), text, Buffer.from(',"last":[2]}')])
}

t.test('a body counts as JSON exactly if JSON.parse accepts it [J1]', t => {
  let accepted = 0
  for (const [name, text] of jsonTexts) {
    for (const [how, bytes] of [
      ['a whole body', text],
      ['a member', asMember(text)],
    ] as const) {
      const wanted = verdictOfParse(bytes)
      if (wanted === 'accepted') accepted++
      if (verdictOfScan(bytes) !== wanted) t.equal(verdictOfScan(bytes), wanted, `${how}, ${name}`)
    }
    const member = asMember(text)
    if (verdictOfParse(member) === 'refused') continue
    const read = Object.entries(parseStrictly(member) as object)
    // A text such as `1,"w":2` adds a member of its own.
    t.strictSame(
      scanObject(member).names(),
      read.map(([field]) => field),
      `the fields of ${name}`,
    )
    for (const [field, value] of read)
      t.ok(isDeepStrictEqual(scanObject(member).get(field), value), `the value of ${field} in ${name}`)
  }
  t.comment(`${jsonTexts.length} texts, ${accepted} of ${jsonTexts.length * 2} bodies are JSON objects`)
  t.ok(accepted > 80 && accepted < jsonTexts.length, 'both verdicts occur often')
  t.end()
})

t.test('a damaged body counts as JSON exactly if JSON.parse accepts it [J1]', t => {
  t.comment(`seed ${seed}`)
  const random = seeded(seed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const sources = [
    '{"model":"m","prompt":"a \\"boat\\" \\u00e9 \\\\ at sea","n":2,"size":"1024x1024","x":[1,-2.5e+3,{"y":null}],"z":true}',
    '{"a":{"b":{"c":[[],{},"",0,-0.0,1E5]}},"\\u0061b":"😀","é":false}',
    ' { "model" : "m" , "data" : [ { "k" : "v" } , [ ] , 12.50 ] } ',
    `{"long":"${'y'.repeat(4_200)}\\n${'z'.repeat(50)}","n":1}`,
  ].map(text => Buffer.from(text))
  const pieces = [
    ...'{ } [ ] : , " \\ \n \t 0 1 2 3 - + . e E t f n u / \''.split(' '),
    ' ',
    '\\u',
    '\\"',
    'null',
    'true',
    '\u0000',
    '\u001f',
    '\ufeff',
    '""',
  ].map(text => Buffer.from(text))
  const tally = { accepted: 0, refused: 0, duplicate: 0 }
  for (let round = 0; round < 20_000; round++) {
    let bytes: Buffer = pick(sources)
    for (let times = 1 + Math.floor(random() * 3); times > 0; times--) {
      const at = Math.floor(random() * (bytes.length + 1))
      const gone = random() < 0.5 ? 0 : Math.floor(random() * 3)
      const put =
        random() < 0.15 ? Buffer.from([Math.floor(random() * 256)]) : random() < 0.3 ? Buffer.alloc(0) : pick(pieces)
      bytes = Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + gone)])
    }
    const found = verdictOfScan(bytes)
    tally[found]++
    // A repeated name is refused as soon as it is read, whatever follows.
    if (found !== 'duplicate' && found !== verdictOfParse(bytes))
      t.fail(`seed ${seed}, round ${round}: ${found}`, { text: bytes.toString('latin1') })
  }
  t.comment(JSON.stringify(tally))
  t.ok(tally.accepted > 1_000 && tally.refused > 1_000, 'both verdicts occur often')
  t.end()
})

t.test(`a body nested more than ${depthMax} deep is refused [J2]`, async t => {
  const started = await startOpen(t)
  const nested = (levels: number): string =>
    `{"model":"alpha-image-2","prompt":"a boat","x":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
  for (const levels of [depthMax + 1, 1_000_000]) {
    const body = nested(levels)
    let answer: Response | undefined
    const delay = await measureDelay(async () => {
      answer = await started.post(generations, body)
    })
    t.equal(answer?.status, 400, `${levels} levels`)
    t.match(
      await errorOf(answer as Response),
      {
        type: 'invalid_request_error',
        code: 'body_too_complex',
        message: /64 levels/,
      },
      caseName({ levels }),
    )
    t.comment(`${levels} levels: longest turn ${delay} ms`)
  }
  await wantUntouched(t, started)
  t.equal((await started.post(generations, nested(depthMax))).status, 200, `${depthMax} levels pass`)
})

t.test(`a body of more than ${structuralTokensMax} brackets, colons and commas is refused [J3]`, async t => {
  const started = await startOpen(t)
  const before = '{"model":"alpha-image-2","prompt":"a boat","x":['
  const big = 32 * 1024 * 1024
  const keys = Array.from({ length: 1_000_000 }, (_, i) => `"k${i}":1`).join(',')
  for (const [name, body] of [
    ['32 MiB of {},', `${before}${'{},'.repeat((big - 60) / 3)}{}]}`],
    ['a million keys', `${before}{${keys}}]}`],
    ['a million top-level keys', `{"model":"alpha-image-2",${keys}}`],
  ] as const) {
    const bytes = Buffer.from(body)
    const memory = process.memoryUsage().rss
    let answer: Response | undefined
    const delay = await measureDelay(async () => {
      answer = await started.post(generations, bytes)
    })
    t.equal(answer?.status, 400, name)
    t.match(await errorOf(answer as Response), { code: 'body_too_complex', message: /200000/ }, name)
    t.comment(
      `${name}: longest turn ${delay} ms, memory ${Math.round((process.memoryUsage().rss - memory) / 2 ** 20)} MiB more`,
    )
  }
  await wantUntouched(t, started)
})

t.test('150,000 long numbers are within the bound on structure: they pass, unread, and are dropped [J3]', async t => {
  const { post, upstream, logs } = await startOpen(t)
  const body = Buffer.from(
    `{"model":"alpha-image-2","prompt":"a boat","x":[${Array(150_000).fill('1'.repeat(200)).join(',')}]}`,
  )
  let status = 0
  const delay = await measureDelay(async () => {
    status = (await post(generations, body)).status
  })
  t.comment(`${body.length} bytes: longest turn ${delay} ms`)
  t.equal(status, 200)
  t.strictSame(upstream.received[0]?.json(), good)
  t.match(await logs(1), [{ dropped: ['x'] }])
})

t.test('a repeated model is refused, plain or escaped [J4]', async t => {
  const started = await startOpen(t)
  for (const second of ['"model"', String.raw`"m\u006fdel"`, String.raw`"\u006d\u006f\u0064\u0065\u006c"`]) {
    const answer = await started.post(
      generations,
      `{"model":"beta-imagine-image","prompt":"a boat",${second}:"alpha-image-2"}`,
    )
    t.equal(answer.status, 400, second)
    t.match(await errorOf(answer), { type: 'invalid_request_error', code: 'duplicate_field', param: 'model' }, second)
  }
  await wantUntouched(t, started)
})

t.test('an escaped model name is that model, and no other field may be repeated either [J4]', async t => {
  const { post, upstream } = await startOpen(t)
  t.equal((await post(generations, String.raw`{"m\u006fdel":"alpha\u002dimage-2","prompt":"a boat"}`)).status, 200)
  t.match(upstream.received[0]?.json(), good)
  for (const field of ['prompt', 'n', 'size', 'unknown', '__proto__']) {
    const answer = await post(generations, `{"model":"alpha-image-2","${field}":1,"${field}":1}`)
    t.match(await errorOf(answer), { code: 'duplicate_field', param: field }, field)
  }
})

t.test('names of built-in object members are ordinary fields, and change no object [J5]', async t => {
  const { post, upstream, logs } = await startOpen(t)
  const trick = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'
  const body = `{"model":"alpha-image-2","prompt":"a boat","__proto__":${trick},"constructor":${trick},"background":${trick},"moderation":[${trick}]}`
  t.equal((await post(generations, body)).status, 200)
  t.equal(({} as { polluted?: unknown }).polluted, undefined)
  t.equal(
    upstream.received[0]?.body.toString(),
    `{"model":"alpha-image-2","prompt":"a boat","background":${trick},"moderation":[${trick}]}`,
    'below a field that is forwarded they are forwarded literally',
  )
  t.match(await logs(1), [{ dropped: ['__proto__', 'constructor'] }], 'as fields of their own they are dropped')
  for (const size of [trick, '"__proto__"'])
    t.equal(
      (await post(generations, `{"model":"alpha-image-2","prompt":"","size":${size}}`)).status,
      200,
      caseName({ size }),
    )
  for (const model of ['__proto__', 'constructor', 'toString', 'hasOwnProperty'])
    t.equal((await post(generations, { model, prompt: '' })).status, 404, `the model ${model}`)
  t.equal(({} as { polluted?: unknown }).polluted, undefined)
})

t.test('invalid UTF-8 is refused, and unusual text passes byte for byte [J6]', async t => {
  const started = await startOpen(t)
  const around = (prompt: string | Uint8Array): Buffer =>
    Buffer.concat([
      Buffer.from('{"model":"alpha-image-2","prompt":"'),
      Buffer.from(prompt as Uint8Array),
      Buffer.from('"}'),
    ])
  const refused: readonly (readonly [string, Buffer])[] = [
    ['a byte order mark', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), around('a boat')])],
    ['a byte that is no UTF-8', around(Buffer.from([0xff]))],
    ['a surrogate as three bytes', around(Buffer.from([0xed, 0xa0, 0x80]))],
    ['an overlong slash', around(Buffer.from([0xc0, 0xaf]))],
    ['half a character', around(Buffer.from([0xe2, 0x82]))],
    ['a NUL as it is', around(Buffer.from([0]))],
    ['UTF-16', Buffer.from(around('a boat').toString(), 'utf16le')],
    ['UTF-16 with a mark', Buffer.from(`\ufeff${around('a boat').toString()}`, 'utf16le')],
  ]
  for (const [name, body] of refused) {
    const answer = await started.post(generations, body)
    t.equal(answer.status, 400, name)
    t.match(await errorOf(answer), { type: 'invalid_request_error', code: 'invalid_json' }, name)
  }
  await wantUntouched(t, started)
  for (const prompt of [
    String.raw`\ud800`,
    String.raw`\udc00\ud800`,
    String.raw`\u0000`,
    '\u007f\u2028\u202e',
    'é漢😀',
  ]) {
    const body = around(Buffer.from(prompt))
    t.equal((await started.post(generations, body)).status, 200, encodeURIComponent(prompt))
    t.equal(started.upstream.received.at(-1)?.body.equals(body), true, `${encodeURIComponent(prompt)} is unchanged`)
  }
})

t.test('forwarded values pass byte for byte: numbers, blanks, order, escapes [J7]', async t => {
  const { post, upstream } = await startOpen(t, {
    edit: [
      [/^models:$/m, 'models:\n  echo-1: { family: plain, upstream: alpha, price: free }'],
      [/^families:$/m, 'families:\n  plain: {}'],
    ],
  })
  upstream.answer({ choices: [] })
  const body = String.raw`{ "temperature":1e999 ,"z":-0,"big":9007199254740993,"tiny":1E-400,"t":1.50,
	"model":"echo-1", "s":"\u00e9\/","nested":{"b":1,"a":[1.0,2e0],"b":2},"__proto__":{"x":0.10} }`
  t.equal((await post('/v1/chat/completions', body)).status, 200)
  t.equal(upstream.received[0]?.body.toString(), body)
})

t.test('numbers in a forwarded field keep their digits when others are removed [J7]', async t => {
  const { post, upstream } = await startOpen(t)
  await post(
    generations,
    '{"seed":1,"model":"alpha-image-2", "prompt":"a boat","output_compression":9007199254740993,"background":1e999,"moderation":-0}',
  )
  t.equal(
    upstream.received[0]?.body.toString(),
    '{"model":"alpha-image-2","prompt":"a boat","output_compression":9007199254740993,"background":1e999,"moderation":-0}',
  )
})

t.test(
  "only the fields of a family's list are forwarded; the others are dropped, and the log names them [J8]",
  async t => {
    const { post, upstreams, logs } = await startOpen(t)
    const everything = {
      prompt: 'a boat',
      n: 1,
      size: '1024x1024',
      quality: 'high',
      response_format: 'b64_json',
      output_format: 'png',
      background: 'auto',
      output_compression: 90,
      moderation: 'low',
      style: 'vivid',
      user: 'someone',
      seed: 7,
      a_field_of_tomorrow: { deep: [1] },
    }
    t.equal((await post(generations, { model: 'alpha-image-2', ...everything })).status, 200)
    const {
      response_format: _rendered,
      style: _style,
      user: _user,
      seed: _seed,
      a_field_of_tomorrow: _new,
      ...kept
    } = everything
    t.strictSame(upstreams['alpha']?.received[0]?.json(), { model: 'alpha-image-2', ...kept })
    t.match(await logs(1), [{ dropped: ['response_format', 'style', 'user', 'seed', 'a_field_of_tomorrow'] }])

    t.equal((await post(generations, { model: 'beta-imagine-image', ...everything })).status, 200)
    t.strictSame(upstreams['beta']?.received[0]?.json(), {
      model: 'beta-imagine-image',
      prompt: 'a boat',
      n: 1,
      response_format: 'b64_json',
      resolution: '1k',
      aspect_ratio: '1:1',
    })
  },
)

t.test('megabytes of client-chosen text are forwarded and not stored', async t => {
  const { post, upstreams, logs, charges } = await startOpen(t)
  const long = 'q'.repeat(2 ** 20)
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`field-${i}`, 1]))
  for (const value of [long, { long }]) {
    const answer = await post('/v1/images/generations', {
      model: 'alpha-image-2',
      prompt: 'a boat',
      size: value,
      quality: value,
      [long]: 1,
      ...many,
    })
    t.equal(answer.status, 200, caseName({ value }))
    await answer.text()
    t.strictSame(upstreams['alpha']?.received.at(-1)?.json()['quality'], value, 'whole')
    const [row] = await logs(1)
    const [charge] = await charges(1)
    t.ok(JSON.stringify(row).length < 8_192, `the row has ${JSON.stringify(row).length} characters`)
    t.equal(row?.dropped.at(-1), '… 4901 more', caseName({ value }))
    t.equal(
      charge?.quality,
      `${(typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 100)}…`,
      caseName({ value }),
    )
  }
})

t.test("a client cannot pass the upstream's own size fields around the table [J8]", async t => {
  const { post, upstreams, charges } = await startOpen(t)
  await post(generations, {
    model: 'beta-imagine-image',
    prompt: '',
    size: '1024x1024',
    resolution: '2k',
    aspect_ratio: '20:9',
  })
  t.match(upstreams['beta']?.received[0]?.json(), { resolution: '1k', aspect_ratio: '1:1' })
  t.match(await charges(), [{ tier: '1K', amount: '0.02' }])
})

t.test('a body that is no JSON object, or missing, is refused [J9]', async t => {
  const started = await startOpen(t)
  for (const body of [
    '[]',
    '[{"model":"alpha-image-2"}]',
    '"alpha-image-2"',
    '1',
    'null',
    'true',
    '',
    ' ',
    '\n',
    'model=alpha-image-2',
  ]) {
    const answer = await started.post(generations, body)
    t.equal(answer.status, 400, JSON.stringify(body))
    const error = await errorOf(answer)
    t.match(
      error,
      { type: 'invalid_request_error', code: body === '' ? 'body_missing' : 'invalid_json' },
      error.message,
    )
  }
  await wantUntouched(t, started)
})

t.test("n is a whole number from 1 to the family's bound; absent and null are 1 [J10]", async t => {
  const { post, upstreams, charges } = await startOpen(t)
  for (const model of ['alpha-image-2', 'beta-imagine-image']) {
    const upstream = upstreams[model === 'alpha-image-2' ? 'alpha' : 'beta']
    for (const { n, asked } of counts) {
      const before = upstream?.received.length
      const answer = await post(generations, { model, prompt: 'a boat', n })
      const name = `${model}, n ${JSON.stringify(n)}`
      if (asked === 'refused') {
        t.equal(answer.status, 400, name)
        t.match(await errorOf(answer), { type: 'invalid_request_error', code: 'invalid_n', param: 'n' }, name)
        t.equal(upstream?.received.length, before, `${name}: the upstream was not asked`)
      } else {
        t.equal(answer.status, 200, name)
        t.equal(upstream?.received.at(-1)?.json()['n'], n === '' ? undefined : n, `${name}: forwarded as it was sent`)
        t.match(await charges(1), [{ count: 1, state: 'settled' }], `${name}: billed by what came back`)
      }
    }
  }
  const all = await charges(200)
  t.equal(all.length, counts.filter(({ asked }) => asked !== 'refused').length * 2, 'a refused request has no charge')
  t.ok(
    all.every(({ amount }) => amount === '0.02' || amount === '0.04'),
    'and no charge is zero, negative or no number',
  )
})

t.test('n of a form is its digits [J10]', async t => {
  const { url, key, upstream, charges } = await startOpen(t)
  for (const { n, asked } of formCounts) {
    const form = new FormData()
    form.append('model', 'alpha-image-2')
    form.append('prompt', 'a boat')
    if (n !== undefined) form.append('n', n)
    form.append('image', new Blob([new Uint8Array(png(8, 8))]), 'a.png')
    const answer = await fetch(`${url}/v1/images/edits`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: form,
    })
    if (asked === 'refused') {
      t.equal(answer.status, 400, `n ${n}`)
      t.match(await errorOf(answer), { code: 'invalid_n', param: 'n' }, `n ${n}`)
    } else {
      t.equal(answer.status, 200, `n ${n}`)
      t.equal(
        (await upstream.received.at(-1)?.form())?.get('n') ?? undefined,
        n === '' || n === '0' ? undefined : n,
        caseName({ n, asked }),
      )
    }
  }
  const accepted = formCounts.filter(({ asked }) => asked !== 'refused').length
  t.equal(upstream.received.length, accepted)
  t.equal((await charges(100)).length, accepted)
})

t.test('stream is true or false: other values are refused, and null is false [J11]', async t => {
  const { post, upstream } = await startOpen(t)
  for (const stream of ['true', 'false', 1, 0, [], {}]) {
    const answer = await post(generations, { ...good, stream })
    t.equal(answer.status, 400, JSON.stringify(stream))
    t.match(
      await errorOf(answer),
      { type: 'invalid_request_error', code: 'invalid_type', param: 'stream' },
      caseName({ stream }),
    )
  }
  t.equal(upstream.received.length, 0)
  for (const stream of [false, null])
    t.equal((await post(generations, { ...good, stream })).status, 200, caseName({ stream }))
})

t.test('a body that ends early or continues after its end is refused [J12]', async t => {
  const started = await startOpen(t)
  const whole = JSON.stringify(good)
  for (const body of [
    whole.slice(0, -1),
    whole.slice(0, 10),
    `${whole}}`,
    `${whole}x`,
    `${whole}${whole}`,
    `${whole}\u0000`,
  ]) {
    const answer = await started.post(generations, body)
    t.equal(answer.status, 400, body)
    t.match(await errorOf(answer), { code: 'invalid_json' }, body)
  }
  await wantUntouched(t, started)
  t.equal((await started.post(generations, `\r\n ${whole}\n\t `)).status, 200, 'blanks around it are no matter')
})

t.test('a body shorter than its announced length reaches no upstream [J12]', async t => {
  const started = await startOpen(t)
  for (const lines of [['Content-Length: 100'], ['Transfer-Encoding: chunked']]) {
    const wire = await openWire(started.url)
    const head = requestHead('POST', generations, [
      `Authorization: Bearer ${started.key}`,
      'Content-Type: application/json',
      ...lines,
    ])
    await wire.write(
      head +
        (lines[0] === 'Transfer-Encoding: chunked' ? '40\r\n{"model":"alpha-image-2"' : '{"model":"alpha-image-2"'),
    )
    wire.socket.end()
    const answer = await wire.read().catch(() => undefined)
    if (answer) t.equal(answer.status, 400, String(lines[0]))
    await wire.ended
  }
  await wantUntouched(t, started)
})

t.test('an unreadable size is refused if the family snaps, and otherwise forwarded', async t => {
  const { post, upstreams, charges } = await startOpen(t)
  for (const size of unreadableSizes) {
    const name = JSON.stringify(size)
    const answer = await post(generations, { model: 'beta-imagine-image', prompt: 'a boat', size })
    t.equal(answer.status, 400, `family B, ${name}`)
    t.match(
      await errorOf(answer),
      { type: 'invalid_request_error', code: 'invalid_size', param: 'size' },
      caseName({ size }),
    )
    t.equal((await post(generations, { ...good, size })).status, 200, `family A, ${name}`)
    t.strictSame(upstreams['alpha']?.received.at(-1)?.json()['size'], size, `family A, ${name}: as it was sent`)
    t.match(await charges(1), [{ tier: '1K', source: 'output', amount: '0.02' }], 'and it decides no price')
  }
  t.equal(upstreams['beta']?.received.length, 0)
})

t.test("a request without a model, or with one that is no text, is refused with the field's name", async t => {
  const started = await startOpen(t)
  for (const model of [undefined, null, '']) {
    const answer = await started.post(generations, { prompt: 'a boat', model })
    t.equal(answer.status, 400, caseName({ model }))
    t.match(
      await errorOf(answer),
      {
        type: 'invalid_request_error',
        code: 'missing_required_parameter',
        param: 'model',
      },
      caseName({ model }),
    )
  }
  for (const model of [1, true, ['alpha-image-2'], { name: 'alpha-image-2' }]) {
    const answer = await started.post(generations, { prompt: 'a boat', model })
    t.equal(answer.status, 400, caseName({ model }))
    t.match(await errorOf(answer), { code: 'invalid_type', param: 'model' }, caseName({ model }))
  }
  await wantUntouched(t, started)
})

t.test('values of the wrong kind in fields that are only forwarded are left to the upstream', async t => {
  const { post, upstream } = await startOpen(t)
  const odd = { quality: 7, output_format: ['png'], background: null, moderation: { a: 1 } }
  t.equal((await post(generations, { ...good, ...odd })).status, 200)
  t.strictSame(upstream.received[0]?.json(), { ...good, ...odd })
})

t.test('a raw client gets the same refusal, with its length and a request id', async t => {
  const { url, key } = await startOpen(t)
  const body = '{"model":'
  const answer = await exchangeRaw(
    url,
    requestHead('POST', generations, [
      `x-api-key: ${key}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ]) + body,
  )
  t.match(answer, {
    status: 400,
    complete: true,
    headers: { 'content-type': 'application/json', 'x-request-id': /^req_/ },
  })
  t.equal(answer.headers['request-id'], answer.headers['x-request-id'])
  t.match(JSON.parse(answer.body.toString()), {
    error: { code: 'invalid_json', message: /it ends too early at byte 9/ },
  })
})
