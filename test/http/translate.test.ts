import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { toFile } from 'openai'
import { jpeg, png } from '../harness/pictures.ts'
import { allCharges, checkBooks } from '../harness/shop.ts'
import type { TextEdit } from '../harness/edit-yaml.ts'
import { type Edits, start, type Started } from '../harness/start.ts'
import type { Reaction, Received, Upstream } from '../harness/upstream.ts'

/** A vendor that only the file describes; the test sets `translate` and `more`. */
function vendor(translate: string, more = ''): readonly TextEdit[] {
  return [
    ['dialect: openai, body: form, reuse: false', 'dialect: openai, body: form-or-json, reuse: false'],
    ['size-normalize, image-tier-billing, token-usage]', 'size-normalize, image-tier-billing, token-usage, translate]'],
    [
      '\nupstreams:\n',
      '\nupstreams:\n  maker:\n    url: "${MAKER_URL}/base"\n    credential: { header: x-maker-key, value: "secret-1" }\n',
    ],
    [
      '\nfamilies:\n',
      `
families:
  maker-picture:
    n_max: 4
    streams: [image.generate]
    forward:
      image.generate: { all: true }
      image.edit: { all: true }
    multipart-rewrite:
      files: { image: { send_as: "image" }, mask: { keep: first } }
    size-normalize:
      rule: snap
      resolutions: [{ label: 1K, long_edge_max: 1024 }, { label: 2K }]
      ratios: ["1:1", "16:9", "9:16"]
      otherwise: 1K
    image-tier-billing:
      tiers: [{ tier: 1K, long_edge_max: 1024 }, { tier: 2K }]
      tier_from: [output]
      otherwise: 2K
${more}
    translate:
${translate}
`,
    ],
    [
      '\nmodels:\n',
      '\nmodels:\n  maker-1: { family: maker-picture, upstream: maker, send_as: lab/maker-one, prices: { 1K: "0.01", 2K: "0.03" } }\n',
    ],
  ]
}

function described(title: string, edit: Edits, run: (t: Test, started: Started) => Promise<void>): void {
  void t.test(`[10] ${title}`, async t => {
    const started = await start(t, { edit, upstreams: ['maker'] })
    await run(t, started)
    await started.settled()
    // A charge under review keeps its hold until a person decides.
    const { books } = started.gateway.storage
    for (const { id, state } of await started.charges())
      if (state === 'needs_review') await books.resolve(id, 'void', 'a person', 'looked at')
    t.strictSame(await checkBooks(started.gateway), [], 'the books hold')
  })
}

const small = png(512, 512).toString('base64')
const large = png(1600, 900).toString('base64')
const ask = (more: object = {}) => ({ model: 'maker-1', prompt: 'a cat', ...more })

const parts = `
      request:
        contents: [{ role: user, parts: [{ text: "{prompt}" }, { inlineData: { mimeType: "{image.mime}", data: "{image.base64}" } }] }]
        generationConfig: { responseModalities: [IMAGE], imageConfig: { aspectRatio: "{ratio}", imageSize: "{resolution}" } }
      answer: { at: candidates.content.parts, picture: inlineData.data, skip_if: { thought: true } }
      usage: { input_tokens: usageMetadata.promptTokenCount, output_tokens: usageMetadata.candidatesTokenCount }
      fan_out: 2
      refused: [{ if: { promptFeedback.blockReason: any }, message: promptFeedback.blockReason }]
      stream: { each: answer }`
const calls = `
    calls:
      image.generate: { path: "/v1beta/models/{model:segment}:make", stream: { path: "/v1beta/models/{model}:stream", query: { alt: sse } } }
      image.edit: "/v1beta/models/{model}:make"`

const answer = (...pictures: string[]) => ({
  candidates: [
    {
      content: {
        parts: [{ text: 'Here it is' }, ...pictures.map(data => ({ inlineData: { mimeType: 'image/png', data } }))],
      },
    },
  ],
  usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 1290 },
})

described(
  'a request becomes the body of the vendor, at its path',
  vendor(parts, calls),
  async (t, { post, upstreams }) => {
    upstreams['maker']?.answer(answer(small))
    const res = await post('/v1/images/generations', ask({ size: '1920x1080', n: 1 }))
    t.equal(res.status, 200)
    t.match(await res.json(), { data: [{ b64_json: small }], usage: { input_tokens: 5, output_tokens: 1290 } })
    const [sent] = upstreams['maker']?.received ?? []
    t.match(sent, {
      method: 'POST',
      url: '/base/v1beta/models/lab%2Fmaker-one:make',
      headers: { 'x-maker-key': 'secret-1', 'content-type': 'application/json' },
    })
    t.strictSame(sent?.json(), {
      contents: [{ role: 'user', parts: [{ text: 'a cat' }] }],
      generationConfig: { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '16:9', imageSize: '2K' } },
    })
  },
)

