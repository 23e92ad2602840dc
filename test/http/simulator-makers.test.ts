import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { picture } from '../harness/pictures.ts'
import { at, eventsIn, follow, formOf, openVendors, pictureIn } from '../harness/vendors.ts'

const vendors = await openVendors()
const small = picture(40, 30).b64_json
const dataUrl = `data:image/png;base64,${small}`
const image = new Blob([Buffer.from(small, 'base64')], { type: 'image/png' })

t.test('openai: GPT Image', async t => {
  const openai = vendors.vendor('openai', { authorization: 'Bearer any' })
  const path = '/v1/images/generations'
  const model = 'gpt-image-2'

  t.test('the answer reports the result of `auto`, and the usage in detail', async t => {
    const answer = await openai.post(path, { model, prompt: 'g1', n: 2, size: '1024x1024', quality: 'high' })
    t.match(answer.json, {
      size: '1024x1024',
      quality: 'high',
      output_format: 'png',
      data: [{ b64_json: String }, {}],
      usage: { output_tokens: 8320, output_tokens_details: { image_tokens: 8320 } },
    })
    t.equal(pictureIn(at(answer.json, 'data.1.b64_json')), '1024x1024 png')
    t.match(await openai.made('g1'), { pictures: 2, cost: '0.422' })
    t.match((await openai.post(path, { model, prompt: 'g1 auto' })).json, { size: '1024x1536', quality: 'medium' })
    t.match(await openai.post(path, { model, prompt: 'g1 wide', size: '3840x2160' }), { status: 200 })
  })

  t.test('edits are forms, or JSON with links', async t => {
    const form = formOf({ model, prompt: 'g2', n: '1', image })
    form.append('mask', image)
    t.match(await openai.post('/v1/images/edits', form), {
      status: 200,
      json: { usage: { input_tokens_details: { image_tokens: 323 } } },
    })
    const several = formOf({ model, prompt: 'g2' })
    several.append('image[]', image)
    several.append('image[]', image)
    t.match((await openai.post('/v1/images/edits', several)).json, {
      usage: { input_tokens_details: { image_tokens: 646 } },
    })
    const json = { model, prompt: 'g2', images: [{ image_url: dataUrl }, { file_id: 'file-1' }] }
    t.match(await openai.post('/v1/images/edits', json), { status: 200 })
    t.match(await openai.post('/v1/images/edits', formOf({ model, prompt: 'x' })), { status: 400 })
  })

  t.test('partial pictures in its stream do not count, and each completed event has a picture', async t => {
    const { text } = await openai.post(path, { model, prompt: 'g3', n: 2, stream: true, partial_images: 1 })
    t.same(
      eventsIn(text).map(({ name }) => name),
      ['partial_image', 'completed', 'partial_image', 'completed'].map(word => `image_generation.${word}`),
    )
    t.equal(at(eventsIn(text)[1]?.data, 'usage.output_tokens_details'), undefined)
    t.match(await openai.made('g3'), { pictures: 2 })
    const form = formOf({ model, prompt: 'g3 edit', image, stream: 'true' })
    t.match(eventsIn((await openai.post('/v1/images/edits', form)).text), [{ name: 'image_edit.completed' }])
  })

  t.test('an unknown field is refused', async t => {
    for (const [more, param] of [
      [{ response_format: 'url' }, 'response_format'],
      [{ size: '1000x1000' }, 'size'],
      [{ size: '4096x1024' }, 'size'],
      [{ model: 'gpt-image-1.5', size: '2048x2048' }, 'size'],
      [{ n: 11 }, 'n'],
      [{ quality: 'hd' }, 'quality'],
    ] as const)
      t.match(
        await openai.post(path, { model, prompt: 'x', ...more }),
        { status: 400, json: { error: { param } } },
        caseName(more),
      )
    t.match(await openai.post(path, { model, prompt: '[[refused]]' }), {
      status: 400,
      json: { error: { code: 'moderation_blocked' } },
    })
    t.match(await vendors.vendor('openai', {}).post(path, {}), {
      status: 401,
      json: { error: { code: 'invalid_api_key' } },
    })
  })
})

t.test('azure: the deployment is in the path, and the version is required', async t => {
  const azure = vendors.vendor('azure', { 'api-key': 'any' })
  const path = '/openai/deployments/mine/images/generations'
  const body = { prompt: 'z1' }
  t.match(await azure.post(`${path}?api-version=2025-04-01-preview`, body), { status: 200, json: { data: [{}] } })
  t.match(await azure.made('z1'), { pictures: 1, made: [{ model: 'mine' }] })
  t.match(await azure.post(path, body), { status: 404 }, 'without a version')
  t.match(await azure.post(`${path}?api-version=new`, body), { status: 400 })
  t.match(await azure.post('/openai/v1/images/generations', { ...body, model: 'mine' }), { status: 200 })
  const edit = '/openai/deployments/mine/images/edits?api-version=2025-04-01-preview'
  t.match(await azure.post(edit, formOf({ prompt: 'z2', image })), { status: 200 })
  const blocked = await azure.post(`${path}?api-version=2025-04-01-preview`, { prompt: '[[refused]]' })
  t.match(blocked, {
    status: 400,
    json: { error: { code: 'contentFilter', inner_error: { content_filter_results: {} } } },
  })
  t.match(await vendors.vendor('azure', {}).post(path, body), { status: 401, json: { statusCode: 401 } })
})

