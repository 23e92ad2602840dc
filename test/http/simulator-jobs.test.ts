import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { picture } from '../harness/pictures.ts'
import { at, follow, openVendors } from '../harness/vendors.ts'

const vendors = await openVendors()
const small = picture(40, 30).b64_json
const dataUrl = `data:image/png;base64,${small}`

t.test('flux: every request is a job', async t => {
  const flux = vendors.vendor('flux', { 'x-key': 'any' })
  const submit = async (prompt: string, more: object = {}, model = 'flux-2-pro') =>
    flux.post(`/v1/${model}`, { prompt, ...more })
  const poll = async (answer: { json: unknown }) => flux.get(String(at(answer.json, 'polling_url')))

  t.test(
    'the submit returns the polling address, the cost in cents and megapixels; the second poll has the link',
    async t => {
      const submitted = await submit('f1', { width: 1024, height: 1536 })
      t.match(submitted.json, { id: String, polling_url: /get_result\?id=/, cost: 4.5, input_mp: 0, output_mp: 2 })
      t.match(await poll(submitted), { status: 200, json: { status: 'Pending', result: null } })
      t.match(await flux.made('f1'), { pictures: 0 })
      const ready = await poll(submitted)
      t.match(ready.json, { status: 'Ready', result: { seed: Number } })
      t.equal(await follow(at(ready.json, 'result.sample')), '1024x1536 jpg')
      await poll(submitted)
      t.match(await flux.made('f1'), { pictures: 1, cost: '0.045' })
    },
  )

  t.test('pictures are sent in numbered fields and count in megapixels', async t => {
    const submitted = await submit('f2', { input_image: small, input_image_2: dataUrl, output_format: 'png' })
    t.match(submitted.json, { input_mp: 2, cost: 6 })
    await poll(submitted)
    t.equal(await follow(at((await poll(submitted)).json, 'result.sample')), '1024x768 png')
  })

  t.test('an unknown field is refused', async t => {
    for (const [more, field] of [
      [{ n: 2 }, 'n'],
      [{ size: '1024x1024' }, 'size'],
      [{ width: 1000 }, 'width'],
      [{ width: 4096, height: 4096 }, 'width'],
      [{ input_image: 'bm9uZQ==' }, 'input_image'],
    ] as const)
      t.match(await submit('x', more), { status: 422, json: { detail: [{ loc: ['body', field] }] } }, field)
    t.match(await submit('x', {}, 'flux-9'), { status: 404, json: { detail: 'Not Found' } })
    t.match(await vendors.vendor('flux', {}).post('/v1/flux-2-pro', { prompt: 'x' }), { status: 403 })
    t.match(await submit('[[status 402]]'), { status: 402 })
  })

  t.test('a job ends as its prompt requests', async t => {
    for (const [mark, status] of [
      ['failed', 'Error'],
      ['refused', 'Request Moderated'],
      ['moderated', 'Content Moderated'],
      ['endless', 'Pending'],
      ['expired', 'Task not found'],
    ] as const) {
      const submitted = await submit(`f3 [[${mark}]]`)
      await poll(submitted)
      t.match(await poll(submitted), { status: 200, json: { status, result: null } }, mark)
      t.match(await flux.made(`f3 [[${mark}]]`), { pictures: 0, cost: '0' }, mark)
    }
    t.match((await submit('f3 [[elsewhere 9]]')).json, { polling_url: /^http:\/\/localhost:9\/v1\/get_result/ })
  })

  t.test('an unpolled job ends by the clock, and its link expires after ten minutes', async t => {
    const submitted = await submit('f4')
    vendors.time.ms += 30_000
    t.match(await flux.made('f4'), { pictures: 1 })
    const link = at((await poll(submitted)).json, 'result.sample')
    const keyed = await flux.get(String(link))
    t.equal(keyed.status, 400, 'a signed link takes no key')
    vendors.time.ms += 10 * 60_000
    t.equal(await follow(link), '404')
    const gone = await submit('f4 [[gone]] [[polls 0]]')
    t.equal(await follow(at((await poll(gone)).json, 'result.sample')), '404')
  })
})