described('files of a form become what stands in the JSON', vendor(parts, calls), async (t, { openai, upstreams }) => {
  upstreams['maker']?.answer(answer(small))
  const files = await Promise.all([toFile(png(40, 30), 'a.png'), toFile(jpeg(50, 60), 'b.jpg')])
  await openai.images.edit({ model: 'maker-1', prompt: 'wider', image: files })
  const [sent] = upstreams['maker']?.received ?? []
  t.match(sent?.json(), {
    contents: [
      {
        parts: [
          { text: 'wider' },
          { inlineData: { mimeType: 'image/png', data: png(40, 30).toString('base64') } },
          { inlineData: { mimeType: 'image/jpeg', data: jpeg(50, 60).toString('base64') } },
        ],
      },
    ],
  })
  t.equal(sent?.headers['content-length'], String(sent?.body.length), 'its length is declared before it')
})

described(
  'pictures that are asked for together are made one by one, and charged by their own pixels',
  vendor(parts, calls),
  async (t, { post, upstreams, charges }) => {
    const pictures = [small, large, small]
    upstreams['maker']?.answer((res: ServerResponse) => res.end(JSON.stringify(answer(pictures.shift() ?? ''))))
    const res = await post('/v1/images/generations', ask({ n: 3 }))
    const { data } = (await res.json()) as { data: { b64_json: string }[] }
    t.equal(data.length, 3)
    t.equal(upstreams['maker']?.received.length, 3)
    const [charge] = await charges()
    t.match(charge, { state: 'settled', amount: '0.05' })
  },
)

described(
  'a part that failed takes nothing from those that came',
  vendor(parts, calls),
  async (t, { post, upstreams, charges }) => {
    let calls = 0
    upstreams['maker']?.answer((res: ServerResponse) => {
      if (++calls === 2) res.statusCode = 500
      res.end(JSON.stringify(calls === 2 ? { error: { message: 'out of paint' } } : answer(small)))
    })
    const res = await post('/v1/images/generations', ask({ n: 3 }))
    t.equal(res.status, 200)
    t.equal(((await res.json()) as { data: unknown[] }).data.length, 2)
    t.match(await charges(), [{ state: 'settled', amount: '0.02' }])
  },
)

described(
  'where all fail the caller reads what the vendor says, and pays nothing',
  vendor(parts, calls),
  async (t, { post, upstreams, charges }) => {
    upstreams['maker']?.answer((res: ServerResponse) => {
      res.statusCode = 429
      res.setHeader('retry-after', '7')
      res.end(JSON.stringify([{ error: { message: 'slow down', code: 'RESOURCE_EXHAUSTED' } }]))
    })
    const res = await post('/v1/images/generations', ask({ n: 3 }))
    t.equal(res.status, 429)
    t.equal(res.headers.get('retry-after'), '7')
    t.match(await res.json(), { error: { message: 'slow down', code: 'RESOURCE_EXHAUSTED' } })
    t.match(await charges(), [{ state: 'voided' }])
  },
)

described('pictures of a thought are none', vendor(parts, calls), async (t, { post, upstreams, charges }) => {
  upstreams['maker']?.answer({
    candidates: [
      {
        content: {
          parts: [
            { thought: true, inlineData: { data: large } },
            { inlineData: { data: large }, thought: true },
            { inlineData: { data: small } },
          ],
        },
      },
    ],
  })
  const res = await post('/v1/images/generations', ask())
  t.match(await res.json(), { data: [{ b64_json: small }] })
  t.match(await charges(), [{ amount: '0.01' }])
})

described(
  'a refusal of status 200 is one, and costs nothing',
  vendor(parts, calls),
  async (t, { post, upstreams, charges }) => {
    upstreams['maker']?.answer({ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } })
    const res = await post('/v1/images/generations', ask())
    t.equal(res.status, 400)
    t.match(await res.json(), { error: { code: 'content_refused', message: 'PROHIBITED_CONTENT' } })
    t.match(await charges(), [{ state: 'voided', reason: 'upstream_refused' }])
  },
)

