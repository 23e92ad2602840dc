import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import OpenAI, { toFile } from 'openai'
import t from 'tap'
import { multipartRewrite } from '../../plugins/multipart-rewrite/plugin.ts'
import { facet as facetSchema } from '../../plugins/multipart-rewrite/schema.ts'
import { sniff } from '../../src/util/sniff.ts'
import { Failure, readField, withField } from '../../src/domain/index.ts'
import type { Admits } from '../../src/util/index.ts'
import { acceptedForms, good, headOf, image, model, refusedForms, skippingForms, type } from '../cases/forms.ts'
import {
  boundary,
  contentType,
  fileHead,
  files,
  MiB,
  picture,
  rawForm,
  readAll,
  startPlugin,
  streamOf,
  targetOf,
  textHead,
  texts,
} from './multipart-rewrite-kit.ts'
import { caseName } from '../harness/case-name.ts'

const facet: Admits<typeof facetSchema> = {
  files: {
    image: { send_as: { one: 'image', many: 'image[]' }, keep: 'all' },
    mask: { keep: 'first' },
  },
}
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
t.test('an unreadable or unusable form is refused with 400', async t => {
  const plugin = await startPlugin(t)
  for (const [title, body, code, contentType] of refusedForms) {
    const started = performance.now()
    const failure = await plugin
      .read(body, contentType === undefined ? {} : { contentType })
      .catch((error: unknown) => error)
    t.match(failure, { code, status: 400 }, title)
    t.ok(failure instanceof Failure && !/\{\w+\}/.test(failure.message), `${title}: ${(failure as Failure).message}`)
    t.ok(performance.now() - started < 10_000, `${title}: soon`)
  }
  t.same(await plugin.leftovers(), [], 'nothing remains')
})

t.test('an unusual but unambiguous form is read', async t => {
  const plugin = await startPlugin(t)
  for (const [title, body, contentType] of acceptedForms) {
    const form = await plugin.read(body, contentType === undefined ? {} : { contentType })
    t.same(texts(form.parts), [['model', 'm']], title)
    t.same(await Promise.all(files(form.parts).map(file => file.sha256())), [sha256(image[1])], title)
    t.same(
      files(form.parts).map(file => file.name),
      ['image'],
      title,
    )
    form.discard()
  }
})

t.test('what busboy skips counts as not sent, and the rest is read', async t => {
  const plugin = await startPlugin(t)
  for (const [title, body, wanted, sizes] of skippingForms)
    for (const chunks of [[body], [...body].map(byte => Buffer.from([byte]))]) {
      // Byte by byte, a large body would take too long.
      if (chunks.length > 10_000) continue
      const form = await plugin.read(streamOf(...chunks))
      t.same(texts(form.parts), wanted, title)
      t.same(
        files(form.parts).map(file => file.bytes),
        sizes,
        title,
      )
      form.discard()
    }
})

t.test('fields named like built-in members are ordinary texts', async t => {
  const { read } = await startPlugin(t)
  const form = await read(rawForm([[textHead('__proto__'), 'x'], [textHead('constructor'), 'y'], image]))
  t.same(texts(form.parts), [
    ['__proto__', 'x'],
    ['constructor', 'y'],
  ])
  t.equal(({} as { x?: string }).x, undefined)
  form.discard()
})

t.test('a text of 256 KiB passes unchanged, and so does one beyond ASCII', async t => {
  const { read } = await startPlugin(t)
  const long = 'ß漢🎈'.repeat(29_127).slice(0, 256 * 256)
  const form = await read(rawForm([model, [textHead('prompt'), 'x'.repeat(256 * 1024)], [textHead('é'), long]]))
  t.same(texts(form.parts), [
    ['model', 'm'],
    ['prompt', 'x'.repeat(256 * 1024)],
    ['é', long],
  ])
  form.discard()
})

t.test('an empty file input counts as absent, and an empty file does not [15]', async t => {
  const { read } = await startPlugin(t)
  const octets = 'Content-Type: application/octet-stream'
  const form = await read(
    rawForm([
      model,
      [`${fileHead('mask', '')}\r\n${octets}`, ''],
      [`${fileHead('other', '')}\r\n${octets}`, ''],
      [`${fileHead('mask', 'mask.png')}\r\n${octets}`, ''],
      image,
    ]),
  )
  t.same(
    files(form.parts).map(({ name, bytes }) => [name, bytes]),
    [
      ['mask', 0],
      ['image', 40],
    ],
  )
  form.discard()
})

