import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { picture } from '../harness/pictures.ts'
import { at, eventsIn, follow, formOf, openVendors, pictureIn } from '../harness/vendors.ts'

const vendors = await openVendors()
const small = picture(40, 30).b64_json
const dataUrl = `data:image/png;base64,${small}`

t.test('seedream: one address for everything', async t => {
  const seedream = vendors.vendor('seedream', { authorization: 'Bearer any' })
  const path = '/api/v3/images/generations'
  const ask = async (prompt: string, more: object = {}, model = 'seedream-4-0-250828') =>
    seedream.post(path, { model, prompt, ...more })
  const set = (count: number) => ({
    sequential_image_generation: 'auto',
    sequential_image_generation_options: { max_images: count },
  })

  t.test('a tier has its own size, which the item reports', async t => {
    const answer = await ask('s1')
    t.match(answer.json, {
      data: [{ size: '1760x2368', output_format: 'jpeg' }],
      usage: { generated_images: 1, output_tokens: 16280 },
    })
    t.equal(await follow(at(answer.json, 'data.0.url')), '1760x2368 jpg')
    const sized = await ask('s1', { size: '1024x1024', response_format: 'b64_json', image: [dataUrl, dataUrl] })
    t.equal(pictureIn(at(sized.json, 'data.0.b64_json')), '1024x1024 jpg')
    t.match(sized.json, { usage: { input_images: 2 } })
    t.match(await seedream.made('s1'), { pictures: 2, cost: '0.06' })
  })

  t.test('in a set a failed picture is listed among the others, and is not counted', async t => {
    const answer = await ask('s2 [[half]]', set(4))
    t.match(answer.json, {
      data: [{ url: String }, { error: { code: String } }, { url: String }, { error: {} }],
      usage: { generated_images: 2 },
    })
    t.match(await seedream.made('s2 [[half]]'), { pictures: 2, failed: 2, cost: '0.06' })
    t.match(await ask('s2 [[moderated]]', set(3)), { status: 400, json: { error: { code: /Sensitive/ } } })
  })

  t.test('pixels decide the price of pro, and layers cost half', async t => {
    await ask('s3', { size: '1K' }, 'doubao-seedream-5-0-pro')
    await ask('s3', { size: '2048x2048' }, 'doubao-seedream-5-0-pro')
    t.match(await seedream.made('s3'), { cost: '0.135' })
    const layers = await ask('s3 layers', { size: '1K', layer_decomposition: true }, 'doubao-seedream-5-0-pro')
    t.match(layers.json, {
      data: [{ z_index: 0, size: '880x1184' }, {}, {}, { z_index: 3, size: '440x592', bounding_box: {} }],
    })
    t.match(await seedream.made('s3 layers'), { pictures: 4, cost: '0.09' })
  })

  t.test('in its stream partial_succeeded is a final picture and completed has none', async t => {
    const answer = await ask('s4 [[half]]', { ...set(2), stream: true })
    t.same(
      eventsIn(answer.text).map(({ name }) => name),
      ['partial_succeeded', 'partial_failed', 'completed']
        .map(word => `image_generation.${word}`)
        .concat(undefined as never),
    )
    t.match(eventsIn(answer.text), [
      { data: { image_index: 0, url: String, size: '1760x2368' } },
      { data: { image_index: 1, error: { code: String } } },
      { data: { usage: { generated_images: 1 } } },
    ])
    t.ok(answer.text.endsWith('data: [DONE]\n\n'))
    t.match(await ask('s4', { stream: true }, 'doubao-seedream-5-0-pro'), {
      status: 400,
      json: { error: { param: 'stream' } },
    })
  })

  t.test('an unknown field is refused', async t => {
    for (const [more, param] of [
      [{ n: 2 }, 'n'],
      [{ quality: 'high' }, 'quality'],
      [{ size: '2k' }, 'size'],
      [{ size: '512x512' }, 'size'],
      [{ image: 'none' }, 'image'],
    ] as const)
      t.match(await ask('x', more), { status: 400, json: { error: { code: 'InvalidParameter', param } } }, param)
    t.match(await ask('x [[refused]]'), { status: 400, json: { error: { code: /Sensitive/ } } })
    t.match(await ask('x', {}, 'other'), { status: 404 }, caseName({ model: 'other' }))
    t.match(await vendors.vendor('seedream', {}).post(path, {}), { status: 401 })
  })
})