described(
  'an answer that no description covers goes nowhere, and is for a person to see',
  vendor(parts, calls),
  async (t, { post, upstreams, charges, logs }) => {
    upstreams['maker']?.answer({ output: { picture: large } })
    const res = await post('/v1/images/generations', ask())
    t.equal(res.status, 502)
    const text = await res.text()
    t.match(text, 'upstream_answer_undescribed')
    t.match(text, 'output.picture')
    t.notMatch(text, large.slice(100, 200))
    t.match(await charges(), [
      { state: 'needs_review', reason: 'answer_unrecognised: no picture; output, output.picture', held: '0.03' },
    ])
    t.match(await logs(), [{ error: 'upstream_answer_undescribed' }])
  },
)

described(
  'a stream of whole answers becomes events of pictures',
  vendor(parts, calls),
  async (t, { openai, upstreams, charges }) => {
    upstreams['maker']?.answer((res: ServerResponse, { url }: Received) => {
      t.equal(url, '/base/v1beta/models/lab/maker-one:stream?alt=sse')
      res.setHeader('content-type', 'text/event-stream')
      for (const one of [answer(), answer(small), { usageMetadata: { promptTokenCount: 5 } }])
        res.write(`data: ${JSON.stringify(one)}\r\n\r\n`)
      res.end()
    })
    const events = await openai.images.generate({ model: 'maker-1', prompt: 'a cat', stream: true })
    const seen: object[] = []
    for await (const event of events) seen.push(event)
    t.match(seen, [{ type: 'image_generation.completed', b64_json: small }])
    t.match(await charges(), [{ state: 'settled', amount: '0.01' }])
  },
)

const roles = `
      stream:
        size: size
        events: { image_generation.partial_succeeded: image, image_generation.partial_failed: failed, image_generation.completed: done, error: error }`

function events(...list: readonly object[]): Reaction {
  return res => {
    res.setHeader('content-type', 'text/event-stream')
    for (const one of list) res.write(`event: ${(one as { type: string }).type}\ndata: ${JSON.stringify(one)}\n\n`)
    res.end('data: [DONE]\n\n')
  }
}

described(
  'events are what their family says they are, whatever their names say elsewhere',
  vendor(roles),
  async (t, { openai, upstreams, charges }) => {
    upstreams['maker']?.answer(
      events(
        { type: 'image_generation.partial_succeeded', image_index: 0, b64_json: small },
        { type: 'image_generation.partial_failed', image_index: 1, error: { message: 'no' } },
        {
          type: 'image_generation.partial_succeeded',
          image_index: 2,
          url: 'https://vendor.example/x.png',
          size: '2048x2048',
        },
        { type: 'image_generation.completed', usage: { generated_images: 2 } },
      ),
    )
    const stream = await openai.images.generate({ model: 'maker-1', prompt: 'a cat', n: 3, stream: true })
    const seen: object[] = []
    for await (const event of stream) seen.push(event)
    t.match(seen, [
      { type: 'image_generation.completed', b64_json: small },
      { type: 'image_generation.completed', url: 'https://vendor.example/x.png' },
    ])
    t.match(await charges(), [{ state: 'settled', amount: '0.04' }])
  },
)

for (const [title, more] of [
  ['in the same packet', ''],
  ['that is waited for, for what it tells', '\n      facts: { paint: paint.kind }'],
] as const)
  described(
    `a picture that came is handed on and charged, though an error follows ${title}`,
    vendor(`${roles}${more}`),
    async (t, { openai, upstreams, charges }) => {
      const came = { type: 'image_generation.partial_succeeded', b64_json: small }
      const lost = { type: 'error', error: { message: 'out of paint' } }
      upstreams['maker']?.answer((res: ServerResponse) => {
        res.setHeader('content-type', 'text/event-stream')
        res.end([came, lost].map(one => `data: ${JSON.stringify(one)}\n\n`).join(''))
      })
      const stream = await openai.images.generate({ model: 'maker-1', prompt: 'a cat', n: 3, stream: true })
      const seen: object[] = []
      await t.rejects(
        (async () => {
          for await (const event of stream) seen.push(event)
        })(),
        /out of paint/,
        title,
      )
      t.match(seen, [{ b64_json: small }], title)
      t.match(await charges(), [{ state: 'settled', amount: '0.01' }], title)
    },
  )

