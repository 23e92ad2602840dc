import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { at, follow, openVendors } from '../harness/vendors.ts'

const vendors = await openVendors()
const bearer = { authorization: 'Bearer any' }

t.test('luma: generations with a state', async t => {
  const luma = vendors.vendor('luma', bearer)
  const path = '/dream-machine/v1/generations/image'
  const ask = async (prompt: string, more: object = {}) => luma.post(path, { model: 'photon-1', prompt, ...more })
  const poll = async (answer: { json: unknown }) =>
    luma.get(`/dream-machine/v1/generations/${String(at(answer.json, 'id'))}`)
  const submitted = await ask('l1', { aspect_ratio: '1:1' })
  t.match(submitted, { status: 201, json: { state: 'queued', assets: null } })
  t.match((await poll(submitted)).json, { state: 'dreaming' })
  const done = await poll(submitted)
  t.match(done.json, { state: 'completed', assets: { image: String } })
  t.equal(await follow(at(done.json, 'assets.image')), '1408x1408 jpg')
  t.match(await luma.made('l1'), { pictures: 1, cost: '0.015' })
  t.match((await ask('l2', { sync: true })).json, { state: 'completed', assets: { image: String } })
  t.match((await ask('[[refused]]', { sync: true })).json, { state: 'failed', failure_reason: /moderated/ })
  const data = { url: 'data:image/png;base64,AAAA' }
  for (const more of [{ n: 2 }, { size: '1024x1024' }, { aspect_ratio: '5:4' }, { modify_image_ref: data }])
    t.match(await ask('x', more), { status: 400, json: { detail: String } }, caseName(more))
  t.match(await luma.get('/dream-machine/v1/generations/none'), { status: 404 })
  t.match(await vendors.vendor('luma', {}).post(path, {}), { status: 403 })
})

t.test('kling: tokens with a lifetime, tasks below the path of the submit, and codes', async t => {
  const path = '/v1/images/generations'
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const token = (exp: number) => ({
    authorization: `Bearer ${encode({ alg: 'HS256' })}.${encode({ iss: 'a', exp, nbf: 990 })}.sign`,
  })
  const kling = vendors.vendor('kling', token(2000))
  const submitted = await kling.post(path, { prompt: 'k1', n: 2, aspect_ratio: '1:1', resolution: '2k' })
  t.match(submitted.json, { code: 0, data: { task_id: String, task_status: 'submitted' } })
  const task = `${path}/${String(at(submitted.json, 'data.task_id'))}`
  t.match((await kling.get(task)).json, { data: { task_status: 'processing' } })
  const done = await kling.get(task)
  t.match(done.json, { data: { task_status: 'succeed', task_result: { images: [{ index: 0 }, { index: 1 }] } } })
  t.equal(await follow(at(done.json, 'data.task_result.images.1.url')), '2048x2048 png')
  t.match(await kling.made('k1'), { pictures: 2, cost: '0.028' })
  const refused = await kling.post(path, { prompt: '[[refused]]' })
  t.match(refused, { status: 200, json: { code: 1301, message: String, data: undefined } })
  const failed = await kling.post(path, { prompt: '[[failed]] [[polls 0]]' })
  const polled = await kling.get(`${path}/${String(at(failed.json, 'data.task_id'))}`)
  t.match(polled.json, { code: 0, data: { task_status: 'failed', task_status_msg: /failed/ } })
  for (const more of [{ size: '1024x1024' }, { n: 10 }, { resolution: '2K' }, { model_name: 'kling-v9' }])
    t.match(await kling.post(path, { prompt: 'x', ...more }), { status: 400, json: { code: 1201 } }, caseName(more))
  for (const credential of [{}, bearer, token(900), token(1000 + 3600)])
    t.match(
      await vendors.vendor('kling', credential).post(path, { prompt: 'x' }),
      { status: 401, json: { code: 1002 } },
      caseName(credential),
    )
})