t.test('recraft: credits, and a single object for an edited picture', async t => {
  const recraft = vendors.vendor('recraft', { authorization: 'Bearer any' })
  const path = '/v1/images/generations'
  const answer = await recraft.post(path, { prompt: 'c1', model: 'recraftv3', n: 2, size: '1820x1024' })
  t.match(answer.json, { credits: 80, data: [{ url: String, image_id: String }, {}] })
  t.equal(await follow(at(answer.json, 'data.0.url')), '1820x1024 webp')
  t.match(await recraft.made('c1'), { pictures: 2, cost: '0.08' })
  const upscaled = await recraft.post('/v1/images/crispUpscale', formOf({ image, response_format: 'b64_json' }))
  t.match(upscaled.json, { credits: 4, image: { b64_json: String }, data: undefined })
  const changed = formOf({ image, prompt: 'c2', strength: '0.5', n: '2' })
  t.match((await recraft.post('/v1/images/imageToImage', changed)).json, { data: [{}, {}] })
  for (const more of [
    { size: '1000x1000' },
    { quality: 'hd' },
    { n: 7 },
    { model: 'recraftv4_pro', size: '1024x1024' },
  ])
    t.match(await recraft.post(path, { prompt: 'x', ...more }), { status: 400, json: { code: String } }, caseName(more))
  t.match(await recraft.post('/v1/images/crispUpscale', { image: dataUrl }), { status: 400 }, 'JSON')
  t.match(await recraft.post(path, { prompt: '[[refused]]' }), {
    status: 400,
    json: { code: 'content_policy_violation' },
  })
  t.match(await vendors.vendor('recraft', {}).post(path, {}), { status: 401 })
})

t.test('ideogram: forms, the reported resolution, and unsafe pictures without a link', async t => {
  const ideogram = vendors.vendor('ideogram', { 'Api-Key': 'any' })
  const path = '/v1/ideogram-v3/generate'
  const ask = async (fields: { readonly [name: string]: string | Blob }, at = path) => ideogram.post(at, formOf(fields))
  const answer = await ask({ prompt: 'i1', num_images: '2', aspect_ratio: '16x9', rendering_speed: 'TURBO' })
  t.match(answer.json, { created: /^\d{4}-.*Z$/, data: [{ resolution: '1376x768', is_image_safe: true }, {}] })
  t.equal(await follow(at(answer.json, 'data.0.url')), '1376x768 png')
  t.match(await ideogram.made('i1'), { pictures: 2, cost: '0.06' })
  t.match((await ask({ prompt: 'i2 [[half]]', num_images: '2' })).json, {
    data: [{}, { url: '', is_image_safe: false }],
  })
  t.match(await ideogram.made('i2 [[half]]'), { pictures: 1, failed: 1, cost: '0.06' })
  t.match(await ask({ prompt: 'i3', image, mask: image }, '/v1/ideogram-v3/edit'), { status: 200 })
  t.match(await ask({ prompt: 'i3', quality: 'very_low' }, '/v2/image/generate/ideogram-4-5'), { status: 200 })
  for (const more of [
    { aspect_ratio: '16:9' },
    { n: '2' },
    { size: '1024x1024' },
    { resolution: '1000x1000' },
    { resolution: '1024x1024', aspect_ratio: '1x1' },
  ])
    t.match(await ask({ prompt: 'x', ...(more as object) }), { status: 400, json: { error: String } }, caseName(more))
  t.match(await ideogram.post(path, { prompt: 'x' }), { status: 400 }, 'JSON')
  t.match(await ask({ prompt: '[[refused]]' }), { status: 422 })
  t.match(await vendors.vendor('ideogram', {}).post(path, {}), { status: 401 })
})