described(
  'an error of status 200 is one, in its own words, and costs nothing',
  vendor(parts, calls),
  async (t, { post, upstreams, charges }) => {
    upstreams['maker']?.answer({ error: { message: 'out of paint', code: 'E7' } })
    const res = await post('/v1/images/generations', ask())
    t.equal(res.status, 502)
    t.match(await res.json(), { error: { message: 'out of paint', code: 'E7' } })
    t.match(await charges(), [{ state: 'voided' }])
  },
)

described(
  'a picture in an event without a role goes nowhere',
  vendor(roles),
  async (t, { post, upstreams, charges }) => {
    upstreams['maker']?.answer(events({ type: 'image_generation.surprise', b64_json: small }))
    const res = await post('/v1/images/generations', ask({ stream: true }))
    const text = await res.text()
    t.notMatch(text, small.slice(20, 80))
    t.match(text, 'upstream_answer_undescribed')
    t.match(await charges(), [{ state: 'needs_review' }])
  },
)

const bytes = `
      body: form
      request: { prompt: "{prompt}", aspect_ratio: "{ratio}", image: "{image.file}", mode: image-to-image }
      fan_out: 2
      answer: { bytes: true }
      refused: [{ if: { header.finish-reason: CONTENT_FILTERED }, message: header.finish-reason }]`

described(
  'who leaves is charged for what was made',
  vendor(parts, calls),
  async (t, { openai, upstreams, charges }) => {
    const left = new AbortController()
    upstreams['maker']?.answer((res: ServerResponse) => {
      left.abort()
      res.end(JSON.stringify(answer(small)))
    })
    await t.rejects(openai.images.generate({ model: 'maker-1', prompt: 'a cat' }, { signal: left.signal }))
    t.match(await charges(), [{ state: 'settled', amount: '0.01' }])
  },
)

described(
  'fields that a template does not name go on with their own types, and none says how many where each request is for one',
  vendor(`
      request: { input: { words: "{prompt}" } }
      rest: input
      values: { style: { bold: heavy } }
      stream: { each: answer }
      fan_out: 2`),
  async (t, { openai, upstreams }) => {
    upstreams['maker']?.answer({ data: [{ b64_json: small }] })
    const image = await toFile(png(40, 30), 'a.png')
    const more = { seed: 7, stream: false, ratio: '2:1', style: 'bold' } as { stream: false }
    await openai.images.edit({ model: 'maker-1', prompt: '12', image, n: 2, ...more })
    const sent = upstreams['maker']?.received.map(one => one.json()) ?? []
    const input = { words: '12', seed: 7, stream: false, ratio: '2:1', style: 'heavy' }
    t.strictSame(sent, [{ input }, { input }])
  },
)

described(
  'bytes that are the picture itself become base64 while they pass',
  vendor(bytes),
  async (t, { openai, upstreams, charges }) => {
    const made = png(1600, 900)
    upstreams['maker']?.answer((res: ServerResponse) => {
      res.setHeader('content-type', 'image/png')
      for (let at = 0; at < made.length; at += 1000) res.write(made.subarray(at, at + 1000))
      res.end()
    })
    const { data } = await openai.images.generate({ model: 'maker-1', prompt: 'a cat', size: '1920x1080' })
    t.equal(data?.[0]?.b64_json, made.toString('base64'))
    const sent = await upstreams['maker']?.received[0]?.form()
    t.strictSame(
      [...(sent ?? [])],
      [
        ['prompt', 'a cat'],
        ['aspect_ratio', '16:9'],
        ['mode', 'image-to-image'],
      ],
    )
    const edited = await openai.images.edit({
      model: 'maker-1',
      prompt: 'wider',
      image: await toFile(png(40, 30), 'a.png', { type: 'image/png' }),
    })
    t.equal(edited.data?.length, 1)
    const form = await upstreams['maker']?.received[1]?.form()
    const file = form?.get('image') as File
    t.strictSame(Buffer.from(await file.arrayBuffer()), png(40, 30))
    t.equal(file.type, 'image/png')
    t.match(await charges(), [{ amount: '0.03' }, { amount: '0.03' }])
  },
)

