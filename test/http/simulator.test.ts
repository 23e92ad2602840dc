import { crc32, inflateSync } from 'node:zlib'
import { imageSize } from 'image-size'
import { decode } from 'jpeg-js'
import OpenAI, { APIError, toFile } from 'openai'
import t from 'tap'
import { systemTimers } from '../../src/util/index.ts'
import { startSimulator } from '../../src/simulator/index.ts'
import { caseName } from '../harness/case-name.ts'

const model = 'any-model'
/** One simulator for all tests: a result depends only on its own request. */
const simulator = await startSimulator()
t.teardown(() => simulator.close())
const alpha = connect('alpha')
const beta = connect('beta')

t.test('family A gives the output of the rules (4.3) for the requested size', async t => {
  for (const [size, output] of [
    ['512x512', '1254x1254'],
    ['1024x1024', '1254x1254'],
    ['600x800', '1254x1254'],
    ['3840x2160', '1672x941'],
    ['1536x1024', '1536x1024'],
    // "Any other ratio falls back to 1:1."
    ['2160x3840', '1254x1254'],
    ['1600x1200', '1254x1254'],
    ['huge', '1254x1254'],
    // "Only for these ratios: … 2:3, 3:4": the simulator chooses the dimensions.
    ['2000x3000', '1024x1536'],
    ['900x1200', '1086x1448'],
    // A ratio is recognised within 1 %.
    ['1515x1000', '1536x1024'],
    ['1520x1000', '1254x1254'],
    [undefined, '1254x1254'],
  ] as const) {
    const answer = await alpha.images.generate({ model, prompt: 'a boat', ...(size && { size }) })
    const { width, height } = decodePng(inline(answer))
    t.equal(`${width}x${height}`, output, `${size ?? 'no size'} gives ${output}`)
    t.equal(answer.size, output, 'and says so')
    const pixels = width * height
    t.ok(pixels > 1_560_000 && pixels < 1_580_000, 'and is about 1.57 megapixels')
  }
})

t.test("family A returns base64 and the output's facts, and no link", async t => {
  const body = await postJson('alpha', { model, prompt: 'a boat', quality: 'high' })
  t.equal(body.status, 200)
  const { created, data, ...facts } = JSON.parse(body.text)
  t.same(facts, { background: 'opaque', output_format: 'png', quality: 'medium', size: '1254x1254' })
  t.ok(Math.abs(created - Date.now() / 1000) < 60)
  t.same(Object.keys(data[0]), ['b64_json'])
})

t.test('family A honours output_format', async t => {
  const ask = (output_format: 'jpeg' | 'png' | 'webp', more: object = {}) =>
    alpha.images.generate({ model, prompt: 'a boat', size: '3840x2160', output_format, ...more })
  const png = decodePng(inline(await ask('png')))
  const jpeg = decode(inline(await ask('jpeg')), { formatAsRGBA: false, useTArray: true })
  t.same([jpeg.width, jpeg.height], [1672, 941])
  t.ok(meanDifference(jpeg.data, png.rgb) < 2, 'the JPEG shows the same picture as the PNG')
  const webp = inline(await ask('webp'))
  t.same(imageSize(webp), { width: 1672, height: 941, type: 'webp' })
  const small = inline(await ask('jpeg', { output_compression: 10 }))
  t.ok(small.length < inline(await ask('jpeg')).length, 'output_compression makes a JPEG smaller')
  t.same(decode(small).width, 1672)
})

t.test('prompts look different, and the same prompt looks the same', async t => {
  const draw = async (prompt: string) => inline(await alpha.images.generate({ model, prompt }))
  const [boat, again, fox] = [await draw('a boat'), await draw('a boat'), await draw('a fox')]
  t.ok(boat.equals(again))
  t.ok(meanDifference(decodePng(boat).rgb, decodePng(fox).rgb) > 5)
})