t.test('fal: synchronous, and by its queue', async t => {
  const fal = vendors.vendor('fal', { authorization: 'Key any' })
  const queue = vendors.vendor('fal-queue', { authorization: 'Key any' })

  t.test('synchronous: pictures with their sizes, or without if the model reports none', async t => {
    const answer = await fal.post('/fal-ai/flux/dev', { prompt: 'a1', num_images: 2, image_size: 'square' })
    t.match(answer.json, {
      images: [{ width: 512, height: 512, content_type: 'image/jpeg' }, {}],
      has_nsfw_concepts: [false, false],
    })
    t.equal(await follow(at(answer.json, 'images.1.url')), '512x512 jpg')
    const edit = { prompt: 'a1', image_urls: [dataUrl], resolution: '2K', aspect_ratio: '16:9', sync_mode: true }
    const edited = await fal.post('/fal-ai/nano-banana-2/edit', edit)
    t.match(edited.json, { images: [{ url: /^data:image\/png;base64,/, width: null }] })
    t.match(await fal.made('a1'), { pictures: 3, cost: '0.17' })
    t.match((await fal.post('/fal-ai/esrgan', { image_url: dataUrl })).json, { image: { url: String } })
  })

  t.test('refusals name the field; a flagged picture has status 200', async t => {
    const path = '/fal-ai/flux/dev'
    t.match(await fal.post(path, { prompt: 'x', n: 1 }), { status: 422, json: { detail: [{ loc: ['body', 'n'] }] } })
    t.match(await fal.post(path, { prompt: 'x [[refused]]' }), {
      status: 422,
      json: { detail: [{ type: 'content_policy_violation' }] },
    })
    t.match((await fal.post(path, { prompt: 'x [[moderated]]' })).json, { has_nsfw_concepts: [true] })
    const bearer = vendors.vendor('fal', { authorization: 'Bearer any' })
    t.match(await bearer.post(path, { prompt: 'x' }), { status: 401 }, 'the word is Key')
    t.match(await fal.post('/fal-ai/nothing', { prompt: 'x' }), { status: 404 })
  })

  t.test('only the submit uses the sub path', async t => {
    const submitted = await queue.post('/fal-ai/flux/dev', { prompt: 'a2' })
    const id = String(at(submitted.json, 'request_id'))
    t.match(submitted.json, { status: 'IN_QUEUE', status_url: `${queue.url}/fal-ai/flux/requests/${id}/status` })
    t.match(await queue.get(`/fal-ai/flux/dev/requests/${id}/status`), { status: 405 })
    t.match(await queue.get(`/fal-ai/flux/requests/${id}`), { status: 400 }, 'still in progress')
    t.match((await queue.get(`/fal-ai/flux/requests/${id}/status`)).json, { status: 'IN_PROGRESS' })
    t.match((await queue.get(`/fal-ai/flux/requests/${id}/status`)).json, { status: 'COMPLETED' })
    const response = await queue.get(`/fal-ai/flux/requests/${id}`)
    t.equal(await follow(at(response.json, 'images.0.url')), '1024x768 jpg')
    t.match(await queue.made('a2'), { pictures: 1 })
  })

  t.test('COMPLETED does not mean success', async t => {
    for (const [mark, status] of [
      ['failed', 500],
      ['refused', 422],
    ] as const) {
      const submitted = await queue.post('/fal-ai/flux/dev', { prompt: `[[${mark}]] [[polls 0]]` })
      const polled = await queue.get(String(at(submitted.json, 'status_url')))
      t.match(polled.json, { status: 'COMPLETED', error: String, error_type: String }, mark)
      t.match(await queue.get(String(at(submitted.json, 'response_url'))), { status }, caseName({ status }))
    }
    const canceled = await queue.post('/fal-ai/flux/dev', { prompt: 'a3 [[endless]]' })
    t.match(await queue.put(`/fal-ai/flux/requests/${String(at(canceled.json, 'request_id'))}/cancel`), { status: 202 })
  })
})