t.test('xai: JSON only, words for resolutions, and a reported cost', async t => {
  const xai = vendors.vendor('xai', { authorization: 'Bearer any' })
  const path = '/v1/images/generations'
  const model = 'grok-imagine-image-2.0'

  t.test('quality and resolution decide the price, which the usage reports in ticks', async t => {
    const answer = await xai.post(path, {
      model,
      prompt: 'x1',
      n: 2,
      resolution: '2k',
      quality: 'low',
      aspect_ratio: '16:9',
    })
    t.match(answer.json, { data: [{ respect_moderation: true }, {}], usage: { cost_in_usd_ticks: 1_200_000_000 } })
    t.equal(await follow(at(answer.json, 'data.1.url')), '2736x1536 jpg')
    t.match(await xai.made('x1'), { pictures: 2, cost: '0.12' })
  })

  t.test('edits are JSON, and their pictures are charged once', async t => {
    const image = { url: dataUrl, type: 'image_url' }
    const edited = await xai.post('/v1/images/edits', { model, prompt: 'x2', n: 2, image, response_format: 'b64_json' })
    t.match(edited.json, { usage: { cost_in_usd_ticks: 1_300_000_000 } })
    t.equal(pictureIn(at(edited.json, 'data.0.b64_json')), '1184x880 jpg')
    const form = new FormData()
    form.set('prompt', 'x2')
    t.match(await xai.post('/v1/images/edits', form), { status: 415 })
    t.match(await xai.post('/v1/images/edits', { model, prompt: 'x2' }), { status: 400 })
  })

  t.test('a withheld picture has status 200 without a link', async t => {
    const refused = await xai.post(path, { model, prompt: 'x3 [[refused]]' })
    t.match(refused, { status: 200, json: { data: [{ url: '', respect_moderation: false }] } })
    const half = await xai.post(path, { model, prompt: 'x3 [[half]]', n: 2 })
    t.match(half.json, { data: [{ respect_moderation: true }, { url: '', respect_moderation: false }] })
    t.match(await xai.made('x3 [[half]]'), { pictures: 1, failed: 1, cost: '0.06' })
  })

  t.test('an unknown field is refused', async t => {
    for (const more of [{ size: '1024x1024' }, { resolution: '1K' }, { aspect_ratio: '5:4' }, { n: 11 }])
      t.match(
        await xai.post(path, { model, prompt: 'x', ...more }),
        { status: 400, json: { error: String } },
        caseName(more),
      )
    t.match(await xai.post(path, { model: 'other', prompt: 'x' }), { status: 404 })
    t.match(await vendors.vendor('xai', {}).post(path, {}), { status: 401 })
    t.match((await xai.get(`/v1/image-generation-models/${model}`)).json, {
      pricing: [{ quality: 'low', resolution: '1k', price_per_image: 400_000_000 }],
    })
  })
})

t.test('openrouter: an Image API of its own, and pictures in chat completions', async t => {
  const openrouter = vendors.vendor('openrouter', { authorization: 'Bearer any' })
  const path = '/api/v1/images'
  const model = 'google/gemini-3-pro-image'

  t.test('pictures have their media type, may be fewer than requested, and the cost is in dollars', async t => {
    const answer = await openrouter.post(path, {
      model,
      prompt: 'o1 [[fewer 1]]',
      n: 3,
      resolution: '2K',
      output_format: 'jpeg',
    })
    t.match(answer.json, {
      data: [{ media_type: 'image/jpeg' }, {}],
      usage: { cost: 0.08, completion_tokens_details: { image_tokens: 2580 } },
    })
    t.equal((at(answer.json, 'data') as unknown[]).length, 2)
    t.equal(pictureIn(at(answer.json, 'data.0.b64_json')), '2048x2048 jpg')
    const input_references = [{ type: 'image_url', image_url: { url: dataUrl } }]
    t.match(await openrouter.post(path, { model, prompt: 'o1', input_references }), { status: 200 })
  })

  t.test('in its stream partial pictures have a lower quality, and the completed event has the picture', async t => {
    const { text } = await openrouter.post(path, { model, prompt: 'o2', stream: true })
    t.match(eventsIn(text), [
      { data: { type: 'image_generation.partial_image', b64_json: String } },
      { data: { type: 'image_generation.completed', b64_json: String, usage: { cost: 0.04 } } },
    ])
    t.match(text, /^: OPENROUTER PROCESSING\n\n/)
    t.match(await openrouter.made('o2'), { pictures: 1 })
  })

  t.test('in chat completions pictures are next to the content, streamed in a delta', async t => {
    const body = {
      model,
      messages: [{ role: 'user', content: 'o3' }],
      modalities: ['image', 'text'],
      image_config: { aspect_ratio: '1:1', image_size: '1K' },
    }
    const answer = await openrouter.post('/api/v1/chat/completions', body)
    t.match(answer.json, {
      choices: [{ message: { images: [{ type: 'image_url' }] }, finish_reason: 'stop' }],
      usage: { cost: 0.04 },
    })
    t.equal(pictureIn(at(answer.json, 'choices.0.message.images.0.image_url.url')), '1024x1024 png')
    const { text } = await openrouter.post('/api/v1/chat/completions', { ...body, stream: true })
    const shown = eventsIn(text).filter(({ data }) => at(data, 'choices.0.delta.images') !== undefined)
    t.equal(pictureIn(at(shown[0]?.data, 'choices.0.delta.images.0.image_url.url')), '1024x1024 png')
    t.equal(shown.length, 1)
    t.ok(text.endsWith('data: [DONE]\n\n'))
    const { modalities: _, ...plain } = body
    t.match(await openrouter.post('/api/v1/chat/completions', plain), {
      json: { choices: [{ message: { images: [{}] } }] },
    })
    const words = await openrouter.post('/api/v1/chat/completions', { ...body, modalities: ['text'] })
    t.equal(at(words.json, 'choices.0.message.images'), undefined)
  })

  t.test('an unknown field is refused', async t => {
    for (const more of [{ resolution: '1k' }, { n: 11 }, { model: 'plain' }, { images: [] }])
      t.match(
        await openrouter.post(path, { model, prompt: 'x', ...more }),
        { status: 400, json: { error: { code: 400 } } },
        caseName(more),
      )
    t.match(await openrouter.post(path, { model, prompt: '[[refused]]' }), { status: 403 })
    t.match(await vendors.vendor('openrouter', {}).post(path, {}), { status: 401, json: { error: { code: 401 } } })
  })
})