t.test('a form that arrives byte by byte uses only the memory of its texts', async t => {
  const { read } = await startPlugin(t)
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const value = 'x'.repeat(200_000)
  const body = rawForm([model, [textHead('prompt'), value], image])
  let before = 0
  let most = 0
  const held = () => {
    // The second collection finishes the work that the first left to a thread.
    collect()
    collect()
    return process.memoryUsage().arrayBuffers
  }
  // As the engine collects them: a few bytes of a large block.
  const chunks = function* () {
    before = held()
    for (let at = 0; at < body.length; at += 32) {
      const block = Buffer.allocUnsafeSlow(16_384)
      yield block.subarray(0, body.copy(block, 0, at, at + 32))
      if (at % 40_000 < 32) most = Math.max(most, held() - before)
    }
  }
  const form = await read(Readable.from(chunks(), { objectMode: false, highWaterMark: 1 }))
  t.same(texts(form.parts), [
    ['model', 'm'],
    ['prompt', value],
  ])
  t.ok(most < 4 * MiB, `${most} bytes`)
  form.discard()
})

t.test('a list of texts may repeat its name if it ends in brackets', async t => {
  const { read } = await startPlugin(t)
  const list = textHead('timestamp_granularities[]')
  const form = await read(rawForm([model, [list, 'word'], [list, 'segment']]))
  t.same(texts(form.parts).slice(1), [
    ['timestamp_granularities[]', 'word'],
    ['timestamp_granularities[]', 'segment'],
  ])
  form.discard()
})

t.test('a body cut off by its client or refused in transit', async t => {
  t.test('ends reading with 400 when it just breaks off', async t => {
    const plugin = await startPlugin(t)
    for (const error of [undefined, new Error('ECONNRESET')]) {
      const source = new PassThrough()
      source.write(good.subarray(0, -20))
      const reading = plugin.read(source, { bytes: 20 * MiB })
      setImmediate(() => source.destroy(error))
      await t.rejects(reading, { code: 'form_incomplete', status: 400 }, caseName({ error }))
    }
    t.same(await plugin.leftovers(), [])
  })

  t.test('ends it with the failure that it was destroyed with', async t => {
    const plugin = await startPlugin(t)
    const failure = new Failure('body_too_large', { status: 413, type: 'x', text: '' }, 'too large')
    const source = new PassThrough()
    source.write(good.subarray(0, -20))
    const reading = plugin.read(source, { bytes: 20 * MiB })
    setImmediate(() => source.destroy(failure))
    t.equal(await reading.catch((error: unknown) => error), failure)
    const late = new PassThrough().on('error', () => undefined)
    late.destroy(failure)
    t.equal(await plugin.read(late).catch((error: unknown) => error), failure, 'before reading began')
    t.same(await plugin.leftovers(), [])
  })

  t.test('is not destroyed when it is refused: the responder may drain it', async t => {
    const { read } = await startPlugin(t)
    const source = streamOf(headOf(textHead('')), Buffer.alloc(MiB), Buffer.alloc(MiB))
    await t.rejects(read(source), { code: 'form_malformed' })
    t.notOk(source.destroyed)
    t.equal((await readAll(source)).length, MiB)
  })
})

