import t from 'tap'
import { picture } from '../unit/multipart-rewrite-kit.ts'
import { type Started, start } from '../harness/start.ts'
import { caseName } from '../harness/case-name.ts'

const edits = '/v1/images/edits'
const bytes = picture('png', 4_000)
const octets = 'Content-Type: application/octet-stream'
type Row = readonly [head: string, content: string | Buffer]

const part = (name: string, ...lines: readonly string[]): string =>
  [`Content-Disposition: form-data; name="${name}"`, ...lines].join('\r\n')
const model: Row = [part('model'), 'alpha-image-2']
const prompt: Row = [part('prompt'), 'a boat']

function send({ url, key }: Started, path: string, rows: readonly Row[]): Promise<Response> {
  const pieces = rows.flatMap(([head, content]) => [`--b\r\n${head}\r\n\r\n`, content, '\r\n'])
  const body = Buffer.concat([...pieces, '--b--\r\n'].map(piece => Buffer.from(piece)))
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'multipart/form-data; boundary=b' }
  return fetch(url + path, { method: 'POST', headers, body: new Uint8Array(body) })
}

async function filesOf(started: Started, upstream = 'alpha'): Promise<[string, string, number][]> {
  const form = await started.upstreams[upstream]?.received.at(-1)?.form()
  return [...(form ?? [])].flatMap(([name, value]) =>
    typeof value === 'string' ? [] : [[name, value.type, value.size] as [string, string, number]],
  )
}

t.test('a part under a declared file field is a file, whatever its headers are [6.8]', async t => {
  const started = await start(t)
  const rows: { readonly [how: string]: readonly Row[] } = {
    'as openai-java sends it': [model, prompt, [part('image', octets), bytes]],
    'the model behind it': [[part('image', octets), bytes], prompt, model],
    'with a type of its own': [model, prompt, [part('image', 'Content-Type: image/png'), bytes]],
    'without a type': [model, prompt, [part('image'), bytes]],
    'called text': [model, prompt, [part('image', 'Content-Type: text/plain'), bytes]],
    'with an empty filename': [model, prompt, ['Content-Disposition: form-data; name="image"; filename=""', bytes]],
    'beside an empty mask': [
      model,
      [`Content-Disposition: form-data; name="mask"; filename=""\r\n${octets}`, ''],
      ['Content-Disposition: form-data; name="mask"; filename=""', ''],
      prompt,
      [part('image', octets), bytes],
    ],
    'in brackets': [model, prompt, [part('image[]', octets), bytes]],
  }
  for (const [how, form] of Object.entries(rows)) {
    const answer = await send(started, edits, form)
    t.equal(answer.status, 200, how)
    t.strictSame(await filesOf(started), [['image', 'image/png', bytes.length]], how)
  }
  const two = await send(started, edits, [
    model,
    prompt,
    [part('image[]', octets), bytes],
    [part('image[]', octets), bytes],
    [part('mask', octets), bytes],
  ])
  t.equal(two.status, 200)
  t.same(
    (await filesOf(started)).map(([name]) => name),
    ['image[]', 'image[]', 'mask'],
  )
  const sound = await send(started, '/v1/audio/transcriptions', [
    [part('file', octets), Buffer.from('RIFF....WAVEfmt ')],
    [part('model'), 'sim-transcription'],
  ])
  t.equal(sound.status, 200)
  t.same(await filesOf(started, 'text'), [['file', 'audio/wav', 16]])
})

t.test('audio of an unknown type keeps its original name and type [15]', async t => {
  const started = await start(t)
  const sounds: readonly (readonly [fileName: string, type: string, content: string])[] = [
    ['long.wav', 'audio/wav', 'RF64....WAVEds64'],
    ['a b.caf', 'audio/x-caf', 'caff\0\x01\0\0desc'],
    ['tune.aiff', 'audio/aiff', 'FORM....AIFFCOMM'],
    ['zeros.mp3', 'audio/mpeg', `${'\0'.repeat(40)}\xff\xfb`],
  ]
  for (const [fileName, type, content] of sounds) {
    const head = `Content-Disposition: form-data; name="file"; filename="${fileName}"\r\nContent-Type: ${type}`
    const answer = await send(started, '/v1/audio/transcriptions', [
      [head, Buffer.from(content, 'latin1')],
      [part('model'), 'sim-transcription'],
    ])
    t.equal(answer.status, 200, fileName)
    const form = await started.upstreams['text']?.received.at(-1)?.form()
    const file = form?.get('file')
    t.same(
      typeof file === 'object' && file && [file.name, file.type, file.size],
      [fileName, type, content.length],
      fileName,
    )
  }
})