t.test('stability: forms, and the answer is the picture itself', async t => {
  const stability = vendors.vendor('stability', { authorization: 'Bearer any' })
  const core = '/v2beta/stable-image/generate/core'
  const image = new Blob([Buffer.from(small, 'base64')], { type: 'image/png' })

  t.test('bytes by default, JSON if accepted, the reason in a header or next to it', async t => {
    const answer = await stability.post(core, formOf({ prompt: 't1', aspect_ratio: '16:9', seed: '1' }), {
      accept: 'image/*',
    })
    t.equal(pictureIn(answer.bytes), '1344x768 png')
    t.match([answer.headers.get('content-type'), answer.headers.get('finish-reason')], ['image/png', 'SUCCESS'])
    const json = await stability.post(core, formOf({ prompt: 't1', output_format: 'webp' }), {
      accept: 'application/json',
    })
    t.match(json.json, { finish_reason: 'SUCCESS', seed: 42 })
    t.equal(pictureIn(at(json.json, 'image')), '1024x1024 webp')
    t.match(await stability.made('t1'), { pictures: 2, cost: '0.06' })
  })

  t.test('a filtered picture is blurred with status 200, and is not charged', async t => {
    const answer = await stability.post(core, formOf({ prompt: 't2 [[moderated]]' }))
    t.equal(answer.headers.get('finish-reason'), 'CONTENT_FILTERED')
    t.match(await stability.made('t2 [[moderated]]'), { pictures: 0, cost: '0' })
    t.match(await stability.post(core, formOf({ prompt: '[[refused]]' })), {
      status: 403,
      json: { name: 'content_moderation' },
    })
    const page = await stability.post(core, formOf({ prompt: '[[html]]' }))
    t.match([page.status, page.headers.get('content-type')], [200, /html/])
  })

  t.test('an upscale is a job whose state is the status of the answer', async t => {
    const submitted = await stability.post('/v2beta/stable-image/upscale/creative', formOf({ prompt: 't3', image }))
    const result = `/v2beta/results/${String(at(submitted.json, 'id'))}`
    t.equal((await stability.get(result)).status, 202)
    t.equal(pictureIn((await stability.get(result, { accept: 'image/*' })).bytes), '40x30 png')
    t.equal((await stability.get('/v2beta/results/none')).status, 404)
  })

  t.test('an unknown field is refused, as is a JSON body', async t => {
    t.match(await stability.post(core, { prompt: 'x' }), { status: 400, json: { errors: [String] } })
    for (const fields of [
      { prompt: 'x', n: '2' },
      { prompt: 'x', size: '1024x1024' },
      { prompt: 'x', aspect_ratio: '7:3' },
    ])
      t.match(
        await stability.post(core, formOf(fields)),
        { status: 400, json: { name: 'bad_request' } },
        caseName(fields),
      )
    t.match(await vendors.vendor('stability', {}).post(core, formOf({ prompt: 'x' })), { status: 401 })
  })
})