t.test('the total size of bodies is limited before they are read', async t => {
  const big = rawForm([model, [fileHead('image'), Buffer.alloc(2 * MiB)]])

  t.test('memory', async t => {
    const { read } = await startPlugin(t, { memoryBytesMax: 3 * MiB })
    const first = await read(big)
    const source = streamOf(big)
    await t.rejects(read(source, { bytes: big.length }), {
      status: 503,
      code: 'form_over_capacity',
      retryAfterMs: 1000,
    })
    t.notOk(source.readableDidRead, 'not a byte was read')
    first.discard()
    first.discard()
    const second = await read(big)
    await t.rejects(read(big), { code: 'form_over_capacity' }, 'bytes returned twice count once')
    second.discard()
  })

  t.test(
    'memory of one key, whose uploads take two MiB each while they arrive, one when they are on the disk',
    async t => {
      const { read } = await startPlugin(t, { memoryBytesMax: 8 * MiB })
      const coming = Array.from({ length: 3 }, () => new PassThrough())
      const reading = coming.map(source => read(source, { bytes: big.length }))
      await t.rejects(
        read(Buffer.from(big)),
        { code: 'form_over_capacity' },
        'three quarters are taken: a quarter is for other keys',
      )
      for (const source of coming) source.end(Buffer.from(big))
      const kept = await Promise.all(reading)
      kept.push(await read(Buffer.from(big)))
      for (const form of kept) form.discard()
    },
  )

  t.test('disk, where a body of unknown length counts as the longest', async t => {
    const { read } = await startPlugin(t, { spoolBytesMax: 33 * MiB })
    const first = await read(streamOf(big))
    await t.rejects(read(streamOf(big)), { status: 503, code: 'form_over_capacity' })
    const second = await read(big)
    first.discard()
    second.discard()
    const third = await read(streamOf(big))
    third.discard()
  })

  t.test('and is released by a refused form', async t => {
    const { read } = await startPlugin(t, { memoryBytesMax: 3 * MiB, spoolBytesMax: 3 * MiB })
    for (let i = 0; i < 5; i++) await t.rejects(read(big.subarray(0, -5)), { code: 'form_incomplete' }, caseName({ i }))
    const form = await read(big)
    form.discard()
  })
})

t.test('an unwritable disk refuses the upload with 503', async t => {
  const { read } = await startPlugin(t, { spoolDir: '/dev/null/spool' })
  const big = rawForm([model, [fileHead('image'), Buffer.alloc(3 * MiB)]])
  await t.rejects(read(big), { status: 503, code: 'form_spool_failed', retryAfterMs: 5000 })
  const small = await read(good)
  t.equal(small.parts.length, 2, 'a form that fits in memory needs no disk')
  small.discard()
})

t.test('the form of a request is released when it settles', async t => {
  const plugin = await startPlugin(t)
  const exchange = plugin.begin()
  const form = await plugin.read(rawForm([model, [fileHead('image'), Buffer.alloc(3 * MiB)]]), { exchange })
  t.equal((await plugin.leftovers()).length, process.platform === 'linux' ? 1 : 0, 'one file without a name')
  await plugin.hooks.onSettle?.(exchange, { kind: 'answered', status: 200, reach: 'complete' }, undefined)
  await new Promise(setImmediate)
  t.same(await plugin.leftovers(), [])
  await t.rejects(readAll(form.encode(form.parts).open()), /discarded/)
})

t.test('other bodies are left alone', async t => {
  const { hooks, begin } = await startPlugin(t)
  const body = { kind: 'none' } as const
  t.equal(await hooks.onBody?.(begin(), body), body)
})