t.test('n is honoured, each picture is different, and more than ten are refused', async t => {
  const five = await alpha.images.generate({ model, prompt: 'a boat', n: 5 })
  t.equal(new Set(five.data?.map(one => one.b64_json)).size, 5)
  const links = await beta.images.generate({ model, prompt: 'a boat', n: 3 })
  t.equal(new Set(links.data?.map(one => one.url)).size, 3)
  for (const client of [alpha, beta]) {
    for (const n of [0, 11]) {
      const refusal = await refused(() => client.images.generate({ model, prompt: 'a boat', n }))
      t.match(refusal, { status: 400, code: 'integer_out_of_range', param: 'n' }, caseName({ client, n }))
    }
  }
})

t.test('family A refuses response_format like its vendor', async t => {
  const response_format = 'url' as const
  const expected = { status: 400, code: 'unknown_parameter', type: 'invalid_request_error', param: 'response_format' }
  t.match(await refused(() => alpha.images.generate({ model, prompt: 'a boat', response_format })), expected)
  const image = await file(picture(8, 8))
  t.match(await refused(() => alpha.images.edit({ model, prompt: 'a boat', image, response_format })), expected)
})

t.test('both families refuse with the status that the prompt demands', async t => {
  for (const [family, client] of Object.entries({ alpha, beta })) {
    const refusal = await refused(() => client.images.generate({ model, prompt: 'a boat [[status 429 7]]' }))
    t.match(refusal, { status: 429, code: 'rate_limit_exceeded' }, caseName({ family }))
  }
})

t.test('family A streams partial pictures and one completed event per picture', async t => {
  const order = { model, prompt: 'a boat', size: '1536x1024', n: 2, partial_images: 2, stream: true } as const
  const events = []
  for await (const event of await alpha.images.generate(order)) events.push(event)
  const one = ['image_generation.partial_image', 'image_generation.partial_image', 'image_generation.completed']
  t.same(
    events.map(event => event.type),
    [...one, ...one],
  )
  const facts = ['background', 'b64_json', 'created_at', 'output_format', 'quality', 'size', 'type']
  const partials = events.filter(event => event.type === 'image_generation.partial_image')
  t.same(
    partials.map(event => event.partial_image_index),
    [0, 1, 0, 1],
  )
  t.same(Object.keys(partials[0] ?? {}).sort(), [...facts, 'partial_image_index'].sort())
  const completed = events.filter(event => event.type === 'image_generation.completed')
  t.same(Object.keys(completed[0] ?? {}).sort(), [...facts, 'usage'].sort())
  for (const event of events) {
    const { width, height } = decodePng(Buffer.from(event.b64_json, 'base64'))
    t.equal(`${width}x${height}`, event.size, caseName({ event }))
  }
  t.equal(new Set(events.map(event => event.b64_json)).size, 6, 'every picture is another')
  const plain = await alpha.images.generate({ model, prompt: 'a boat', size: '1536x1024' })
  t.equal(completed[0]?.b64_json, plain.data?.[0]?.b64_json, 'a completed picture is the one a plain answer has')
})

t.test('an edit of family A streams with events named for edits, each record with its event line', async t => {
  const form = new FormData()
  for (const [name, value] of Object.entries({ model, prompt: 'a boat', stream: 'true', partial_images: '1' })) {
    form.append(name, value)
  }
  form.append('image', new Blob([picture(30, 30)]), 'a.png')
  const response = await fetch(`${simulator.url('alpha')}/v1/images/edits`, { method: 'POST', body: form })
  t.match(response.headers.get('content-type'), /^text\/event-stream/)
  const records = (await response.text()).split('\n\n')
  t.equal(records.pop(), '', 'the last record ends with a blank line')
  const lines = records.map(record => record.split('\n'))
  t.same(
    lines.map(([event]) => event),
    ['event: image_edit.partial_image', 'event: image_edit.completed'],
  )
  for (const [event, data = '', ...rest] of lines) {
    t.equal(`event: ${JSON.parse(data.replace('data: ', '')).type}`, event, caseName({ event, data, rest }))
    t.same(rest, [], caseName({ event, data, rest }))
  }
})

