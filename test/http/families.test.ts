import { toFile } from 'openai'
import t, { type Test } from 'tap'
import { startSimulator } from '../../src/simulator/index.ts'
import { familyA, familyB } from '../cases/sizes.ts'
import { png } from '../harness/pictures.ts'
import { type Started, start, type StartOptions } from '../harness/start.ts'
import type { Reaction } from '../harness/upstream.ts'
import { caseName } from '../harness/case-name.ts'

/** A gateway whose upstreams record what they receive and leave the answer to the simulator. */
async function startOnSimulator(t: Test, options: StartOptions = {}): Promise<Started> {
  const started = await start(t, options)
  const simulator = await startSimulator()
  t.teardown(() => simulator.close())
  for (const [name, upstream] of Object.entries(started.upstreams)) upstream.answer(passOnTo(simulator.url(name) ?? ''))
  return started
}

function passOnTo(url: string): Reaction {
  return async (res, received) => {
    const answer = await fetch(url + received.url, {
      method: received.method,
      headers: { 'content-type': String(received.headers['content-type']) },
      body: new Uint8Array(received.body),
    })
    res.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
    res.end(Buffer.from(await answer.arrayBuffer()))
  }
}

async function reference(width: number, height: number) {
  return toFile(png(width, height), 'reference.png', { type: 'image/png' })
}

t.test('family A: the returned picture determines the price, whatever size was requested', async t => {
  const { openai, upstreams, charges } = await startOnSimulator(t)
  for (const { size, actual } of familyA) {
    const answer = await openai.images.generate({
      model: 'alpha-image-2',
      prompt: `a boat at ${size}`,
      size,
      quality: 'high',
    })
    t.type(answer.data?.[0]?.b64_json, 'string', `${size}: base64 comes back`)
    t.strictSame(
      upstreams['alpha']?.received.at(-1)?.json(),
      { model: 'alpha-image-2', prompt: `a boat at ${size}`, size, quality: 'high' },
      `${size}: the upstream gets the size as it was sent`,
    )
    const [charge] = await charges()
    t.match(
      charge,
      {
        state: 'settled',
        size,
        quality: 'high',
        count: 1,
        tier: '2K',
        source: 'output',
        actual_size: actual,
        amount: '0.04',
        delivery: 'confirmed',
      },
      `${size}: billed by the output`,
    )
    t.equal(
      charge?.text,
      `大小 ${size}, 请求品质 high, 生成数量 1, 图片档位 2K, 来源 输出尺寸, 实际尺寸 ${actual}`,
      `${size}: the line of 2.5`,
    )
  }
})

t.test('family A: an edit follows its reference picture and is billed by the output', async t => {
  const { openai, upstreams, charges } = await startOnSimulator(t)
  for (const { size } of familyA) {
    await openai.images.edit({
      model: 'alpha-image-2',
      prompt: 'make it blue',
      image: await reference(300, 200),
      size,
    })
    const form = await upstreams['alpha']?.received.at(-1)?.form()
    t.equal(form?.get('size'), size, `${size}: forwarded as it is`)
    t.match(
      await charges(1),
      [{ size, tier: '2K', source: 'output', actual_size: '1536x1024', amount: '0.04' }],
      `${size}: billed by the output`,
    )
  }
})

for (const send of ['resolution and aspect_ratio', 'size as sent'] as const) {
  const edit: StartOptions['edit'] =
    send === 'size as sent' ? [[/send: \{ resolution:.*?"\{ratio\}" \}/, 'send: { size: as-sent }']] : []

  t.test(`family B, sending ${send}: the requested size sets the price, and the two-field table applies`, async t => {
    const { openai, upstreams, charges, url } = await startOnSimulator(t, { edit })
    const simulated = { generated: 'generated', edited: 'edited' } as const
    for (const row of familyB) {
      for (const kind of [simulated.generated, simulated.edited]) {
        const sizeField = row.size === undefined ? {} : { size: row.size as '1024x1024' }
        const answer =
          kind === 'generated'
            ? await openai.images.generate({
                model: 'beta-imagine-image',
                prompt: 'a boat',
                quality: 'high',
                ...sizeField,
              })
            : await openai.images.edit({
                model: 'beta-imagine-image',
                prompt: 'a boat',
                image: await reference(64, 64),
                ...sizeField,
              })
        const link = answer.data?.[0]?.url
        t.match(link, /^http/, `${row.size} ${kind}: a link comes back`)
        t.notOk(link?.startsWith(url), 'the link is the upstream’s own')
        const got = upstreams['beta']?.received.at(-1)
        const fields = kind === 'generated' ? got?.json() : Object.fromEntries((await got?.form()) ?? [])
        const { image: _image, ...sent } = fields ?? {}
        const wanted =
          send === 'size as sent'
            ? sizeField
            : { resolution: row.resolution, ...(row.ratio !== undefined && { aspect_ratio: row.ratio }) }
        t.strictSame(
          sent,
          { model: 'beta-imagine-image', prompt: 'a boat', ...wanted },
          `${row.size} ${kind}: what the upstream got`,
        )
        t.equal(await dimensionsOf(String(link)), row[kind], `${row.size} ${kind}: what came back`)
        t.match(
          await charges(1),
          [
            {
              size: row.size ?? null,
              count: 1,
              tier: row.tier,
              source: row.source,
              actual_size: null,
              amount: row.amount,
            },
          ],
          `${row.size} ${kind}: what was billed`,
        )
      }
    }
  })
}