described(
  'a page of status 200 is no picture, and a head that says no is a refusal',
  vendor(bytes),
  async (t, { post, upstreams, charges }) => {
    upstreams['maker']?.answerOnce((res: ServerResponse) => {
      res.setHeader('content-type', 'image/png')
      res.end('<html>Everything is fine, and this is no picture</html>')
    })
    t.equal((await post('/v1/images/generations', ask())).status, 502)
    upstreams['maker']?.answerOnce((res: ServerResponse) => {
      res.setHeader('content-type', 'image/png')
      res.setHeader('finish-reason', 'CONTENT_FILTERED')
      res.end(png(64, 64))
    })
    const res = await post('/v1/images/generations', ask())
    t.equal(res.status, 400)
    t.match(await res.json(), { error: { code: 'content_refused' } })
    t.match(await charges(), [{ state: 'voided' }, { state: 'needs_review' }])
  },
)

described(
  'an answer without a byte costs nothing and keeps no hold',
  vendor('      answer: { at: data, picture: b64_json }\n      stream: { each: answer }'),
  async (t, { post, upstreams, charges }) => {
    for (const type of ['application/json', 'text/event-stream']) {
      upstreams['maker']?.answerOnce((res: ServerResponse) => void res.setHeader('content-type', type).end())
      t.equal((await post('/v1/images/generations', ask())).status, 502, type)
      t.match((await charges()).at(-1), { state: 'voided', reason: 'zero_images', held: '0.00' }, type)
    }
  },
)

described(
  'an edit may be JSON with pictures as data: URLs, and be sent as what the vendor takes',
  vendor(`
      request: { prompt: "{prompt}", image: { type: image_url, url: "{image.only.data_url}" }, images: [{ url: "{image.several.url}" }] }
      fan_out: 2`),
  async (t, { post, upstreams, charges }) => {
    upstreams['maker']?.answer({ data: [{ b64_json: small }] })
    const url = `data:image/png;base64,${small}`
    t.equal((await post('/v1/images/edits', ask({ image: url }))).status, 200)
    t.equal(
      (await post('/v1/images/edits', ask({ images: [{ image_url: url }, { image_url: 'https://a.example/b.png' }] })))
        .status,
      200,
    )
    const sent = upstreams['maker']?.received.map(one => one.json())
    t.strictSame(sent, [
      { prompt: 'a cat', image: { type: 'image_url', url } },
      { prompt: 'a cat', images: [{ url }, { url: 'https://a.example/b.png' }] },
    ])
    const bad = await post('/v1/images/edits', ask({ image: 'file:///etc/passwd' }))
    t.equal(bad.status, 400)
    t.match(await bad.json(), { error: { code: 'picture_unreadable', param: 'image' } })
    t.match(await charges(), [{ state: 'voided' }, { amount: '0.01' }, { amount: '0.01' }])
  },
)

const linked = (how: string): string => `
      answer: { at: output, picture: "." }
      stream: { each: answer }
      links: { do: ${how}, hosts: ["*.elsewhere.example"], max: 1MiB }`

/** An upstream whose answers link to itself, and the linked files. */
function linking(started: Started, made: Buffer, status = 200): Upstream {
  const upstream = started.upstreams['maker'] as Upstream
  upstream.answer((res: ServerResponse, { method, headers }: Received) => {
    if (method === 'POST') {
      res.setHeader('content-type', 'application/json')
      res.end(JSON.stringify({ output: [`${upstream.url}/files/one.png?signed=1`] }))
      return
    }
    // A signed link rejects requests that also have a key.
    res.statusCode = headers['x-maker-key'] === undefined ? status : 400
    res.end(made)
  })
  return upstream
}

const wide = png(1600, 900)

described('a link is handed on as it is, and its key is not told to it', vendor(linked('pass')), async (t, started) => {
  const { url } = linking(started, wide)
  const res = await started.post('/v1/images/generations', ask())
  t.match(await res.json(), { data: [{ url: `${url}/files/one.png?signed=1` }] })
  t.equal(started.upstreams['maker']?.received.length, 1)
})

described(
  'a link is followed, and the picture handed on and charged by its pixels',
  vendor(linked('inline')),
  async (t, started) => {
    const { received } = linking(started, wide)
    const res = await started.post('/v1/images/generations', ask())
    t.match(await res.json(), { data: [{ b64_json: wide.toString('base64') }] })
    t.match(received[1], { method: 'GET', url: '/files/one.png?signed=1' })
    t.match(await started.charges(), [{ amount: '0.03', lines: [{ size: '1600x900' }] }])
  },
)