t.test('tencent: one address, the action in a header, refusals with status 200', async t => {
  const signed = {
    authorization: 'TC3-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=0',
    'x-tc-timestamp': '1234567890',
    'x-tc-version': '2023-09-01',
  }
  const tencent = vendors.vendor('tencent', signed)
  const act = async (action: string, body: object) => tencent.post('/', body, { 'x-tc-action': action })
  const lite = await act('TextToImageLite', { Prompt: 'h1', Resolution: '768:1024', RspImgType: 'url' })
  t.equal(await follow(at(lite.json, 'Response.ResultImage')), '768x1024 jpg')
  const submitted = await act('SubmitHunyuanImageJob', { Prompt: 'h2', Num: 2, Clarity: 'x2' })
  const JobId = at(submitted.json, 'Response.JobId')
  t.match((await act('QueryHunyuanImageJob', { JobId })).json, { Response: { JobStatusCode: '2' } })
  const done = await act('QueryHunyuanImageJob', { JobId })
  t.match(done.json, {
    Response: { JobStatusCode: '5', ResultImage: [String, String], ResultDetails: ['Success', 'Success'] },
  })
  t.equal(await follow(at(done.json, 'Response.ResultImage.0')), '2048x2048 jpg')
  t.match(await tencent.made('h2'), { pictures: 2, cost: '0.028' })
  for (const [action, body, Code] of [
    ['TextToImageLite', { Prompt: '[[refused]]' }, 'OperationDenied.TextIllegalDetected'],
    ['TextToImageLite', { Prompt: 'x', Resolution: '768x768' }, 'InvalidParameterValue'],
    ['TextToImageLite', { prompt: 'x' }, 'UnknownParameter'],
    ['Other', {}, 'InvalidAction'],
  ] as const)
    t.match(await act(action, body), { status: 200, json: { Response: { Error: { Code } } } }, Code)
  const unsigned = await vendors.vendor('tencent', bearer).post('/', {})
  t.match(unsigned, { status: 200, json: { Response: { Error: { Code: 'AuthFailure.SignatureFailure' } } } })
})

t.test("leonardo: the cost in the submit's answer, the pictures in the poll's", async t => {
  const leonardo = vendors.vendor('leonardo', bearer)
  const path = '/api/rest/v1/generations'
  const submitted = await leonardo.post(path, { prompt: 'e1', num_images: 2, width: 1024, height: 768 })
  t.match(submitted.json, { sdGenerationJob: { generationId: String, apiCreditCost: 16 } })
  const generation = `${path}/${String(at(submitted.json, 'sdGenerationJob.generationId'))}`
  t.match((await leonardo.get(generation)).json, { generations_by_pk: { status: 'PENDING', generated_images: [] } })
  const done = await leonardo.get(generation)
  t.match(done.json, {
    generations_by_pk: { status: 'COMPLETE', imageWidth: 1024, generated_images: [{ nsfw: false }, {}] },
  })
  t.equal(await follow(at(done.json, 'generations_by_pk.generated_images.1.url')), '1024x768 jpg')
  t.match(await leonardo.made('e1'), { pictures: 2, cost: '0.032' })
  for (const more of [{ n: 2 }, { width: 1000.5 }, { num_images: 8 }, { prompt: '[[refused]]' }])
    t.match(
      await leonardo.post(path, { prompt: 'x', ...more }),
      { status: 400, json: { error: String } },
      caseName(more),
    )
  t.match(await vendors.vendor('leonardo', {}).post(path, {}), { status: 401 })
})

t.test('runway: a version in a header, and tasks', async t => {
  const runway = vendors.vendor('runway', { ...bearer, 'X-Runway-Version': '2024-11-06' })
  const path = '/v1/text_to_image'
  const body = { model: 'gen4_image', promptText: 'w1', ratio: '1280:720' }
  const task = `/v1/tasks/${String(at((await runway.post(path, body)).json, 'id'))}`
  t.match((await runway.get(task)).json, { status: 'RUNNING' })
  const done = await runway.get(task)
  t.match(done.json, { status: 'SUCCEEDED', output: [String] })
  t.equal(await follow(at(done.json, 'output.0')), '1280x720 png')
  t.match(await runway.made('w1'), { pictures: 1, cost: '0.05' })
  const failed = await runway.post(path, { ...body, promptText: '[[refused]] [[polls 0]]' })
  t.match((await runway.get(`/v1/tasks/${String(at(failed.json, 'id'))}`)).json, {
    status: 'FAILED',
    failureCode: 'SAFETY.INPUT.TEXT',
  })
  for (const more of [{ prompt: 'x' }, { ratio: '16:9' }, { model: 'gen4_image_turbo' }, { n: 2 }])
    t.match(await runway.post(path, { ...body, ...more }), { status: 400, json: { error: String } }, caseName(more))
  t.match(await vendors.vendor('runway', bearer).post(path, body), { status: 400 }, 'without its version')
  t.match(await vendors.vendor('runway', {}).post(path, body), { status: 401 })
})