t.test('an edit of family A follows the first reference image, whatever the size', async t => {
  for (const [width, height, output] of [
    [320, 180, '1672x941'],
    [180, 320, '941x1672'],
    [50, 50, '1254x1254'],
    // "Practically never reaches 4K": a panorama stays within 2048.
    [400, 10, '2048x768'],
  ] as const) {
    const image = [await file(picture(width, height)), await file(picture(64, 64))]
    const answer = await alpha.images.edit({ model, prompt: 'a boat', image, size: '1024x1024', quality: 'low' })
    const made = decodePng(inline(answer))
    t.equal(`${made.width}x${made.height}`, output, caseName({ width, height, output }))
  }
})

t.test('an edit of family A reads the shape of JPEG and WebP references too', async t => {
  for (const output_format of ['jpeg', 'webp'] as const) {
    const size = '1536x1024' as const
    const reference = inline(await alpha.images.generate({ model, prompt: 'a boat', size, output_format }))
    const answer = await alpha.images.edit({ model, prompt: 'a boat', image: await file(reference) })
    t.equal(answer.size, size, caseName({ output_format }))
  }
})

t.test('an edit takes image once or image[] any number of times, a mask once, and any text field', async t => {
  const image = picture(20, 20)
  const fine: Form = [
    ...texts(),
    ['anything', 'goes'],
    ...Array.from({ length: 40 }, () => ['image[]', image] as const),
  ]
  t.equal((await postForm('alpha', [...fine, ['mask', image]])).status, 200)
  t.equal((await postForm('alpha', [...texts(), ['image', image]])).status, 200)
  for (const [form, code] of [
    [[...texts(), ['image', image], ['image', image]], 'duplicate_parameter'],
    [[...texts(), ['image', image], ['image[]', image]], 'duplicate_parameter'],
    [[...texts(), ['image[0]', image]], 'unknown_parameter'],
    [[...texts(), ['image', image], ['mask', image], ['mask', image]], 'duplicate_parameter'],
    [[...texts(), ['image', image], ['prompt', 'another']], 'duplicate_parameter'],
    [[...texts(), ['image', image], ['markup', image]], 'unknown_parameter'],
    [[...texts(), ['image', 'a text']], 'invalid_type'],
    [[...texts(), ['image', Buffer.from('not a picture')]], 'invalid_image_file'],
    [[...texts()], 'missing_required_parameter'],
    [
      [
        ['prompt', 'a boat'],
        ['image', image],
      ],
      'missing_required_parameter',
    ],
  ] as const satisfies readonly (readonly [Form, string])[]) {
    t.match(await postForm('alpha', form), { status: 400, code }, caseName({ form, code }))
  }
})

t.test('a malformed form is refused, to expose a faulty sender', async t => {
  const part = 'Content-Disposition: form-data; name="model"\r\n\r\nm\r\n'
  const send = (body: string) =>
    post('alpha', '/v1/images/edits', body, { 'content-type': 'multipart/form-data; boundary=XX' })
  t.match(await send(`--XX\r\n${part}--XX--\r\n`), { code: 'missing_required_parameter' }, 'a well-formed one is read')
  for (const body of [
    `--XX\r\n${part}`,
    `--XX\r\n${part}--XX--\r\nmore`,
    `noise\r\n--XX\r\n${part}--XX--\r\n`,
    `--XX\n${part}--XX--\r\n`,
    `--XX\r\nContent-Disposition: attachment\r\n\r\nm\r\n--XX--\r\n`,
    `--XX\r\nno end of headers--XX--`,
    '',
  ]) {
    t.match(await send(body), { status: 400, code: 'invalid_form' }, caseName({ body }))
  }
  t.match(await postJson('alpha', { model, prompt: 'p' }, '/v1/images/edits'), {
    status: 415,
    code: 'unsupported_content_type',
  })
})

t.test('family B gives the output of the rules (4.3), from a raw size and from resolution and ratio alike', async t => {
  for (const [size, knobs, output] of [
    [undefined, {}, '2496x1664'],
    ['1024x1024', { resolution: '1k', aspect_ratio: '1:1' }, '1024x1024'],
    ['2048x1152', { resolution: '2k', aspect_ratio: '16:9' }, '2816x1584'],
    ['3840x2160', { aspect_ratio: '16:9' }, '2816x1584'],
    ['2k', { resolution: '2k' }, '2496x1664'],
    ['1K', { resolution: '1K' }, '1248x832'],
    ['auto', { resolution: '2k', aspect_ratio: 'auto' }, '2496x1664'],
  ] as const) {
    for (const fields of [size === undefined ? {} : { size }, knobs]) {
      t.equal(await betaOutput(fields), output, `${JSON.stringify(fields)} gives ${output}`)
    }
  }
})