t.test(
  '[13.17] the log shows the converted size: resolution and aspect_ratio for family B, size for family A',
  async t => {
    const { openai, logs } = await startOnSimulator(t)
    for (const [model, size, became] of [
      ['beta-imagine-image', '1920x1080', 'size → resolution, aspect_ratio'],
      ['beta-imagine-image', '2k', 'size → resolution'],
      ['alpha-image-2', '1536x1024', 'size'],
    ] as const) {
      await openai.images.generate({ model, prompt: 'a boat', size })
      t.match(await logs(1), [{ forwarded: ['model', 'prompt', became] }], caseName({ model, size }))
    }
    await openai.images.generate({ model: 'beta-imagine-image', prompt: 'a boat' })
    t.match(await logs(1), [{ forwarded: ['model', 'prompt'] }], 'no size, and none in the log')
  },
)

t.test('family B: the labels 1k and 2k set only resolution and tier', async t => {
  const { openai, upstreams, charges } = await startOnSimulator(t)
  for (const [size, tier, amount] of [
    ['1k', '1K', '0.02'],
    ['2k', '2K', '0.04'],
    ['2K', '2K', '0.04'],
  ] as const) {
    await openai.images.generate({ model: 'beta-imagine-image', prompt: 'a boat', size })
    t.strictSame(
      upstreams['beta']?.received.at(-1)?.json(),
      {
        model: 'beta-imagine-image',
        prompt: 'a boat',
        resolution: size.toLowerCase(),
      },
      caseName({ size, tier, amount }),
    )
    t.match(await charges(1), [{ size, tier, source: 'request', amount }], caseName({ size, tier, amount }))
  }
})

t.test('family B at 3840x2160 is billed 4K, and the charge warns and names the cheaper size', async t => {
  const { openai, charges } = await startOnSimulator(t)
  await openai.images.generate({ model: 'beta-imagine-image', prompt: 'a boat', size: '3840x2160' })
  const [charge] = await charges(1)
  t.equal(charge?.tier, '4K')
  t.match(charge?.warnings, [/billed 4K.*2048x1152 is billed 2K/])
})

t.test('family A renders response_format by itself: base64 by default, a data: URL for url', async t => {
  const { openai, upstreams } = await startOnSimulator(t)
  for (const format of [undefined, 'b64_json', 'url'] as const) {
    const answer = await openai.images.generate({
      model: 'alpha-image-2',
      prompt: 'a boat',
      ...(format && { response_format: format }),
    })
    t.notOk(
      'response_format' in (upstreams['alpha']?.received.at(-1)?.json() ?? {}),
      'never sent upstream, where it would be refused',
    )
    const [image] = answer.data ?? []
    if (format === 'url') {
      t.match(image?.url, /^data:image\/png;base64,iVBOR/, caseName({ format }))
      t.equal(image?.b64_json, undefined, caseName({ format }))
    } else t.match(image?.b64_json, /^iVBOR/, caseName({ format }))
  }
})

t.test('family B forwards response_format: links by default, base64 on request', async t => {
  const { openai, charges } = await startOnSimulator(t)
  const link = await openai.images.generate({ model: 'beta-imagine-image', prompt: 'a boat', size: '1024x1024' })
  t.match(link.data?.[0]?.url, /^http/)
  const bytes = await openai.images.generate({
    model: 'beta-imagine-image',
    prompt: 'a boat',
    size: '2048x1152',
    response_format: 'b64_json',
  })
  t.type(bytes.data?.[0]?.b64_json, 'string')
  t.match(
    await charges(1),
    [{ tier: '2K', source: 'request', actual_size: '2816x1584' }],
    'the actual size is told, and does not set the price',
  )
})

t.test('family A streams pictures as events, and bills the completed ones only', async t => {
  const { openai, charges } = await startOnSimulator(t)
  const seen: string[] = []
  const stream = await openai.images.generate({
    model: 'alpha-image-2',
    prompt: 'a boat',
    size: '1536x1024',
    stream: true,
    partial_images: 2,
  })
  for await (const event of stream) seen.push(event.type)
  t.strictSame(seen, ['image_generation.partial_image', 'image_generation.partial_image', 'image_generation.completed'])
  t.match(await charges(1), [
    { state: 'settled', count: 1, tier: '2K', source: 'output', actual_size: '1536x1024', amount: '0.04' },
  ])
})

t.test('family B does not stream: stream: true is refused, never answered by a plain body', async t => {
  const { post } = await startOnSimulator(t)
  const answer = await post('/v1/images/generations', { model: 'beta-imagine-image', prompt: 'a boat', stream: true })
  t.equal(answer.status, 400)
  t.match(await answer.json(), { error: { code: 'streaming_unsupported', param: 'stream' } })
})

/** Downloads a link from the simulator and reads the frame header of the JPEG. */
async function dimensionsOf(link: string): Promise<string> {
  const bytes = Buffer.from(await (await fetch(link)).arrayBuffer())
  if (bytes[0] === 0x89) return `${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`
  for (let at = 2; at < bytes.length; at += 2 + bytes.readUInt16BE(at + 2)) {
    const kind = bytes[at + 1] ?? 0
    if (kind >= 0xc0 && kind <= 0xc2) return `${bytes.readUInt16BE(at + 7)}x${bytes.readUInt16BE(at + 5)}`
  }
  throw new Error('no frame header')
}