t.test('a family declares how files are forwarded', async t => {
  const { hooks, read, begin } = await startPlugin(t)

  /** Reads a form and returns the parts that would be sent upstream, decoded from the encoded bytes. */
  async function forward(body: Buffer, by = facet, contentType?: string) {
    const exchange = begin()
    const form = await read(body, { exchange, ...(contentType !== undefined && { contentType }) })
    const target = targetOf(form)
    await hooks.onTarget?.(exchange, target, by)
    const out = await hooks.onForward?.(exchange, { body: form, headers: {}, detach: false }, by, target)
    if (out?.body.kind !== 'form') throw new Error('no form')
    const encoded = out.body.encode(out.body.parts)
    const bytes = await readAll(encoded.open())
    t.equal(bytes.length, encoded.bytes, 'the length announced is the length sent')
    const sent = await new Response(new Uint8Array(bytes), {
      headers: { 'content-type': encoded.contentType },
    }).formData()
    form.discard()
    const parts = await Promise.all(
      [...sent].map(async ([name, value]) =>
        typeof value === 'string'
          ? [name, value]
          : [name, value.name, value.type, Buffer.from(await value.arrayBuffer()).toString('latin1')],
      ),
    )
    return { parts, dropped: exchange.notes.dropped, bytes: encoded.bytes }
  }
  const one = picture('png', 20, 1).toString('latin1')
  const two = picture('jpeg', 20, 2).toString('latin1')
  const three = picture('webp', 20, 3).toString('latin1')
  const part = (name: string, content: string) => [fileHead(name, 'x.bmp'), Buffer.from(content, 'latin1')] as const

  t.test('one image is sent under the singular name, in all three naming styles', async t => {
    for (const name of ['image', 'image[]', 'image[0]', 'image[7]'])
      t.same(
        (await forward(rawForm([model, part(name, one)]))).parts,
        [
          ['model', 'm'],
          ['image', 'image-0.png', 'image/png', one],
        ],
        caseName({ name }),
      )
  })

  t.test('several images are sent under the plural name in the order sent, not by their numbers', async t => {
    const body = rawForm([part('image[2]', one), model, part('image', two), part('image[0]', three)])
    t.same((await forward(body)).parts, [
      ['image[]', 'image-0.png', 'image/png', one],
      ['model', 'm'],
      ['image[]', 'image-1.jpg', 'image/jpeg', two],
      ['image[]', 'image-2.webp', 'image/webp', three],
    ])
  })

  t.test('only the first mask is used', async t => {
    const body = rawForm([model, part('mask', one), part('image', two), part('mask[]', three)])
    t.same((await forward(body)).parts, [
      ['model', 'm'],
      ['mask', 'mask-0.png', 'image/png', one],
      ['image', 'image-0.jpg', 'image/jpeg', two],
    ])
  })

  t.test('other files are dropped and logged', async t => {
    const { parts, dropped } = await forward(
      rawForm([part('markup', one), part('markup', one), part('image', two), model]),
    )
    t.same(parts, [
      ['image', 'image-0.jpg', 'image/jpeg', two],
      ['model', 'm'],
    ])
    t.same(dropped, ['markup'])
  })

  t.test('names of built-in members are no rules', async t => {
    const { dropped } = await forward(rawForm([part('constructor', one), part('__proto__', one), model]))
    t.same(dropped, ['constructor', '__proto__'])
  })

  t.test('a picture sent as text is refused', async t => {
    for (const name of ['image', 'image[]', 'mask'])
      await t.rejects(
        forward(rawForm([model, [textHead(name), 'aGk=']])),
        { code: 'form_field_is_file', param: name },
        caseName({ name }),
      )
  })

  t.test('a file of unknown type keeps its name and type [15]', async t => {
    const audio = `${fileHead('image', 'C:\\sounds\\tw%22o é.caf')}\r\nContent-Type: Audio/X-CAF; a=b`
    const { parts } = await forward(
      rawForm([
        [audio, 'caff'],
        [fileHead('mask', '..'), 'x'],
      ]),
      { files: { image: { send_as: 'image', keep: 'all' }, mask: { keep: 'first' } } },
    )
    t.same(parts, [
      ['image', 'tw"o é.caf', 'audio/x-caf', 'caff'],
      ['mask', 'mask-0.bin', 'application/octet-stream', 'x'],
    ])
  })

  t.test('a file intended for a file field that would be dropped is refused [15]', async t => {
    for (const name of ['image[a]', 'image[0][1]', 'image[', 'image[]x', 'mask[a]'])
      await t.rejects(
        forward(rawForm([model, part(name, one)])),
        { code: 'form_field_not_list', status: 400, param: name },
        caseName({ name }),
      )
  })

  t.test('a family without rules gets every file under its own name without brackets', async t => {
    const exchange = begin()
    const form = await read(rawForm([model, part('file', 'ID3rest'), part('images[3]', one)]), { exchange })
    const encoded = form.encode(form.parts)
    const sent = (await readAll(encoded.open())).toString('latin1')
    t.match(sent, 'name="file"; filename="file-0.mp3"\r\nContent-Type: audio/mpeg')
    t.match(sent, 'name="images"; filename="images-0.png"\r\nContent-Type: image/png')
    form.discard()
  })

  t.test('texts of one name are sent as often as they were received [15]', async t => {
    const body = rawForm([model, [textHead('tag'), 'a'], [textHead('tag'), 'b'], part('image', one)])
    t.same((await forward(body)).parts.slice(0, 3), [
      ['model', 'm'],
      ['tag', 'a'],
      ['tag', 'b'],
    ])
  })

  t.test('forms of common clients do not grow [15]', async t => {
    const clients = {
      'fetch of Node': '----formdata-undici-012345678901',
      httpx: '3f2a9c4d5e6f708192a3b4c5d6e7f809',
      curl: '------------------------d74496d66958873eAbCdEf',
      'a browser': '----WebKitFormBoundaryABCDEFGHIJKLMNOP',
      OkHttp: '01234567-0123-0123-0123-0123456789ab',
    }
    for (const [client, by] of Object.entries(clients)) {
      const head = `${fileHead('image', 'a.png')}\r\nContent-Type: image/png`
      const body = rawForm(
        [model, [textHead('prompt'), 'p'], [head, picture('png', 40)], [head, picture('png', 40)]],
        by,
      )
      const { bytes } = await forward(body, facet, type(`boundary=${by}`))
      t.ok(bytes <= body.length, `${client}: ${body.length} bytes became ${bytes}`)
    }
  })

  t.test('200 small images arrive in order', async t => {
    const pictures = Array.from({ length: 200 }, (_, index) => picture('png', 300, index + 1).toString('latin1'))
    const { parts } = await forward(rawForm([model, ...pictures.map(content => part('image[]', content))]))
    t.same(
      parts.slice(1).map(row => row[3]),
      pictures,
    )
    t.same(new Set(parts.slice(1).map(row => row[0])), new Set(['image[]']))
  })
})