t.test('family B snaps to the nearest of the thirteen ratios, and each has its own dimensions', async t => {
  const outputs = new Set<string>()
  for (const [ratio, near] of [
    ['1:1', '1000x1010'],
    ['16:9', '1000x560'],
    ['9:16', '560x1000'],
    ['4:3', '1000x740'],
    ['3:4', '740x1000'],
    ['3:2', '1000x670'],
    ['2:3', '670x1000'],
    ['2:1', '1000x490'],
    ['1:2', '490x1000'],
    ['19.5:9', '1000x460'],
    ['9:19.5', '460x1000'],
    ['20:9', '1000x100'],
    ['9:20', '1x1000'],
  ] as const) {
    const output = await betaOutput({ resolution: '1k', aspect_ratio: ratio })
    const [across = 0, down = 0] = ratio.split(':').map(Number)
    const [width = 0, height = 0] = output.split('x').map(Number)
    t.ok(Math.abs(width / height / (across / down) - 1) < 0.01, `${output} is ${ratio}`)
    t.equal(await betaOutput({ size: near }), output, `${near} is nearest to ${ratio}`)
    outputs.add(output)
  }
  t.equal(outputs.size, 13)
})

t.test('family B is 1K when the long edge is 1024 or less, else 2K', async t => {
  t.equal(await betaOutput({ size: '1024x1024' }), '1024x1024')
  t.equal(await betaOutput({ size: '1025x1025' }), '2048x2048')
})

t.test('family B returns a link by default, whose picture can be downloaded and decoded', async t => {
  const answer = await beta.images.generate({ model, prompt: 'a boat', size: '1024x1024' })
  t.same(Object.keys(answer.data?.[0] ?? {}), ['url'])
  const response = await fetch(link(answer))
  t.match(link(answer), /^http:\/\/127\.0\.0\.1:\d+\/files\/[0-9a-f]{32}\.jpg$/)
  t.equal(response.headers.get('content-type'), 'image/jpeg')
  t.equal(response.headers.get('x-simulated'), 'true')
  const jpeg = Buffer.from(await response.arrayBuffer())
  t.equal(response.headers.get('content-length'), String(jpeg.length))
  t.match(decode(jpeg), { width: 1024, height: 1024 })
})

t.test('family B returns base64 if a generation requests it', async t => {
  const answer = await beta.images.generate({ model, prompt: 'a boat', size: '1024x1024', response_format: 'b64_json' })
  t.same(Object.keys(answer.data?.[0] ?? {}), ['b64_json'])
  t.match(decode(inline(answer)), { width: 1024, height: 1024 })
})

t.test('an edit of family B always returns a link, and follows the reference unless a size is set', async t => {
  const form = (width: number, height: number) =>
    postForm('beta', [...texts(), ['response_format', 'b64_json'], ['n', '2'], ['image', picture(width, height)]])
  const square = await form(30, 30)
  const { data } = JSON.parse(square.text)
  t.equal(data.length, 2)
  t.same(Object.keys(data[0]), ['url'])
  t.equal(await dimensions(data[0].url), '2048x2048')
  t.match(data[0].url, /\.png$/, 'and a PNG reference gives a PNG')
  const wide = JSON.parse((await form(160, 90)).text)
  t.equal(await dimensions(wide.data[0].url), '2816x1584')
  for (const [size, output] of [
    ['1024x1024', '1024x1024'],
    ['2048x1152', '2816x1584'],
    ['3840x2160', '2816x1584'],
  ] as const) {
    const image = await file(picture(30, 30))
    const answer = await beta.images.edit({ model, prompt: 'a boat', image, size })
    t.equal(await dimensions(link(answer)), output, caseName({ size, output }))
  }
})