described('a link is followed for whoever asks for base64', vendor(linked('as-asked')), async (t, started) => {
  const { url } = linking(started, wide)
  const plain = await started.post('/v1/images/generations', ask())
  t.match(await plain.json(), { data: [{ url: `${url}/files/one.png?signed=1` }] })
  const answer = await started.post('/v1/images/generations', ask({ response_format: 'b64_json' }))
  t.match(await answer.json(), { data: [{ b64_json: wide.toString('base64') }] })
})

described('a link is handed on when its pixels have been read', vendor(linked('measure')), async (t, started) => {
  const { url, received } = linking(started, Buffer.concat([wide, Buffer.alloc(500_000)]))
  const res = await started.post('/v1/images/generations', ask())
  t.match(await res.json(), { data: [{ url: `${url}/files/one.png?signed=1` }] })
  t.equal(received[1]?.headers['range'], 'bytes=0-65535')
  t.match(await started.charges(), [{ amount: '0.03', lines: [{ size: '1600x900' }] }])
})

described('a link that leads nowhere is handed on all the same', vendor(linked('inline')), async (t, started) => {
  const { url } = linking(started, Buffer.from('gone'), 404)
  const res = await started.post('/v1/images/generations', ask())
  t.match(await res.json(), { data: [{ url: `${url}/files/one.png?signed=1` }] })
  t.match(await started.charges(), [{ state: 'settled' }])
})

described(
  'a link to more than the maximum is handed on, if its length says so',
  vendor(linked('inline')),
  async (t, started) => {
    const { url } = linking(started, Buffer.concat([wide, Buffer.alloc(2 * 1024 * 1024)]))
    const res = await started.post('/v1/images/generations', ask())
    t.match(await res.json(), { data: [{ url: `${url}/files/one.png?signed=1` }] })
    t.match(await started.charges(), [{ state: 'settled', amount: '0.03' }])
  },
)

/** Links whose first download breaks off after the given share; later ones get the given answers. */
function breaking(started: Started, made: Buffer, ...later: readonly Reaction[]): Upstream {
  const upstream = linking(started, made)
  const link: Reaction = res => {
    res.setHeader('content-type', 'application/json')
    res.end(JSON.stringify({ output: [`${upstream.url}/files/one.png?signed=1`] }))
  }
  for (const one of [link, half(made), ...later]) upstream.answerOnce(one)
  return upstream
}

const half =
  (made: Buffer): Reaction =>
  res => {
    res.writeHead(200, { 'content-type': 'image/png', 'content-length': made.length })
    res.write(made.subarray(0, made.length >> 1), () => res.destroy())
  }

const heavy = Buffer.concat([wide, Buffer.alloc(400_000, 'pixels')])

described(
  'a linked picture that breaks off is downloaded again, and continued where it broke off',
  vendor(linked('inline')),
  async (t, started) => {
    const { received } = breaking(started, heavy)
    const res = await started.post('/v1/images/generations', ask())
    t.match(await res.json(), { data: [{ b64_json: heavy.toString('base64') }] })
    t.same(
      received.map(({ method }) => method),
      ['POST', 'GET', 'GET'],
    )
    t.match(await started.charges(), [{ state: 'settled', amount: '0.03', lines: [{ size: '1600x900' }] }])
  },
)

for (const [name, later] of Object.entries<Reaction>({
  'another picture': res => void res.end(Buffer.concat([wide, Buffer.alloc(400_000, 'others')])),
  'a shorter picture': res => void res.end(heavy.subarray(0, 1_000)),
  'a picture that breaks off too': half(heavy),
  'a refusal': res => void res.writeHead(403).end(),
  'more than the maximum': res => void res.end(Buffer.concat([heavy, Buffer.alloc(1024 * 1024)])),
}))
  described(
    `a linked picture that breaks off ends the answer if the second download is ${name}`,
    vendor(linked('inline')),
    async (t, started) => {
      const { received } = breaking(started, heavy, later)
      await t.rejects(
        started.post('/v1/images/generations', ask()).then(res => res.text()),
        { message: 'terminated' },
        name,
      )
      t.equal(received.length, 3, name)
      t.match(await started.charges(), [{ state: 'needs_review' }], name)
    },
  )

described('a link to a host that nobody has named is not followed', vendor(linked('inline')), async (t, started) => {
  const other = started.upstreams['maker'] as Upstream
  other.answer({ output: ['http://169.254.169.254/latest/meta-data', 'https://10.0.0.1/x.png'] })
  const res = await started.post('/v1/images/generations', ask())
  t.match(await res.json(), {
    data: [{ url: 'http://169.254.169.254/latest/meta-data' }, { url: 'https://10.0.0.1/x.png' }],
  })
})