t.test('minimax: two forms of one vendor', async t => {
  const minimax = vendors.vendor('minimax', { authorization: 'Bearer any' })

  t.test('image-01 answers lists of strings, counts in strings, and refuses with status 200', async t => {
    const path = '/v1/image_generation'
    const ask = async (prompt: string, more: object = {}) => minimax.post(path, { model: 'image-01', prompt, ...more })
    const answer = await ask('m1', { n: 2, aspect_ratio: '16:9' })
    t.match(answer.json, { metadata: { success_count: '2', failed_count: '0' }, base_resp: { status_code: 0 } })
    t.equal(await follow(at(answer.json, 'data.image_urls.1')), '1280x720 jpg')
    const inline = await ask('m1', { response_format: 'base64', width: 512, height: 768 })
    t.equal(pictureIn(at(inline.json, 'data.image_base64.0')), '512x768 jpg')
    t.match(await minimax.made('m1'), { pictures: 3, cost: '0.0105' })
    t.match(await ask('[[refused]]'), { status: 200, json: { base_resp: { status_code: 1026 } } })
    t.match(await ask('m2 [[moderated]]'), {
      status: 200,
      json: {
        metadata: { success_count: '0', failed_count: '1' },
        data: { image_urls: [] },
        base_resp: { status_code: 0 },
      },
    })
    for (const more of [{ size: '1024x1024' }, { n: 10 }, { width: 512 }, { response_format: 'b64_json' }])
      t.match(await ask('x', more), { status: 400, json: { base_resp: { status_code: 2013 } } }, caseName(more))
    t.match(await vendors.vendor('minimax', {}).post(path, {}), { status: 401 })
  })

  t.test('H3 streams finished pictures as partial_succeeded, in the order in which they are done', async t => {
    const body = { model: 'MiniMax-H3-Image', prompt: 'm3', n: 2 }
    t.match((await minimax.post('/v1/images/generations', body)).json, {
      data: [{ url: String, size: '1024x1024' }, {}],
    })
    const { text } = await minimax.post('/v1/images/generations', { ...body, prompt: 'm4', stream: true })
    t.match(text, /^: keepalive\n\n/)
    t.match(eventsIn(text), [
      { name: 'image_generation.partial_succeeded', data: { image_index: 1, url: String, size: '1024x1024' } },
      { name: 'image_generation.partial_succeeded', data: { image_index: 0 } },
      { name: 'image_generation.completed', data: { usage: { output_tokens: 8400 }, request_id: String } },
    ])
    t.match(await minimax.made('m4'), { pictures: 2 })
    t.match(await minimax.post('/v1/images/edits', { ...body, image: [dataUrl] }), { status: 200 })
    t.match(await minimax.post('/v1/images/edits', body), { status: 400 })
  })
})

t.test('bedrock: plain base64, by model', async t => {
  const bedrock = vendors.vendor('bedrock', { authorization: 'AWS4-HMAC-SHA256 Credential=any' })
  const nova = '/model/amazon.nova-canvas-v1%3A0/invoke'
  const stability = '/model/us.stability.sd3-5-large-v1%3A0/invoke'
  const draw = (text: string, imageGenerationConfig: object = {}) => ({
    taskType: 'TEXT_IMAGE',
    textToImageParams: { text },
    imageGenerationConfig,
  })

  t.test('Nova makes several, and reports blocked ones in a text', async t => {
    const answer = await bedrock.post(
      nova,
      draw('b1', { numberOfImages: 2, width: 1280, height: 720, quality: 'premium' }),
    )
    t.same(Object.keys(answer.json as object), ['images'])
    t.equal(pictureIn(at(answer.json, 'images.1')), '1280x720 png')
    t.match(await bedrock.made('b1'), { pictures: 2, cost: '0.12' })
    const half = await bedrock.post(nova, draw('b2 [[half]]', { numberOfImages: 2 }))
    t.match(half.json, { images: [String], error: String })
    t.equal((at(half.json, 'images') as unknown[]).length, 1)
    t.match(await bedrock.post(nova, draw('[[refused]]')), { status: 400, json: { message: /blocked/ } })
    for (const config of [{ width: 1000 }, { n: 2 }, { numberOfImages: 6 }, { width: 4096, height: 4096 }])
      t.match(await bedrock.post(nova, draw('x', config)), { status: 400, json: { message: String } }, caseName(config))
    t.match(await bedrock.post(nova, { ...draw('x'), taskType: 'INPAINTING' }), { status: 400 })
  })

  t.test('Stability makes one, and refuses with status 200 and a reason', async t => {
    const keyed = vendors.vendor('bedrock', { authorization: 'Bearer any' })
    const answer = await keyed.post(stability, { prompt: 'b3', aspect_ratio: '16:9', output_format: 'jpeg' })
    t.match(answer.json, { finish_reasons: [null], seeds: [42] })
    t.equal(pictureIn(at(answer.json, 'images.0')), '1344x768 jpg')
    const edited = await keyed.post(stability, { prompt: 'b3', mode: 'image-to-image', image: small, strength: 0.5 })
    t.equal(pictureIn(at(edited.json, 'images.0')), '40x30 png')
    t.match(await keyed.made('b3'), { pictures: 2, cost: '0.16' })
    t.match((await keyed.post(stability, { prompt: '[[refused]]' })).json, {
      finish_reasons: ['Filter reason: prompt'],
      images: [''],
    })
    t.match(await keyed.post(stability, { prompt: 'x', image: dataUrl }), { status: 400 }, 'plain base64 only')
    t.match(await keyed.post('/model/other/invoke', { prompt: 'x' }), { status: 400 })
    t.match(await vendors.vendor('bedrock', {}).post(stability, {}), { status: 403 })
  })
})