t.test('a link is temporary: it ends after ten minutes, or when 200 newer ones were made', async t => {
  let ms = 0
  const clock = { now: () => ms, tick: () => ms, ...systemTimers }
  const own = await startSimulator(clock)
  t.teardown(() => own.close())
  const client = connect('beta', own)
  const ask = (n: number) => client.images.generate({ model, prompt: 'a boat', size: '64x64', n })
  const status = async (url: string) => (await fetch(url, { method: 'HEAD' })).status
  const first = link(await ask(1))
  ms = 10 * 60_000 - 1
  t.equal(await status(first), 200)
  ms++
  t.equal(await status(first), 404)
  const second = link(await ask(1))
  for (let i = 0; i < 19; i++) await ask(10)
  await ask(9)
  t.equal(await status(second), 200, 'with 199 newer ones it is there')
  await ask(1)
  t.equal(await status(second), 404, 'with 200 it is not')
})

t.test('family B takes three reference images and refuses a fourth', async t => {
  const images = (count: number): Form => Array.from({ length: count }, () => ['image[]', picture(9, 9)] as const)
  t.equal((await postForm('beta', [...texts(), ...images(3)])).status, 200)
  t.match(await postForm('beta', [...texts(), ...images(4)]), { status: 400, code: 'too_many_images' })
})

t.test('family B refuses unknown fields, to expose a gateway that forwards them', async t => {
  for (const name of ['quality', 'output_format', 'background', 'moderation', 'output_compression', 'seed', 'stream']) {
    const expected = { status: 400, code: 'unknown_parameter', param: name }
    t.match(await postJson('beta', { model, prompt: 'a boat', [name]: 'auto' }), expected, caseName({ name }))
    t.match(
      await postForm('beta', [...texts(), [name, 'auto'], ['image', picture(9, 9)]]),
      expected,
      caseName({ name }),
    )
  }
  t.match(await postJson('alpha', { model, prompt: 'a boat', seed: 1 }), { status: 400, param: 'seed' })
})

t.test('family B refuses a size it cannot read, a ratio it does not have, and both ways at once', async t => {
  for (const [fields, param] of [
    [{ size: 'huge' }, 'size'],
    [{ size: '0x100' }, 'size'],
    [{ size: 1024 }, 'size'],
    [{ aspect_ratio: '5:4' }, 'aspect_ratio'],
    [{ resolution: '4k' }, 'resolution'],
    [{ size: '1k', resolution: '1k' }, 'size'],
    [{ response_format: 'png' }, 'response_format'],
  ] as const) {
    t.match(
      await postJson('beta', { model, prompt: 'a boat', ...fields }),
      { status: 400, param },
      caseName({ fields, param }),
    )
  }
})

t.test("values of the wrong kind are refused with the field's name; null is no value", async t => {
  for (const [fields, param] of [
    [{ prompt: '' }, 'prompt'],
    [{ prompt: ['a boat'] }, 'prompt'],
    [{ prompt: 'x'.repeat(32_001) }, 'prompt'],
    [{ model: undefined }, 'model'],
    [{ n: 1.5 }, 'n'],
    [{ n: { one: 1 } }, 'n'],
    [{ stream: 'yes' }, 'stream'],
    [{ partial_images: 4 }, 'partial_images'],
    [{ output_format: 'svg' }, 'output_format'],
    [{ output_format: 'jpeg', background: 'transparent' }, 'background'],
    [{ output_compression: 101 }, 'output_compression'],
    [{ moderation: 'high' }, 'moderation'],
  ] as const) {
    t.match(
      await postJson('alpha', { model, prompt: 'a boat', ...fields }),
      { status: 400, param },
      caseName({ fields, param }),
    )
  }
  t.equal((await postJson('alpha', { model, prompt: 'a boat', n: null, size: null, stream: null })).status, 200)
})