const sent = '      request: { prompt: "{prompt}", n: "{n}" }\n'

void t.test('[10.2] a free request is not repeated endlessly', async t => {
  const edit = vendor(`${sent}      fan_out: 2`).map(
    ([find, put]): TextEdit => [
      find,
      typeof put === 'string'
        ? put.replace(/prices: \{.*?\}/, 'price: free').replace(/image-tier-billing:[^]*?otherwise: 2K\n/, '')
        : put,
    ],
  )
  const { post, upstreams } = await start(t, { edit, upstreams: ['maker'] })
  upstreams['maker']?.answer({ data: [{ b64_json: small }] })
  t.equal((await post('/v1/images/generations', ask({ n: 4 }))).status, 200)
  for (const n of [5, 4_294_967_296]) {
    const res = await post('/v1/images/generations', ask({ n }))
    t.equal(res.status, 400, `n ${n}`)
    t.match(await res.json(), { error: { code: 'too_many_pictures', param: 'n' } }, `n ${n}`)
  }
  t.equal(upstreams['maker']?.received.length, 4)
})

const http10 = 'HTTP/1.0 200 OK\r\ncontent-type: image/png\r\n\r\n'

described(
  'half of a picture is not taken for a whole one',
  vendor(`${sent}      answer: { bytes: true }`),
  async (t, { post, upstreams, charges }) => {
    const whole = png(512, 512)
    const half = whole.subarray(0, whole.length >> 1)
    upstreams['maker']?.answer(
      (res: ServerResponse) => void res.socket?.end(Buffer.concat([Buffer.from(http10), half])),
    )
    t.equal((await post('/v1/images/generations', ask())).status, 502)
    t.match(await charges(), [{ state: 'needs_review' }])
    upstreams['maker']?.answer(
      (res: ServerResponse) => void res.socket?.end(Buffer.concat([Buffer.from(http10), whole])),
    )
    t.match(await (await post('/v1/images/generations', ask())).json(), { data: [{ b64_json: small }] })
    upstreams['maker']?.answer((res: ServerResponse) => {
      res.writeHead(206, { 'content-type': 'image/png' })
      res.end(half)
    })
    t.equal((await post('/v1/images/generations', ask())).status, 502)
  },
)

/** The same edit with prices by quality instead of tiers. */
function byQuality([find, put]: TextEdit): TextEdit {
  if (typeof put !== 'string') return [find, put]
  const priced = put
    .replace('prices: { 1K: "0.01", 2K: "0.03" }', 'prices: { low: "0.01", high: "0.20" }')
    .replace(/tiers: .*\n/, 'price_by: [quality]\n')
    .replace(/ *tier_from: .*\n/, '')
    .replace(/otherwise: 2K\n$/m, 'otherwise: high\n')
  return [find, priced]
}

described(
  'pictures of several answers go by what their own answer says',
  vendor(`${sent}      fan_out: 2\n      facts: { quality: quality }`).map(byQuality),
  async (t, { post, upstreams, charges }) => {
    const says = ['high', 'low', undefined]
    upstreams['maker']?.answer((res: ServerResponse) => {
      res.setHeader('content-type', 'application/json')
      res.end(JSON.stringify({ data: [{ b64_json: small }], quality: says.shift() }))
    })
    t.equal((await post('/v1/images/generations', ask({ n: 3 }))).status, 200)
    const [charge] = await charges()
    t.match(charge, { amount: '0.41', lines: [{ tier: 'high' }, { tier: 'low' }, { tier: 'high' }] })
  },
)

described(
  'pictures under both names of the field are all sent',
  vendor('      request: { prompt: "{prompt}", n: "{n}", pictures: ["{image.data_url}"] }'),
  async (t, { post, upstreams }) => {
    upstreams['maker']?.answer({ data: [{ b64_json: small }] })
    const url = (text: string): string => `data:image/png;base64,${text}`
    const body = ask({ image: url('AAAA'), images: [url('BBBB'), { url: url('CCCC') }], n: 1 })
    t.equal((await post('/v1/images/edits', body)).status, 200)
    t.match(upstreams['maker']?.received.at(-1)?.json(), { pictures: [url('AAAA'), url('BBBB'), url('CCCC')] })
    t.equal((await post('/v1/images/edits', ask({ image: '', images: [url('BBBB')], n: 1 }))).status, 200)
    t.match(upstreams['maker']?.received.at(-1)?.json(), { pictures: [url('BBBB')] })
  },
)