t.test('a field that another plugin changes is sent as changed', async t => {
  const { read } = await startPlugin(t)
  const form = await read(good)
  const changed = withField(withField(form, 'model', 'upstream-name'), 'resolution', '1k')
  t.equal(readField(changed, 'model'), 'upstream-name')
  if (changed.kind !== 'form') throw new Error('no form')
  const sent = (await readAll(changed.encode(changed.parts).open())).toString('latin1')
  t.match(sent, 'name="model"\r\n\r\nupstream-name\r\n')
  t.match(sent, 'name="resolution"\r\n\r\n1k\r\n')
  form.discard()
})

t.test('the same form can be written more than once', async t => {
  const { read } = await startPlugin(t)
  for (const bytes of [100, 2 * MiB]) {
    const form = await read(rawForm([model, [fileHead('image'), picture('png', bytes)]]))
    const encoded = form.encode(form.parts)
    const [first, second] = await Promise.all([readAll(encoded.open()), readAll(encoded.open())])
    t.ok(first?.equals(second), caseName({ bytes }))
    t.not(encoded.contentType, form.encode(form.parts).contentType, 'each time with a different boundary')
    form.discard()
  }
})

t.test('two fields with one outgoing name are a configuration error', async t => {
  const clash = {
    files: { image: { send_as: 'picture', keep: 'all' }, mask: { send_as: 'picture', keep: 'first' } },
  } as const
  const inspect = (given: Admits<typeof facetSchema>) =>
    multipartRewrite.inspect?.(given, targetOf({ kind: 'none' }).family, [], new Map())
  t.match(inspect(clash), [{ severity: 'error', path: ['files', 'mask', 'send_as'] }])
  t.same(inspect(facet), [])
})

t.test("a file's type is read from its first bytes", async t => {
  const rows: readonly (readonly [head: string, type: string, extension: string])[] = [
    ['\x89PNG\r\n\x1a\n', 'image/png', 'png'],
    ['\xff\xd8\xff\xdb', 'image/jpeg', 'jpg'],
    ['GIF89a', 'image/gif', 'gif'],
    ['RIFF1234WEBP', 'image/webp', 'webp'],
    ['RIFF1234WAVE', 'audio/wav', 'wav'],
    ['\0\0\0\x1cftypavif', 'image/avif', 'avif'],
    ['\0\0\0\x1cftypheic', 'image/heic', 'heic'],
    ['\0\0\0\x1cftypM4A ', 'audio/mp4', 'm4a'],
    ['\0\0\0\x1cftypisom', 'video/mp4', 'mp4'],
    ['ID3\x04', 'audio/mpeg', 'mp3'],
    ['\xff\xfb\x90', 'audio/mpeg', 'mp3'],
    ['\xff\xf1\x50', 'audio/aac', 'aac'],
    ['OggS', 'audio/ogg', 'ogg'],
    ['fLaC', 'audio/flac', 'flac'],
    ['\x1a\x45\xdf\xa3', 'video/webm', 'webm'],
    ['\x89PN', 'application/octet-stream', 'bin'],
    ['\xff', 'application/octet-stream', 'bin'],
    ['', 'application/octet-stream', 'bin'],
  ]
  for (const [head, type, extension] of rows)
    t.same(sniff(Buffer.from(head, 'latin1')), { type, extension }, caseName({ head, type, extension }))
})