t.test('qwen: synchronous messages, and tasks', async t => {
  const qwen = vendors.vendor('qwen', { authorization: 'Bearer any' })
  const atOnce = '/api/v1/services/aigc/multimodal-generation/generation'
  const synthesis = '/api/v1/services/aigc/text2image/image-synthesis'
  const later = { 'x-dashscope-async': 'enable' }
  const say = (text: string, parameters: object = {}, model = 'qwen-image-2.0', images: readonly string[] = []) => ({
    model,
    input: { messages: [{ role: 'user', content: [...images.map(image => ({ image })), { text }] }] },
    parameters,
  })

  t.test('synchronous: links in the content, and pixels in the usage', async t => {
    const answer = await qwen.post(atOnce, say('q1', { size: '1024*768', n: 2 }))
    t.match(answer.json, {
      output: { choices: [{ finish_reason: 'stop', message: { content: [{ image: String }, { image: String }] } }] },
      usage: { output_width: 1024, output_height: 768, output_image_count: 2, output_image_type: 'qima_output_1k' },
    })
    t.equal(await follow(at(answer.json, 'output.choices.0.message.content.1.image')), '1024x768 png')
    t.match(await qwen.made('q1'), { pictures: 2, cost: '0.07' })
  })

  t.test('the defaults are expensive: a size of 2K, the ratio of the edited picture, four pictures of Wan', async t => {
    t.match((await qwen.post(atOnce, say('q2'))).json, {
      usage: { output_width: 2048, output_image_type: 'qima_output_2k' },
    })
    const edited = await qwen.post(atOnce, say('q2', {}, 'qwen-image-2.0', [dataUrl]))
    t.match(edited.json, { usage: { output_width: 2368, output_height: 1776, input_image_count: 1 } })
    const wan = await qwen.post(atOnce, say('q2 wan', { size: '1K' }, 'wan2.7-image'))
    t.match(wan.json, { output: { choices: [{}, {}, {}, {}] }, usage: { image_count: 4, size: '1024*1024' } })
  })

  t.test('an unknown field is refused with code and message at the top', async t => {
    for (const body of [
      say('x', { size: '1024x1024' }),
      say('x', { n: 9 }),
      say('x', { quality: 'hd' }),
      { model: 'qwen-image-2.0', prompt: 'x' },
    ])
      t.match(await qwen.post(atOnce, body), { status: 400, json: { code: 'InvalidParameter' } }, caseName({ body }))
    t.match(await qwen.post(synthesis, { model: 'wan2.5-t2i', input: { prompt: 'x' } }), { status: 403 }, 'not at once')
    t.match(await qwen.post(atOnce, say('x'), later), { status: 403 }, 'not later')
    t.match(await vendors.vendor('qwen', {}).post(atOnce, say('x')), { status: 401, json: { code: 'InvalidApiKey' } })
    const refused = await qwen.post(atOnce, say('q3 [[refused]]'))
    t.match(refused, { status: 200, json: { code: 'DataInspectionFailed', message: String, output: undefined } })
  })

  t.test('a task: half of its pictures may fail, each with a code in its place', async t => {
    const body = { model: 'wan2.5-t2i', input: { prompt: 'q4 [[half]]' }, parameters: { size: '1280*720' } }
    const submitted = await qwen.post(synthesis, body, later)
    t.match(submitted.json, { output: { task_status: 'PENDING', task_id: String } })
    const task = `/api/v1/tasks/${String(at(submitted.json, 'output.task_id'))}`
    t.match((await qwen.get(task)).json, { output: { task_status: 'RUNNING' } })
    const done = await qwen.get(task)
    t.match(done.json, {
      output: {
        task_status: 'SUCCEEDED',
        results: [{ url: String }, { code: String }, { url: String }, { code: String }],
      },
      usage: { image_count: 2 },
    })
    t.equal(await follow(at(done.json, 'output.results.0.url')), '1280x720 png')
    t.match(await qwen.made('q4 [[half]]'), { pictures: 2, failed: 2, cost: '0.06' })
  })

  t.test('a failed task has status 200, and a forgotten one is UNKNOWN', async t => {
    for (const [mark, output] of [
      ['failed', { task_status: 'FAILED', code: 'InternalError.Algo' }],
      ['refused', { task_status: 'FAILED', code: 'DataInspectionFailed' }],
      ['expired', { task_status: 'UNKNOWN' }],
    ] as const) {
      const body = { model: 'qwen-image', input: { prompt: `[[${mark}]]` } }
      const task = `/api/v1/tasks/${String(at((await qwen.post(synthesis, body, later)).json, 'output.task_id'))}`
      await qwen.get(task)
      t.match(await qwen.get(task), { status: 200, json: { output } }, mark)
    }
    t.match((await qwen.get('/api/v1/tasks/none')).json, { output: { task_status: 'UNKNOWN' } })
  })
})