described(
  'a value in capitals is sent as the value that it is charged as',
  vendor(`
      request: { prompt: "{prompt}", n: "{n}", speed: "{quality}" }
      values: { quality: { low: TURBO, otherwise: QUALITY } }`).map(byQuality),
  async (t, { post, upstreams, charges }) => {
    upstreams['maker']?.answer({ data: [{ b64_json: small }] })
    t.equal((await post('/v1/images/generations', ask({ quality: 'LOW' }))).status, 200)
    t.match(await charges(1), [{ amount: '0.01' }])
    t.match(upstreams['maker']?.received[0]?.json(), { speed: 'TURBO' })
  },
)

described(
  'the tokens of every answer are charged, and held',
  vendor(`${sent}      fan_out: 2\n      facts: { tokens: usage.tokens }`).map(
    ([find, put]): TextEdit => [
      find,
      typeof put === 'string'
        ? put
            .replace('prices: { 1K: "0.01", 2K: "0.03" }', 'prices: { out: "10" }')
            .replace(/tiers: .*\n/, 'lines: [{ per: token, from: tokens, price: out, max: 10000 }]\n')
            .replace(/ *tier_from: .*\n/, '')
            .replace(/ *otherwise: 2K\n$/m, '\n')
        : put,
    ],
  ),
  async (t, { post, upstreams, gateway, settled }) => {
    const counts = [1000, 2000, 4000]
    upstreams['maker']?.answer((res: ServerResponse) => {
      res.setHeader('content-type', 'application/json')
      res.end(JSON.stringify({ data: [{ b64_json: small }], usage: { tokens: counts.shift() } }))
    })
    t.equal((await post('/v1/images/generations', ask({ n: 3 }))).status, 200)
    await settled()
    t.match(await allCharges(gateway.storage.books), [{ state: 'settled', amount: 70_000, hold: 300_000 }])
  },
)

described(
  'a picture before an error goes out in whatever pieces they come, and the error quotes no key',
  vendor(`${sent}      stream: { events: { image: image, error: error } }`),
  async (t, { post, upstreams, charges }) => {
    const events = [
      `event: image\ndata: {"type":"image","b64_json":"${small}"}\n\n`,
      'event: error\ndata: {"type":"error","error":{"message":"bad key secret-1"}}\n\n',
    ]
    upstreams['maker']?.answer((res: ServerResponse) => {
      res.setHeader('content-type', 'text/event-stream')
      res.end(events.join(''))
    })
    const text = await (await post('/v1/images/generations', ask({ stream: true }))).text()
    t.equal(text.split(small).length, 2)
    t.match(text, /bad key \*{8}/)
    t.notMatch(text, /secret-1/)
    t.match(await charges(), [{ state: 'settled', amount: '0.01' }])
  },
)

const numbered = `
      stream: { index: image_index, events: { picture: image, error: error } }`

described(
  'an event that comes again is one picture, by its number',
  vendor(numbered),
  async (t, { openai, upstreams, charges }) => {
    const one = { type: 'picture', image_index: 0, b64_json: small }
    upstreams['maker']?.answer(events(one, one, { ...one, image_index: 1 }))
    const stream = await openai.images.generate({ model: 'maker-1', prompt: 'a cat', n: 2, stream: true })
    const seen: object[] = []
    for await (const event of stream) seen.push(event)
    t.equal(seen.length, 2)
    t.match(await charges(), [{ state: 'settled', amount: '0.02' }])
  },
)

described(
  'a file becomes text of a form where the vendor wants text',
  vendor(`
      body: form
      fan_out: 1
      request: { prompt: "{prompt}", picture: "{image.data_url}", plain: "{image.only.base64}" }`),
  async (t, { openai, upstreams }) => {
    upstreams['maker']?.answer({ data: [{ b64_json: small }] })
    const image = await toFile(png(40, 30), 'a.png', { type: 'image/png' })
    await openai.images.edit({ model: 'maker-1', prompt: 'wider', image })
    const form = await upstreams['maker']?.received[0]?.form()
    const base64 = png(40, 30).toString('base64')
    t.strictSame(
      [...(form ?? [])],
      [
        ['prompt', 'wider'],
        ['picture', `data:image/png;base64,${base64}`],
        ['plain', base64],
      ],
    )
  },
)
