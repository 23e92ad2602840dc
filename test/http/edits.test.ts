import { spawn, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import busboy from 'busboy'
import OpenAI, { toFile } from 'openai'
import OpenAI4 from 'openai4'
import OpenAI6 from 'openai6'
import t, { type Test } from 'tap'
import { readForm } from '../../src/simulator/read-form.ts'
import { acceptedForms, refusedForms } from '../cases/forms.ts'
import { type Edited, filesOf, readParts, type SeenPart, startEdits, textsOf, until } from '../harness/edits.ts'
import { form } from '../harness/forms.ts'
import { gifHead } from '../harness/image-heads.ts'
import { jpeg, picture, png, webp } from '../harness/pictures.ts'
import { sha256 } from '../harness/upstream.ts'
import { exchangeRaw, openWire, requestHead } from '../harness/wire.ts'
import { boundary, contentType, fileHead, MiB, rawForm, textHead } from '../unit/multipart-rewrite-kit.ts'
import { caseName } from '../harness/case-name.ts'

const edits = '/v1/images/edits'
const alpha = [textHead('model'), 'alpha-image-2'] as const
const beta = [textHead('model'), 'beta-imagine-image'] as const
const prompt = [textHead('prompt'), 'a boat'] as const
const answer = { created: 1, data: [picture(1254, 1254)] }
const textPart = (name: string, value: string) => [textHead(name), value] as const

/** Different pictures, each of its own size in bytes. */
const pictures = (count: number): readonly Buffer[] =>
  Array.from({ length: count }, (_, i) => Buffer.concat([png(8 + i, 8), Buffer.alloc(i * 7, i)]))

async function startAnswering(t: Test, options: Parameters<typeof startEdits>[1] = {}): Promise<Edited> {
  const edited = await startEdits(t, options)
  for (const upstream of Object.values(edited.upstreams)) upstream.answer(answer)
  return edited
}

/** Checks that no upstream was called, no charge was made, and no file was kept. */
async function wantNothing(t: Test, { upstreams, charges, spooled }: Edited, title = ''): Promise<void> {
  for (const [name, { received }] of Object.entries(upstreams))
    t.equal(received.length, 0, `${title} ${name} not asked`)
  t.strictSame(await charges(), [], `${title} nothing is charged`)
  t.strictSame(await spooled(), [], `${title} the spool is empty`)
}

t.test('every reference image reaches the model in the order sent, whatever its field name', async t => {
  const { postForm, sent, charges, spooled } = await startAnswering(t)
  const names = ['image', 'image[]', 'image[3]', 'image[0]', 'image[]', 'image', 'image[12]', 'image[1]', 'image[2]']
  const twelve = [...names, 'image[]', 'image', 'image[0]'].map((name, i) => [name, pictures(12)[i] as Buffer] as const)
  const body = rawForm([
    prompt,
    ...twelve.slice(0, 7).map(([name, bytes]) => [fileHead(name), bytes] as const),
    alpha,
    ...twelve.slice(7).map(([name, bytes]) => [fileHead(name), bytes] as const),
  ])
  t.equal((await postForm(body, contentType)).status, 200)
  const files = filesOf(await sent(), 'image')
  t.strictSame(
    files.map(file => file.sha256),
    twelve.map(([, bytes]) => sha256(bytes)),
  )
  t.strictSame([...new Set(files.map(file => file.name))], ['image[]'], 'under the one name for several')
  t.match(await charges(), [{ state: 'settled', count: 1, amount: '0.04' }])
  t.strictSame(await spooled(), [])

  const [only] = pictures(1)
  for (const name of ['image', 'image[]', 'image[0]', 'image[7]']) {
    await postForm(rawForm([alpha, prompt, [fileHead(name), only as Buffer]]), contentType)
    t.match(filesOf(await sent(), 'image'), [{ name: 'image', sha256: sha256(only as Buffer) }], `one as ${name}`)
  }
})

t.test('only the first file under the name mask is used', async t => {
  const { postForm, sent } = await startAnswering(t)
  const [image, first, second, third] = pictures(4) as [Buffer, Buffer, Buffer, Buffer]
  const body = rawForm([
    alpha,
    prompt,
    [fileHead('mask'), first],
    [fileHead('image'), image],
    [fileHead('mask'), second],
    [fileHead('mask[]'), third],
  ])
  t.equal((await postForm(body, contentType)).status, 200)
  const parts = await sent()
  t.match(filesOf(parts, 'mask'), [{ name: 'mask', fileName: 'mask-0.png', sha256: sha256(first) }])
  t.match(filesOf(parts, 'image'), [{ name: 'image', sha256: sha256(image) }])
})

t.test(
  'the gateway creates file names and reads content types from the first bytes, whatever the client sends',
  async t => {
    const { postForm, sent } = await startAnswering(t)
    const files = [
      [png(9, 9), 'image-0.png', 'image/png'],
      [jpeg(9, 9), 'image-1.jpg', 'image/jpeg'],
      [webp(9, 9), 'image-2.webp', 'image/webp'],
      [gifHead(9, 9), 'image-3.gif', 'image/gif'],
      [Buffer.from('no picture at all'), 'image-4.bin', 'application/octet-stream'],
    ] as const
    const claims = ['../../etc/passwd', 'a\\"b.exe', 'é漢.svg', '', 'x'.repeat(300)]
    const body = rawForm([
      alpha,
      prompt,
      ...files.map(
        ([bytes], i) => [`${fileHead('image[]', claims[i] as string)}\r\nContent-Type: text/html`, bytes] as const,
      ),
    ])
    t.equal((await postForm(body, contentType)).status, 200)
    t.strictSame(
      filesOf(await sent(), 'image').map(file => [file.sha256, file.fileName, file.type]),
      files.map(([bytes, fileName, type]) => [sha256(bytes), fileName, type]),
    )
  },
)

t.test('family A: forwards every other text field, except response_format and empty ones', async t => {
  const { postForm, sent, logs } = await startAnswering(t)
  const fields = {
    n: '1',
    size: ' 123x45 ',
    quality: 'high',
    background: 'transparent',
    output_format: 'webp',
    output_compression: '80',
    moderation: 'low',
    input_fidelity: 'high',
    user: 'somebody é漢🎈',
    'x.y[z]': '  \r\n two lines ',
    ['__proto__']: 'text',
    constructor: 'text too',
  }
  const body = rawForm([
    alpha,
    prompt,
    ...Object.entries(fields).map(([name, value]) => textPart(name, value)),
    textPart('__proto__[]', 'one of a list'),
    textPart('empty', ''),
    textPart('response_format', 'b64_json'),
    [fileHead('image'), png(9, 9)],
    [fileHead('attachment'), png(9, 9)],
  ])
  t.equal((await postForm(body, contentType)).status, 200, '[M25]')
  const parts = await sent()
  t.strictSame(
    parts.flatMap(part => (part.kind === 'text' ? [[part.name, part.value]] : [])),
    [['model', 'alpha-image-2'], ['prompt', 'a boat'], ...Object.entries(fields), ['__proto__[]', 'one of a list']],
  )
  t.notOk('text' in Object.prototype, 'no prototype is touched')
  t.strictSame(filesOf(parts, 'attachment'), [], 'a file that the family does not take')
  const [log] = await logs(1)
  t.strictSame(new Set(log?.dropped), new Set(['response_format', 'attachment', 'empty']))
  t.strictSame(new Set(log?.forwarded), new Set(['model', 'prompt', ...Object.keys(fields), '__proto__[]', 'image']))
})

t.test('family B: forwards its five fields and drops the rest', async t => {
  const { postForm, sent, logs } = await startAnswering(t)
  const body = rawForm([
    prompt,
    ...Object.entries({
      n: '2',
      size: '1024x1024',
      response_format: 'b64_json',
      quality: 'high',
      background: 'transparent',
      output_format: 'webp',
      output_compression: '80',
      moderation: 'low',
      user: 'somebody',
    }).map(([name, value]) => textPart(name, value)),
    [fileHead('image'), png(9, 9)],
    beta,
  ])
  t.equal((await postForm(body, contentType)).status, 200)
  t.strictSame(textsOf(await sent('beta')), {
    model: 'beta-imagine-image',
    prompt: 'a boat',
    n: '2',
    response_format: 'b64_json',
    resolution: '1k',
    aspect_ratio: '1:1',
  })
  const [log] = await logs(1)
  t.strictSame(
    new Set(log?.dropped),
    new Set(['quality', 'background', 'output_format', 'output_compression', 'moderation', 'user']),
  )
})

t.test("a fourth reference image for family B is forwarded, and the upstream's error is returned", async t => {
  const { postForm, sent, upstreams, charges } = await startAnswering(t)
  const error = {
    error: { message: 'At most 3 images.', type: 'invalid_request_error', param: 'image', code: 'too_many' },
  }
  upstreams['beta']?.answer(res => {
    res.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(error))
  })
  const four = pictures(4)
  const answered = await postForm(
    rawForm([beta, prompt, ...four.map(bytes => [fileHead('image[]'), bytes] as const)]),
    contentType,
  )
  t.equal(answered.status, 400)
  t.strictSame(await answered.json(), error)
  t.strictSame(
    filesOf(await sent('beta'), 'image').map(file => file.sha256),
    four.map(bytes => sha256(bytes)),
  )
  t.match(await charges(), [{ state: 'voided', reason: 'upstream_refused', amount: '0.00', count: 0 }])
})