t.test('a body that is not a JSON object is refused', async t => {
  for (const body of ['', '{', '[]', 'null', '"a boat"']) {
    t.match(
      await post('alpha', '/v1/images/generations', body, { 'content-type': 'application/json' }),
      {
        status: 400,
        code: 'invalid_json',
      },
      caseName({ body }),
    )
  }
  t.match(await post('alpha', '/v1/images/generations', '{}', { 'content-type': 'text/plain' }), { status: 415 })
})

t.test('a body above 40 MiB is refused', async t => {
  const image = Buffer.concat([picture(9, 9), Buffer.alloc(40 * 1024 * 1024)])
  t.match(await postForm('alpha', [...texts(), ['image', image]]), { status: 413, code: 'body_too_large' })
})

t.test('everything is marked as simulated, and any credential or none is accepted', async t => {
  t.same(simulator.names.slice(0, 3), ['alpha', 'beta', 'text'])
  t.equal(simulator.url('gamma'), undefined)
  t.equal(simulator.url('constructor'), undefined)
  const origin = new URL(String(simulator.url('alpha'))).origin
  for (const path of ['/', '/simulator', '/alpha', '/beta']) {
    const response = await fetch(origin + path)
    t.match(
      await response.json(),
      { simulated: true, upstreams: { alpha: ['POST /v1/images/generations'] } },
      caseName({ path }),
    )
    t.equal(response.headers.get('x-simulated'), 'true', caseName({ path }))
  }
  const missing = await fetch(`${origin}/alpha/v1/nothing`)
  t.match([missing.status, missing.headers.get('x-simulated')], [404, 'true'])
  t.match(await missing.json(), { error: { code: 'unknown_url', type: 'invalid_request_error', param: null } })
  const authorization = { 'content-type': 'application/json', authorization: 'Bearer anything' }
  const body = JSON.stringify({ model, prompt: 'a boat' })
  t.equal((await post('alpha', '/v1/images/generations', body, authorization)).status, 200)
  t.equal((await post('alpha', '/v1/images/generations', body, { 'content-type': 'application/json' })).status, 200)
})

t.test('many concurrent clients each get the whole of their own picture', async t => {
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, i) => alpha.images.generate({ model, prompt: `boat ${i % 4}`, size: '1536x1024' })),
  )
  const pictures = answers.map(inline)
  for (const [i, png] of pictures.entries()) t.ok(png.equals(pictures[i % 4] as Buffer), caseName({ i, png }))
  t.equal(new Set(pictures.slice(0, 4).map(png => decodePng(png).rgb.toString('base64'))).size, 4)
})

t.test('a client that leaves in mid-stream causes no error', async t => {
  const order = { model, prompt: 'somebody leaves', n: 10, partial_images: 3, stream: true } as const
  for await (const event of await alpha.images.generate(order)) {
    t.equal(event.type, 'image_generation.partial_image', caseName({ event }))
    break
  }
  t.equal((await postJson('beta', { model, prompt: 'a boat' })).status, 200)
})

t.test('close cuts running answers and frees the port', async t => {
  const own = await startSimulator()
  const url = String(own.url('alpha'))
  await fetch(url)
  await own.close()
  await t.rejects(fetch(url))
})

function connect(name: string, to = simulator): OpenAI {
  return new OpenAI({ baseURL: `${to.url(name)}/v1`, apiKey: 'sk-anything', maxRetries: 0 })
}

async function refused(call: () => Promise<unknown>): Promise<APIError> {
  try {
    await call()
  } catch (error) {
    if (error instanceof APIError) return error
    throw error
  }
  throw new Error('it was not refused')
}

type Sent = { status: number; text: string; code: string | undefined; param: string | null | undefined }

async function post(name: string, path: string, body: string | FormData, headers: Record<string, string> = {}) {
  const response = await fetch(`${simulator.url(name)}${path}`, { method: 'POST', body, headers })
  const text = await response.text()
  const error = response.ok ? undefined : JSON.parse(text).error
  return { status: response.status, text, code: error?.code, param: error?.param } satisfies Sent
}

function postJson(name: string, fields: object, path = '/v1/images/generations'): Promise<Sent> {
  return post(name, path, JSON.stringify(fields), { 'content-type': 'application/json' })
}

type Form = readonly (readonly [name: string, value: string | Buffer])[]