t.test('repeated texts are forwarded as often as they were sent, in either kind of family [15]', async t => {
  const lists = {
    'families/beta-image/forward/image.edit': ['model', 'prompt', 'n', 'size', 'response_format', 'tag'],
  } as const
  const started = await start(t, { edit: [lists] })
  const tags: readonly Row[] = [
    [part('tag'), 'a'],
    [part('tag'), 'b'],
    [part('tag'), 'a'],
  ]
  for (const [upstream, name] of Object.entries({ alpha: 'alpha-image-2', beta: 'beta-imagine-image' })) {
    const answer = await send(started, edits, [[part('model'), name], prompt, ...tags, [part('image', octets), bytes]])
    t.equal(answer.status, 200, name)
    const form = await started.upstreams[upstream]?.received.at(-1)?.form()
    t.same(form?.getAll('tag'), ['a', 'b', 'a'], name)
  }
  for (const field of ['model', 'size', 'n', 'quality', 'response_format', 'stream']) {
    const answer = await send(started, edits, [model, prompt, [part(field), '1'], [part(field), '2']])
    t.equal(answer.status, 400, field)
    t.match(await answer.json(), { error: { code: 'form_field_duplicate', param: field } }, field)
  }
})

t.test('a form of exactly 32 MiB reaches the upstream, and no more than that [15]', async t => {
  const started = await start(t)
  const bytesMax = 32 * 1024 * 1024
  for (const [upstream, name] of Object.entries({ alpha: 'alpha-image-2', beta: 'beta-imagine-image' })) {
    const form = new FormData()
    form.set('model', name)
    form.set('prompt', 'a boat')
    form.set('size', '1024x1024')
    form.set('image', new Blob([''], { type: 'image/png' }), 'a.png')
    const empty = await new Response(form).arrayBuffer()
    // The boundary of each body is replaced by one of the same length.
    const content = Buffer.concat([bytes, Buffer.alloc(bytesMax - empty.byteLength - bytes.length)])
    form.set('image', new Blob([content], { type: 'image/png' }), 'a.png')
    const headers = { authorization: `Bearer ${started.key}` }
    const answer = await fetch(started.url + edits, { method: 'POST', headers, body: form })
    t.equal(answer.status, 200, name)
    const received = started.upstreams[upstream]?.received.at(-1)
    const length = Number(received?.headers['content-length'])
    t.ok(length > content.length && length <= bytesMax, `${name}: ${bytesMax} bytes became ${length}`)
  }
})

t.test(
  'a text in a declared file field is refused, and so is binary content in any other kind of field [6.8]',
  async t => {
    const started = await start(t)
    const wrong: readonly (readonly [row: Row, code: string])[] = [
      [[part('image'), 'https://example.com/a.png'], 'form_field_is_file'],
      [[part('image', 'Content-Type: text/plain'), 'aGk='], 'form_field_is_file'],
      // busboy decodes it in the declared charset, and the original bytes are lost.
      [[part('image', 'Content-Type: text/plain; charset=utf-8'), bytes], 'form_field_is_file'],
      [[part('image', 'Content-Type: image/png'), picture('png', 1_100_000)], 'form_field_is_file'],
      [[part('other', octets), bytes], 'form_malformed'],
      [[part('quality', octets), 'high'], 'form_malformed'],
      [[part('prompt', octets), 'high'], 'form_malformed'],
      [[part('image'), 'x'.repeat(300 * 1024)], 'form_text_too_long'],
      [[part('image', 'Content-Type: multipart/mixed; boundary=c'), bytes], 'form_malformed'],
    ]
    for (const [row, code] of wrong) {
      const answer = await send(started, edits, [model, row])
      t.equal(answer.status, 400, code)
      t.match(await answer.json(), { error: { code } }, caseName({ row, code }))
    }
    const twice = await send(started, edits, [model, [part('mask'), 'a'], [part('mask'), 'b']])
    t.match(await twice.json(), { error: { code: 'form_field_is_file' } })
    t.equal(started.upstream.received.length, 0)
  },
)

t.test("a text under the name of another family's file field stays text [6.8]", async t => {
  const other = {
    'families/beta-image/forward/image.edit': { all: true },
    'families/beta-image/multipart-rewrite/files': { picture: {} },
  } as const
  const started = await start(t, { edit: [other] })
  const answer = await send(started, edits, [
    [part('image'), 'https://example.com/a.png'],
    [part('picture', octets), bytes],
    [part('model'), 'beta-imagine-image'],
    prompt,
  ])
  t.equal(answer.status, 200)
  const form = await started.upstreams['beta']?.received.at(-1)?.form()
  t.equal(form?.get('image'), 'https://example.com/a.png')
  t.same(await filesOf(started, 'beta'), [['picture', 'image/png', bytes.length]])
})