t.test('the number of reference images is not limited: 200 small files arrive at family A in order', async t => {
  const { postForm, sent, charges } = await startAnswering(t)
  const many = pictures(200)
  const body = rawForm([alpha, prompt, ...many.map((bytes, i) => [fileHead(`image[${199 - i}]`), bytes] as const)])
  t.equal((await postForm(body, contentType)).status, 200)
  t.strictSame(
    filesOf(await sent(), 'image').map(file => [file.fileName, file.sha256]),
    many.map((bytes, i) => [`image-${i}.png`, sha256(bytes)]),
  )
  t.match(await charges(), [{ state: 'settled', count: 1, amount: '0.04' }], 'one image came back, one is paid for')
})

t.test('finds a model after 31 MB of files, which pass through the disk [M30]', async t => {
  const sink = await startSink(t)
  const { url, key, gateway, charges, spooled } = await startAnswering(t, { env: { ALPHA_URL: sink.url } })
  const block = Buffer.concat([png(9, 9), randomBytes(1_000_000)])
  const blocks = 31
  const before = process.memoryUsage()
  let peak = before.rss
  const wire = await openWire(url)
  const head = rawForm([prompt]).subarray(0, -2 - boundary.length - 4)
  const opening = Buffer.concat([head, Buffer.from(`--${boundary}\r\n${fileHead('image')}\r\n\r\n`)])
  const closing = Buffer.from(`\r\n--${boundary}\r\n${alpha[0]}\r\n\r\n${alpha[1]}\r\n--${boundary}--\r\n`)
  await wire.write(
    requestHead('POST', edits, [
      `authorization: Bearer ${key}`,
      `content-type: ${contentType}`,
      `content-length: ${opening.length + block.length * blocks + closing.length}`,
    ]),
  )
  await wire.write(opening)
  const hash = createHash('sha256')
  for (let i = 0; i < blocks; i++) {
    hash.update(block)
    await wire.write(block)
    peak = Math.max(peak, process.memoryUsage().rss)
  }
  await wire.write(closing)
  t.equal((await wire.read()).status, 200)
  wire.socket.destroy()
  peak = Math.max(peak, process.memoryUsage().rss)
  const [seen] = sink.seen
  const file = filesOf(seen ?? [], 'image')[0]
  t.match(file, { bytes: block.length * blocks, sha256: hash.digest('hex'), fileName: 'image-0.png' })
  t.match(textsOf(seen ?? []), { model: 'alpha-image-2', prompt: 'a boat' })
  t.match(await charges(), [{ state: 'settled', amount: '0.04' }])
  t.strictSame(await spooled(), [], 'the spool is empty afterwards')
  t.equal(gateway.open, 0)
  const grown = (peak - before.rss) / MiB
  t.comment(`resident set grew by ${grown.toFixed(1)} MiB at most, client and upstream in the same process`)
})