t.test('forms of real clients are read', async t => {
  const one = picture('png', 5000, 1)
  const two = picture('jpeg', 5000, 2)
  const mask = picture('png', 300, 3)
  const hashes = (...bytes: readonly Buffer[]) => bytes.map(sha256)
  const plugin = await startPlugin(t)
  type Read = {
    texts: readonly (readonly [string, string])[]
    names: readonly string[]
    hashes: readonly string[]
    chunked: boolean
  }
  const seen: Read[] = []
  const server = createServer((request, response) => {
    const length = request.headers['content-length']
    const how = {
      contentType: request.headers['content-type'] ?? '',
      bytes: length === undefined ? undefined : Number(length),
    }
    plugin.read(request, how).then(
      async form => {
        seen.push({
          texts: texts(form.parts),
          names: files(form.parts).map(file => file.name),
          hashes: await Promise.all(files(form.parts).map(file => file.sha256())),
          chunked: length === undefined,
        })
        form.discard()
        response.setHeader('content-type', 'application/json').end('{"created":1,"data":[]}')
      },
      (error: Failure) => response.writeHead(error.status).end(error.message),
    )
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const openai = new OpenAI({ baseURL, apiKey: 'sk-test', maxRetries: 0 })
  const folder = await mkdtemp(join(tmpdir(), 'multipart-rewrite-files-'))
  await writeFile(join(folder, 'one.png'), one)
  await writeFile(join(folder, 'two.jpg'), two)
  t.teardown(async () => {
    server.closeAllConnections()
    server.close()
    await rm(folder, { recursive: true })
  })

  t.test('openai-node with several images and a mask', async t => {
    await openai.images.edit({
      model: 'm',
      prompt: 'a "boat"\r\nat sea',
      mask: await toFile(mask, 'mask.png', { type: 'image/png' }),
      n: 2,
      size: '1024x1024',
      image: [await toFile(one, 'one.png', { type: 'image/png' }), await toFile(two, 'tw"o é.png')],
    })
    const read = seen.at(-1) as Read
    t.same(
      new Map(read.texts),
      new Map([
        ['model', 'm'],
        ['prompt', 'a "boat"\r\nat sea'],
        ['n', '2'],
        ['size', '1024x1024'],
      ]),
    )
    t.same(read.names, ['mask', 'image[]', 'image[]'])
    t.same(read.hashes, hashes(mask, one, two))
  })

  t.test('openai-node with files streamed from disk, in chunks and without a length', async t => {
    const image = [createReadStream(join(folder, 'one.png')), createReadStream(join(folder, 'two.jpg'))]
    await openai.images.edit({ model: 'm', prompt: 'p', image })
    const read = seen.at(-1) as Read
    t.same(read.names, ['image[]', 'image[]'])
    t.same(read.hashes, hashes(one, two))
    t.ok(read.chunked)
  })

  t.test('openai-python: prompt first, files last, a boundary of 32 hex digits', async t => {
    const by = '3f2a9c4d5e6f708192a3b4c5d6e7f809'
    const body = rawForm(
      [
        [textHead('prompt'), 'p'],
        [textHead('model'), 'm'],
        [`${fileHead('image[]')}\r\nContent-Type: image/png`, one],
        [`${fileHead('image[]', 'upload')}\r\nContent-Type: application/octet-stream`, two],
        [`${fileHead('mask')}\r\nContent-Type: image/png`, mask],
      ],
      by,
    )
    const form = await plugin.read(body, { contentType: type(`boundary=${by}`) })
    t.same(
      files(form.parts).map(file => file.name),
      ['image[]', 'image[]', 'mask'],
    )
    t.same(await Promise.all(files(form.parts).map(file => file.sha256())), hashes(one, two, mask))
    form.discard()
  })

  t.test('curl: numbered names, model last', async t => {
    const by = '------------------------d74496d66958873e'
    const body = rawForm(
      [
        [`${fileHead('image[0]')}\r\nContent-Type: image/png`, one],
        [`${fileHead('image[1]', 'two.jpg')}\r\nContent-Type: image/jpeg`, two],
        [textHead('prompt'), 'p'],
        [textHead('model'), 'm'],
      ],
      by,
    )
    const form = await plugin.read(body, { contentType: type(`boundary=${by}`) })
    t.same(
      files(form.parts).map(file => file.name),
      ['image[0]', 'image[1]'],
    )
    t.equal(readField(form, 'model'), 'm')
    form.discard()
  })

  t.same(contentType, type(`boundary=${boundary}`))
})