t.test('replicate: predictions', async t => {
  const replicate = vendors.vendor('replicate', { authorization: 'Bearer any' })
  const path = '/v1/models/black-forest-labs/flux-schnell/predictions'
  const wait = { prefer: 'wait' }

  t.test('a waiting client gets the output at once: a list of links, or one link', async t => {
    const input = { prompt: 'r1', num_outputs: 2, output_format: 'png', aspect_ratio: '16:9' }
    const answer = await replicate.post(path, { input }, wait)
    t.match(answer, { status: 201, json: { status: 'succeeded', output: [String, String], error: null } })
    t.equal(await follow(at(answer.json, 'output.0')), '1360x768 png')
    const single = '/v1/models/black-forest-labs/flux-kontext-pro/predictions'
    const one = await replicate.post(single, { input: { prompt: 'r1', input_image: dataUrl } }, { prefer: 'wait=5' })
    t.equal(await follow(at(one.json, 'output')), '1024x1024 webp')
    t.match(await replicate.made('r1'), { pictures: 3, cost: '0.046' })
  })

  t.test('a request may become a job, which is polled at the returned address', async t => {
    const started = await replicate.post(path, { input: { prompt: 'r2 [[late]]' } }, wait)
    t.match(started, { status: 201, json: { status: 'starting', output: null } })
    const get = String(at(started.json, 'urls.get'))
    t.match((await replicate.get(get)).json, { status: 'processing' })
    t.match((await replicate.get(get)).json, {
      status: 'succeeded',
      output: [String],
      metrics: { predict_time: Number },
    })
    t.match(await replicate.made('r2 [[late]]'), { pictures: 1 })
  })

  t.test('failures have status 200 and 201, with a reason', async t => {
    for (const [mark, error] of [
      ['failed', /memory/],
      ['refused', /flagged/],
      ['moderated', /NSFW/],
    ] as const)
      t.match(
        await replicate.post(path, { input: { prompt: `[[${mark}]]` } }, wait),
        { status: 201, json: { status: 'failed', error } },
        mark,
      )
    const started = await replicate.post('/v1/predictions', { version: 'abc', input: { prompt: 'r3 [[endless]]' } })
    await replicate.post(`/v1/predictions/${String(at(started.json, 'id'))}/cancel`, {})
    t.match((await replicate.get(String(at(started.json, 'urls.get')))).json, { status: 'canceled' })
  })

  t.test('an unknown field is refused', async t => {
    for (const body of [
      { prompt: 'x' },
      { input: { prompt: 'x', n: 2 } },
      { input: { prompt: 'x', size: '1x1' } },
      { input: {} },
    ])
      t.match(await replicate.post(path, body), { status: 422, json: { detail: String } }, caseName(body))
    t.match(await replicate.post(path, { input: { prompt: 'x' } }, { prefer: 'wait=61' }), { status: 422 })
    t.match(await replicate.post('/v1/models/no/such/predictions', { input: { prompt: 'x' } }), { status: 404 })
    t.match(await vendors.vendor('replicate', {}).post(path, {}), { status: 401, json: { title: 'Unauthenticated' } })
  })
})