/** An upstream that hashes the received parts and keeps none. */
async function startSink(t: Test): Promise<{ readonly url: string; readonly seen: readonly (readonly SeenPart[])[] }> {
  const seen: (readonly SeenPart[])[] = []
  const server = createServer((req, res) => {
    const parts: SeenPart[] = []
    const parser = busboy({ headers: req.headers })
    parser.on('field', (name, value) => parts.push({ kind: 'text', name, value }))
    parser.on('file', (name, stream, { filename, mimeType: type }) => {
      const fileName = filename ?? ''
      const hash = createHash('sha256')
      let bytes = 0
      stream.on('data', (chunk: Buffer) => {
        hash.update(chunk)
        bytes += chunk.length
      })
      stream.on('end', () => parts.push({ kind: 'file', name, fileName, type, bytes, sha256: hash.digest('hex') }))
    })
    parser.on('close', () => {
      seen.push(parts)
      res.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
    })
    req.pipe(parser)
  })
  const url = await listenOn(t, server)
  return { url, seen }
}

async function listenOn(t: Test, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('a form that parsers may read differently is refused without a charge [M1] to [M29]', async t => {
  const edited = await startAnswering(t)
  for (const [title, body, code, type = contentType] of refusedForms) {
    const answered = await edited.postForm(body, type)
    t.equal(answered.status, 400, title)
    // Without any byte of body there is no form to read.
    const wanted = body.length === 0 ? 'body_missing' : code
    t.match(await answered.json(), { error: { code: wanted, type: 'invalid_request_error' } }, title)
  }
  await wantNothing(t, edited)
})

t.test('an unusual but unambiguous form is forwarded', async t => {
  const { postForm, sent, spooled } = await startAnswering(t, {
    edit: [{ 'models/m': { family: 'alpha-image', upstream: 'alpha', price: 'free' } }],
  })
  for (const [title, body, type = contentType] of acceptedForms) {
    t.equal((await postForm(body, type)).status, 200, title)
    const parts = await sent()
    t.equal(textsOf(parts)['model'], 'm', title)
    t.match(filesOf(parts, 'image'), [{ fileName: 'image-0.png', type: 'image/png' }], title)
  }
  t.strictSame(await spooled(), [])
})

/** Contents that match a boundary up to its last byte. */
const tricky = rawForm([
  alpha,
  [textHead('é'), `\r\n-\r\n--\r\n--${boundary.slice(0, 3)}\r\r\n`],
  [fileHead('image[1]'), Buffer.from(`\r\n--${boundary.slice(0, -1)}\r\n-\r\r\n--\r`, 'latin1')],
  [fileHead('image'), '\r\n'],
])

t.test('a form is read the same however the network splits it [M31]', async t => {
  const { url, key, sent, postForm, upstreams } = await startAnswering(t, {
    // Hundreds of charges would measure the disk instead of the reader.
    edit: [[/alpha-image-2: (.*), prices: \{.*?\}/, 'alpha-image-2: $1, price: free']],
  })
  t.equal((await postForm(tricky, contentType)).status, 200)
  const expected = await sent()
  t.equal(expected.length, 4)
  const received = upstreams['alpha']?.received as unknown[]
  const wire = await openWire(url)
  let differences = 0
  // Each chunk of a chunked body is passed on alone, so that the cut is at the intended place.
  const chunk = (bytes: Buffer) => [Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]
  const head = requestHead('POST', edits, [
    `authorization: Bearer ${key}`,
    `content-type: ${contentType}`,
    'transfer-encoding: chunked',
  ])
  for (let at = 1; at < tricky.length; at++) {
    const cut = [...chunk(tricky.subarray(0, at)), ...chunk(tricky.subarray(at)), Buffer.from('0\r\n\r\n')]
    await wire.write(Buffer.concat([Buffer.from(head), ...cut]))
    const { status } = await wire.read()
    if (status !== 200 || JSON.stringify(await sent()) !== JSON.stringify(expected)) differences++
    received.length = 0
  }
  const bytewise = [...tricky].flatMap(byte => chunk(Buffer.from([byte])))
  await wire.write(Buffer.concat([Buffer.from(head), ...bytewise, Buffer.from('0\r\n\r\n')]))
  t.equal((await wire.read()).status, 200, 'byte by byte')
  t.strictSame(await sent(), expected)
  wire.socket.destroy()
  t.equal(differences, 0)
})

t.test('three parsers read the forwarded form the same [M32]', async t => {
  const { postForm, sent, upstreams } = await startAnswering(t)
  const large = rawForm([
    [fileHead('image'), Buffer.concat([png(9, 9), randomBytes(3 * MiB)])],
    alpha,
    [fileHead('image'), Buffer.concat([jpeg(9, 9), randomBytes(700_001)])],
    [fileHead('image'), ''],
    [textHead('a "name"\\'.replaceAll(/["\\]/g, '_')), 'x'],
  ])
  for (const [title, body] of [
    ['tricky', tricky],
    ['large', large],
  ] as const) {
    t.equal((await postForm(body, contentType)).status, 200, title)
    const last = upstreams['alpha']?.received.at(-1)
    t.equal(last?.headers['content-length'], String(last?.body.length), `${title}: with its length`)
    const own = await sent()
    const simple = own.map(part => (part.kind === 'text' ? [part.name, part.value] : [part.name, part.sha256]))
    const byNode = await Promise.all(
      [...((await last?.form()) ?? [])].map(async ([name, value]) =>
        typeof value === 'string' ? [name, value] : [name, sha256(Buffer.from(await value.arrayBuffer()))],
      ),
    )
    t.strictSame(byNode, simple, `${title}: Node's reader`)
    const byStrict = readForm(last?.body ?? Buffer.alloc(0), last?.headers['content-type']).map(part => [
      part.name,
      part.fileName === undefined ? part.content.toString() : sha256(part.content),
    ])
    t.strictSame(byStrict, simple, `${title}: a reader that takes RFC 2046 by the word`)
    const callers = (await readParts(body, contentType)).map(part => (part.kind === 'text' ? part.value : part.sha256))
    t.strictSame(
      own.map(part => (part.kind === 'text' ? part.value : part.sha256)),
      callers,
      `${title}: the same contents in the same order as the caller sent`,
    )
  }
})

/** The common interface of the three major versions of the SDK. */
type ImageClient = {
  readonly images: {
    edit(params: {
      readonly model: string
      readonly prompt: string
      readonly image: never
      readonly mask?: never
      readonly n?: number
      readonly size?: '1024x1024'
    }): PromiseLike<{ readonly data?: readonly { readonly b64_json?: string }[] }>
  }
}

t.test('forms of real clients are accepted', async t => {
  const edited = await startAnswering(t)
  const { gateway, key, sent, charges, spooled } = edited
  const heads: IncomingHttpHeaders[] = []
  const server = createServer((req, res) => {
    heads.push(req.headers)
    gateway.listener(req, res)
  })
  const url = await listenOn(t, server)
  t.teardown(() => server.closeAllConnections())
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-edits-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const one = Buffer.concat([png(20, 10), randomBytes(40_000)])
  const two = Buffer.concat([jpeg(20, 10), randomBytes(2 * MiB)])
  const mask = png(20, 11)
  await writeFile(join(folder, 'one.png'), one)
  await writeFile(join(folder, 'two.jpg'), two)
  await writeFile(join(folder, 'mask.png'), mask)
  const read = (name: string) => createReadStream(join(folder, name))
  const options = { baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 }
  const clients: readonly (readonly [name: string, client: ImageClient, streamsInChunks: boolean])[] = [
    ['openai 7.55', new OpenAI(options), true],
    ['openai 6.49', new OpenAI6(options), true],
    ['openai 4.104', new OpenAI4(options), false],
  ]
  const layouts: readonly (readonly [name: string, make: (bytes: Buffer, name: string) => unknown])[] = [
    ['toFile with a type', (bytes, name) => toFile(bytes, name, { type: 'image/png' })],
    ['toFile without name or type', bytes => toFile(bytes)],
    ['File', (bytes, name) => new File([new Uint8Array(bytes)], `${name} "é".png`)],
    ['createReadStream', (_bytes, name) => read(name)],
  ]
  for (const [clientName, client, streamsInChunks] of clients) {
    for (const [layout, make] of layouts) {
      const title = `${clientName}, ${layout}`
      const image = [await make(one, 'one.png'), await make(two, 'two.jpg')]
      const fields = { model: 'alpha-image-2', prompt: 'a "boat"\r\nat sea', n: 2, size: '1024x1024' } as const
      const answered = await client.images.edit({
        ...fields,
        image: image as never,
        mask: (await make(mask, 'mask.png')) as never,
      })
      t.type(answered.data?.[0]?.b64_json, 'string', title)
      const parts = await sent()
      t.strictSame(
        filesOf(parts, 'image').map(file => [file.name, file.fileName, file.type, file.sha256]),
        [
          ['image[]', 'image-0.png', 'image/png', sha256(one)],
          ['image[]', 'image-1.jpg', 'image/jpeg', sha256(two)],
        ],
        title,
      )
      t.match(filesOf(parts, 'mask'), [{ fileName: 'mask-0.png', sha256: sha256(mask) }], title)
      t.strictSame(textsOf(parts), { ...fields, n: '2' }, title)
      const chunked = layout === 'createReadStream' && streamsInChunks
      t.equal(heads.at(-1)?.['transfer-encoding'], chunked ? 'chunked' : undefined, `${title}: framing`)

      await client.images.edit({ model: 'alpha-image-2', prompt: 'p', image: (await make(one, 'one.png')) as never })
      t.match(filesOf(await sent(), 'image'), [{ name: 'image', sha256: sha256(one) }], `${title}: a single file`)
    }
  }

  await t.test('openai-python: prompt first, files last, a boundary of 32 hex digits', async t => {
    const by = '3f2a9c4d5e6f708192a3b4c5d6e7f809'
    const body = rawForm(
      [
        prompt,
        alpha,
        textPart('n', '2'),
        [`${fileHead('image[]', 'one.png')}\r\nContent-Type: image/png`, one],
        [`${fileHead('image[]', 'upload')}\r\nContent-Type: application/octet-stream`, two],
        [`${fileHead('mask', 'mäsk.png')}\r\nContent-Type: image/png`, mask],
      ],
      by,
    )
    t.equal((await edited.postForm(body, `multipart/form-data; boundary=${by}`)).status, 200)
    const parts = await sent()
    t.strictSame(
      filesOf(parts, 'image').map(file => file.sha256),
      [sha256(one), sha256(two)],
    )
    t.match(filesOf(parts, 'mask'), [{ sha256: sha256(mask) }])
    t.strictSame(textsOf(parts), { model: 'alpha-image-2', prompt: 'a boat', n: '2' })
  })

  const skip = spawnSync('curl', ['--version']).error !== undefined && 'curl is not installed'
  await t.test('curl: numbered names, and 100-continue above 1 MB', { skip }, async t => {
    const numbered = ['-F', `image[0]=@${folder}/two.jpg`, '-F', `image[1]=@${folder}/one.png`]
    const fields = ['-F', 'prompt=a boat', '-F', `mask=@${folder}/mask.png`, '-F', 'model=alpha-image-2']
    const good = await curl(edited.url, ['-H', `authorization: Bearer ${key}`, ...numbered, ...fields])
    t.equal(good.status, 200)
    t.equal(good.expected, true, 'curl sent Expect: 100-continue before the upload')
    t.ok(good.uploaded > one.length + two.length)
    const parts = await sent()
    t.strictSame(
      filesOf(parts, 'image').map(file => file.sha256),
      [sha256(two), sha256(one)],
    )
    const known = (await charges()).length
    const bad = await curl(edited.url, ['-H', 'authorization: Bearer sk-wrong', ...numbered, ...fields])
    t.match(bad, { status: 401, uploaded: 0 }, 'an invalid key is refused before a byte of the body is sent')
    t.equal((await charges()).length, known)
  })

  t.strictSame(await spooled(), [])
})

/** The result of one request with curl. */
async function curl(
  url: string,
  args: readonly string[],
): Promise<{ readonly status: number; readonly uploaded: number; readonly expected: boolean }> {
  const child = spawn(
    'curl',
    ['-sSv', '--noproxy', '*', '-o', '/dev/null', '-w', '%{http_code} %{size_upload}', ...args, url + edits],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const [out, talk] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  const [status, uploaded] = out.split(' ').map(Number)
  return { status: status ?? 0, uploaded: uploaded ?? 0, expected: /^> Expect: 100-continue/im.test(talk) }
}

type Manners = 'leaves the connection open' | 'ends it' | 'resets it'

t.test('an early answer during the upload reaches the client, and nothing is billed [STR-13] [U11]', async t => {
  const hasty = await startHasty(t)
  const edited = await startAnswering(t, { env: { ALPHA_URL: hasty.url } })
  const client = new OpenAI({ baseURL: `${edited.url}/v1`, apiKey: edited.key, maxRetries: 0 })
  const image = await toFile(Buffer.alloc(4 * MiB), 'a.png')
  const body = rawForm([alpha, prompt, [fileHead('image'), Buffer.alloc(31 * MiB)]])
  const cases = [
    [413, 'leaves the connection open'],
    [413, 'ends it'],
    [413, 'resets it'],
    [400, 'resets it'],
  ] as const
  for (const [status, manners] of cases) {
    const title = `${status}, and it ${manners}`
    const sentText = hasty.answer(status, manners)
    const answered = await edited.postForm(body, contentType)
    t.equal(answered.status, status, title)
    t.equal(await answered.text(), sentText, title)
    await t.rejects(
      client.images.edit({ model: 'alpha-image-2', prompt: 'p', image }),
      { status, code: 'hasty' },
      title,
    )
    const voided = { state: 'voided', reason: 'upstream_refused', amount: '0.00', count: 0 }
    t.match(await edited.charges(2), [voided, voided], title)
  }
  t.strictSame(await edited.spooled(), [])
})

/** An upstream that answers after reading the head, and never reads the body. */
async function startHasty(
  t: Test,
): Promise<{ readonly url: string; readonly answer: (status: number, manners: Manners) => string }> {
  let body = ''
  let head = ''
  let manners: Manners = 'ends it'
  const sockets = new Set<Socket>()
  const server = createTcpServer(socket => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    socket.once('data', () => {
      socket.pause()
      socket.write(head + body, () => {
        if (manners === 'ends it') socket.end()
        // With unread bytes in its receive buffer, this sends a reset.
        else if (manners === 'resets it') socket.destroy()
      })
    })
  })
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  const url = await listenOn(t, server)
  return {
    url,
    answer(status, how) {
      manners = how
      body = JSON.stringify({ error: { message: `no: ${status}`, type: 'invalid_request_error', code: 'hasty' } })
      const close = how === 'leaves the connection open' ? '' : 'connection: close\r\n'
      const length = `content-length: ${Buffer.byteLength(body)}\r\n`
      head = `HTTP/1.1 ${status} No\r\ncontent-type: application/json\r\n${length}${close}\r\n`
      return body
    },
  }
}

t.test('a client that leaves during its upload is charged nothing, and no upstream is called [M5]', async t => {
  const edited = await startAnswering(t)
  const { url, key, gateway, logs, spooled } = edited
  const body = rawForm([alpha, prompt, [fileHead('image'), Buffer.concat([png(9, 9), Buffer.alloc(8 * MiB)])]])
  for (const framing of [`content-length: ${body.length}`, 'transfer-encoding: chunked']) {
    const wire = await openWire(url)
    await wire.write(
      requestHead('POST', edits, [`authorization: Bearer ${key}`, `content-type: ${contentType}`, framing]),
    )
    const half = body.subarray(0, body.length / 2)
    await wire.write(framing.startsWith('content') ? half : Buffer.concat([Buffer.from('400000\r\n'), half]))
    await until(() => gateway.open === 1)
    wire.socket.destroy()
    await until(() => gateway.open === 0)
    t.match(await logs(1), [{ outcome: 'caller_gone', upstream: null, billing: null }], framing)
    t.strictSame(await spooled(), [], caseName({ framing }))
  }
  await wantNothing(t, edited)
})

t.test('a JSON body is refused for an edit, with what to send instead', async t => {
  const edited = await startAnswering(t)
  const answered = await edited.post(edits, { model: 'alpha-image-2', prompt: 'a boat' })
  t.equal(answered.status, 415)
  t.match(await answered.json(), { error: { message: /multipart\/form-data/ } })
  await wantNothing(t, edited)
})

t.test('a form of exactly 32 MiB passes, one byte more is 413, with and without a length', async t => {
  const sink = await startSink(t)
  const edited = await startAnswering(t, { env: { ALPHA_URL: sink.url } })
  const frame = rawForm([alpha, prompt, [fileHead('image'), '']]).length
  const bodyOf = (bytes: number) => rawForm([alpha, prompt, [fileHead('image'), Buffer.alloc(bytes - frame)]])
  for (const [bytes, status] of [
    [32 * MiB, 200],
    [32 * MiB + 1, 413],
  ] as const) {
    const body = bodyOf(bytes)
    t.equal(body.length, bytes, caseName({ bytes, status }))
    t.equal((await edited.postForm(body, contentType)).status, status, `${bytes} with their length`)
    const lines = [`authorization: Bearer ${edited.key}`, `content-type: ${contentType}`, 'transfer-encoding: chunked']
    const chunked = Buffer.concat([
      Buffer.from(`${requestHead('POST', edits, lines)}${bytes.toString(16)}\r\n`),
      body,
      Buffer.from('\r\n0\r\n\r\n'),
    ])
    t.equal((await exchangeRaw(edited.url, chunked)).status, status, `${bytes} without`)
  }
  t.equal(sink.seen.length, 2)
  t.equal((await edited.charges()).length, 2)
  t.strictSame(await edited.spooled(), [])
})

t.test('family A answers response_format=url of an edit with an inline data: URL', async t => {
  const { postForm, upstreams, sent, charges } = await startAnswering(t)
  const made = { jpeg: jpeg(1536, 1024), png: png(1254, 1254), webp: webp(1024, 1024) }
  for (const [kind, bytes] of Object.entries(made)) {
    upstreams['alpha']?.answer({ created: 1, data: [{ b64_json: bytes.toString('base64') }] })
    const { body, contentType } = form({
      model: 'alpha-image-2',
      prompt: 'p',
      image: png(9, 9),
      response_format: 'url',
    })
    const answered = (await (await postForm(body, contentType)).json()) as {
      data: { url?: string; b64_json?: string }[]
    }
    t.equal(answered.data[0]?.url, `data:image/${kind};base64,${bytes.toString('base64')}`, caseName({ kind, bytes }))
    t.notOk('b64_json' in (answered.data[0] ?? {}), caseName({ kind, bytes }))
    t.notOk('response_format' in textsOf(await sent()), 'it is ours to render, and not the upstream’s to refuse')
  }
  t.match(await charges(), [{ tier: '1K' }, { tier: '2K' }, { tier: '2K' }])
  const odd = form({ model: 'alpha-image-2', prompt: 'p', image: png(9, 9), response_format: 'jpeg' })
  const refused = await postForm(odd.body, odd.contentType)
  t.equal(refused.status, 400)
  t.match(await refused.json(), { error: { code: 'invalid_response_format' } })
})

t.test('an edit streams with stream=true in the form, and its completed pictures are billed', async t => {
  const { openai, upstreams, sent, charges, postForm } = await startAnswering(t)
  const b64_json = png(1536, 1024).toString('base64')
  const rest = { created_at: 1, size: '1536x1024', quality: 'high', background: 'opaque', output_format: 'png' }
  const records = [
    { type: 'image_edit.partial_image', b64_json, partial_image_index: 0, ...rest },
    { type: 'image_edit.completed', b64_json, ...rest, usage: { total_tokens: 1, input_tokens: 1, output_tokens: 0 } },
  ]
  upstreams['alpha']?.answer(res => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const record of records) res.write(`event: ${record.type}\ndata: ${JSON.stringify(record)}\n\n`)
    res.end()
  })
  const seen: string[] = []
  const stream = await openai.images.edit({
    model: 'alpha-image-2',
    prompt: 'p',
    image: await toFile(png(9, 9), 'a.png'),
    stream: true,
    partial_images: 1,
  })
  for await (const event of stream) seen.push(`${event.type} ${event.b64_json === b64_json}`)
  t.strictSame(seen, ['image_edit.partial_image true', 'image_edit.completed true'])
  t.match(textsOf(await sent()), { stream: 'true', partial_images: '1' })
  t.match(await charges(), [{ state: 'settled', count: 1, tier: '2K', actual_size: '1536x1024', amount: '0.04' }])

  const calls = upstreams['alpha']?.received.length
  for (const [fields, code] of [
    [{ model: 'beta-imagine-image', stream: 'true' }, 'streaming_unsupported'],
    [{ model: 'alpha-image-2', stream: 'yes' }, 'invalid_type'],
    [{ model: 'alpha-image-2', stream: 'true', response_format: 'url' }, 'response_format_not_streamed'],
  ] as const) {
    const { body, contentType } = form({ prompt: 'p', image: png(9, 9), ...fields })
    const answered = await postForm(body, contentType)
    t.equal(answered.status, 400, caseName({ fields, code }))
    t.match(await answered.json(), { error: { code } }, caseName({ fields, code }))
  }
  t.equal(upstreams['alpha']?.received.length, calls)
  t.equal((await charges()).length, 1)
})