function texts(): Form {
  return [
    ['model', model],
    ['prompt', 'a boat'],
  ]
}

function postForm(name: string, fields: Form): Promise<Sent> {
  const form = new FormData()
  for (const [field, value] of fields) {
    if (typeof value === 'string') form.append(field, value)
    else form.append(field, new Blob([new Uint8Array(value)]), 'file.bin')
  }
  return post(name, '/v1/images/edits', form)
}

async function betaOutput(fields: object): Promise<string> {
  const { status, text } = await postJson('beta', { model, prompt: 'a boat', ...fields })
  return status === 200 ? dimensions(JSON.parse(text).data[0].url) : text
}

async function dimensions(url: string): Promise<string> {
  const { width, height } = imageSize(Buffer.from(await (await fetch(url)).arrayBuffer()))
  return `${width}x${height}`
}

function inline(answer: OpenAI.ImagesResponse): Buffer {
  return Buffer.from(String(answer.data?.[0]?.b64_json), 'base64')
}

function link(answer: OpenAI.ImagesResponse): string {
  return String(answer.data?.[0]?.url)
}

function file(bytes: Buffer) {
  return toFile(bytes, 'reference')
}

/** A reference image: the head of a PNG contains its dimensions. */
function picture(width: number, height: number): Buffer {
  const bytes = Buffer.from('89504e470d0a1a0a0000000d49484452000000000000000008020000000000000000', 'hex')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}

function meanDifference(one: Uint8Array, other: Uint8Array): number {
  if (one.length !== other.length) throw new Error(`${one.length} bytes against ${other.length}`)
  return one.reduce((sum, value, at) => sum + Math.abs(value - (other[at] ?? 0)), 0) / one.length
}

/** An 8-bit RGB PNG without interlacing, every checksum verified. */
function decodePng(png: Buffer): { width: number; height: number; rgb: Buffer } {
  if (png.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n') throw new Error('not a PNG')
  const chunks = new Map<string, Buffer>()
  let at = 8
  while (at < png.length) {
    const end = at + 8 + png.readUInt32BE(at)
    const type = png.toString('latin1', at + 4, at + 8)
    if (crc32(png.subarray(at + 4, end)) !== png.readUInt32BE(end)) throw new Error(`wrong checksum of ${type}`)
    chunks.set(type, Buffer.concat([chunks.get(type) ?? Buffer.alloc(0), png.subarray(at + 8, end)]))
    at = end + 4
  }
  if (at !== png.length || [...chunks.keys()].at(-1) !== 'IEND') throw new Error('the PNG does not end where it should')
  const header = chunks.get('IHDR') ?? Buffer.alloc(0)
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  if (header.toString('hex', 8) !== '0802000000') throw new Error('not 8-bit RGB')
  const raw = inflateSync(chunks.get('IDAT') ?? Buffer.alloc(0))
  const stride = width * 3
  if (raw.length !== (stride + 1) * height) throw new Error('too many or too few bytes of pixels')
  const rgb = Buffer.alloc(stride * height)
  for (let y = 0; y < height; y++) {
    const from = y * (stride + 1) + 1
    const predict = filters[raw[from - 1] as number]
    if (!predict) throw new Error(`no such filter: ${raw[from - 1]}`)
    const to = y * stride
    for (let x = 0; x < stride; x++) {
      const left = x < 3 ? 0 : (rgb[to + x - 3] as number)
      const up = y === 0 ? 0 : (rgb[to + x - stride] as number)
      const corner = x < 3 || y === 0 ? 0 : (rgb[to + x - stride - 3] as number)
      rgb[to + x] = (raw[from + x] as number) + predict(left, up, corner)
    }
  }
  return { width, height, rgb }
}

const filters: readonly ((left: number, up: number, corner: number) => number)[] = [
  () => 0,
  left => left,
  (_, up) => up,
  (left, up) => (left + up) >> 1,
  paeth,
]

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner
  const [toLeft, toUp, toCorner] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)]
  if (toLeft <= toUp && toLeft <= toCorner) return left
  return toUp <= toCorner ? up : corner
}
