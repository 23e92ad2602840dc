import { readFile } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import t from 'tap'
import { simulatorNames } from '../../src/simulator/names.ts'
import { caseName } from '../harness/case-name.ts'
import { picture } from '../harness/pictures.ts'

const loaded: string[] = []
registerHooks({
  load(url, context, next) {
    const name = /simulator\/vendors\/(.*)$/.exec(url)?.[1]
    if (name !== undefined) loaded.push(name)
    return next(url, context)
  },
})
// This file's own imports load before the hook, so it does not record them.
const { at, eventsIn, openVendors, pictureIn } = await import('../harness/vendors.ts')
const vendors = await openVendors()

t.test("a vendor's simulator is loaded on first use, and only that one", async t => {
  const alpha = vendors.vendor('alpha', {})
  t.match(await alpha.post('/v1/images/generations', { model: 'a', prompt: 'a boat' }), { status: 200 })
  t.same(loaded, [])
  await vendors.vendor('gemini', {}).get('/made')
  t.ok(loaded.includes('gemini.ts'))
  t.notOk(loaded.includes('flux.ts'))
})

t.test('the simulator lists the supported prompt keywords, and so does the page', async t => {
  const { pictureDemands } = await import('../../src/simulator/vendors/demands.ts')
  const page = await readFile(new URL('../../docs/simulated-vendors.md', import.meta.url), 'utf8')
  const { json } = await vendors.vendor('gemini', {}).get(new URL(vendors.simulator.url('gemini') ?? '').origin)
  for (const mark of ['status', 'slow', 'pause', 'cut', 'error-event', ...Object.keys(pictureDemands)])
    t.match(page, `[[${mark.replaceAll(/[[\]]| [A-Z]+/g, '')}`, mark)
  t.match(at(json, 'demands'), pictureDemands)
  for (const name of simulatorNames) {
    t.match(page, `\`${name}\``, name)
    t.ok((at(json, `upstreams.${name}`) as string[]).length > 0, name)
  }
})

t.test('gemini: generateContent', async t => {
  const gemini = vendors.vendor('gemini', { 'x-goog-api-key': 'any' })
  const path = '/v1beta/models/gemini-3-pro-image:generateContent'
  const body = (text: string, imageConfig: object = {}, parts: readonly object[] = []) => ({
    contents: [{ role: 'user', parts: [{ text }, ...parts] }],
    generationConfig: { responseModalities: ['TEXT', 'IMAGE'], imageConfig },
  })

  t.test('a picture is in a part next to words, in the pixels of its size and ratio', async t => {
    const answer = await gemini.post(path, body('g1', { aspectRatio: '16:9', imageSize: '2K' }))
    t.match(answer.json, {
      candidates: [{ content: { role: 'model', parts: [{ text: String }, {}] }, finishReason: 'STOP' }],
      usageMetadata: { candidatesTokenCount: 1120, candidatesTokensDetails: [{ modality: 'IMAGE' }] },
    })
    t.equal(pictureIn(at(answer.json, 'candidates.0.content.parts.1.inlineData.data')), '2752x1536 png')
    t.match(await gemini.made('g1'), { pictures: 1, cost: '0.134', made: [{ pictures: [{ width: 2752 }] }] })
  })

  t.test('names are accepted in either case, and pictures are sent as parts', async t => {
    const inline_data = { mime_type: 'image/png', data: picture(9, 9).b64_json }
    const request = { contents: [{ parts: [{ text: 'g2' }, { inline_data }] }] }
    t.match(await gemini.post(path, request), { status: 200 })
    inline_data.data = 'bm9uZQ=='
    t.match(await gemini.post(path, request), { status: 400, json: { error: { status: 'INVALID_ARGUMENT' } } })
  })

  t.test("an unknown field is refused in the vendor's format, as is a size in the wrong case", async t => {
    for (const [request, message] of [
      [body('x', { imageSize: '1k' }), /1K, 2K, 4K/],
      [body('x', { aspectRatio: '1x1' }), /1:1/],
      [body('x', { size: '1K' }), /generationConfig.imageConfig.size/],
      [{ ...body('x'), n: 2 }, /'n'/],
      [{ ...body('x'), generationConfig: { candidateCount: 2 } }, /Multiple candidates/],
    ] as const) {
      const answer = await gemini.post(path, request)
      t.match(answer.json, { error: { code: 400, message, status: 'INVALID_ARGUMENT' } }, caseName({ message }))
    }
    const dead = await gemini.post('/v1beta/models/imagen-4:generateContent', body('x'))
    t.match(dead, { status: 404, json: { error: { status: 'NOT_FOUND' } } })
    const unknown = vendors.vendor('gemini', {})
    t.match(await unknown.post(path, body('x')), { status: 403, json: { error: { status: 'PERMISSION_DENIED' } } })
    const cloud = '/v1/projects/p/locations/global/publishers/google/models/gemini-3-pro-image:generateContent'
    t.match(await unknown.post(cloud, body('x')), { status: 401, json: { error: { status: 'UNAUTHENTICATED' } } })
    t.match(await vendors.vendor('gemini', { authorization: 'Bearer x' }).post(cloud, body('x')), { status: 200 })
  })

  t.test('refusals have status 200, and nothing is made', async t => {
    const blocked = await gemini.post(path, body('g3 [[refused]]'))
    t.match(blocked, { status: 200, json: { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } } })
    t.equal(at(blocked.json, 'candidates'), undefined)
    const moderated = await gemini.post(path, body('g3 [[moderated]]'))
    t.match(moderated, { status: 200, json: { candidates: [{ finishReason: 'IMAGE_SAFETY' }] } })
    const words = await gemini.post(path, body('g3 [[words-only]]'))
    t.match(at(words.json, 'candidates.0'), { finishReason: 'STOP', content: { parts: [{ text: String }] } })
    for (const mark of ['refused', 'moderated', 'words-only'])
      t.match(await gemini.made(`g3 [[${mark}]]`), { pictures: 0, cost: '0' }, mark)
  })

  t.test('thoughts and repetitions are in the answer, and their picture counts once', async t => {
    const answer = await gemini.post(path, body('g4 [[thoughts 2]] [[twice]]'))
    const parts = at(answer.json, 'candidates.0.content.parts') as {
      thought?: boolean
      inlineData?: { data: string }
    }[]
    t.same(
      parts.map(part => `${part.thought ? 'thought ' : ''}${part.inlineData ? 'picture' : 'text'}`),
      ['thought picture', 'thought picture', 'text', 'picture', 'picture'],
    )
    const [one, again] = parts.slice(3).map(part => part.inlineData?.data)
    t.not(one, again)
    t.equal((await gemini.made('g4 [[thoughts 2]] [[twice]]')).pictures, 1)
  })

  t.test('every second request of a prompt may fail, so that a fan-out loses a part', async t => {
    const statuses: unknown[] = []
    for (let i = 0; i < 4; i++) statuses.push((await gemini.post(path, body('g7 [[fail-every 2 503]]'))).status)
    t.same(statuses, [200, 503, 200, 503])
    const reasons: unknown[] = []
    for (let i = 0; i < 3; i++)
      reasons.push(at((await gemini.post(path, body('g7 [[refuse-every 3]]'))).json, 'promptFeedback.blockReason'))
    t.same(reasons, [undefined, undefined, 'PROHIBITED_CONTENT'])
    t.match(await gemini.made('g7 [[fail-every 2 503]]'), { pictures: 2 })
  })

  t.test('a stream is whole answers, the last with its finish reason; without alt=sse it is one list', async t => {
    const streamed = '/v1beta/models/gemini-3.1-flash-image:streamGenerateContent'
    const answer = await gemini.post(`${streamed}?alt=sse`, body('g5'))
    const events = eventsIn(answer.text)
    t.match(events, [
      { name: undefined, data: { candidates: [{ content: { parts: [{ text: String }] } }] } },
      { data: { candidates: [{ content: { parts: [{ inlineData: { mimeType: 'image/png' } }] } }] } },
      { data: { candidates: [{ finishReason: 'STOP' }], usageMetadata: { candidatesTokenCount: 1120 } } },
    ])
    t.equal(pictureIn(at(events[1]?.data, 'candidates.0.content.parts.0.inlineData.data')), '1024x1024 png')
    t.match((await gemini.post(streamed, body('g5'))).json, [{ candidates: [{ finishReason: 'STOP' }] }])
    const broken = eventsIn((await gemini.post(`${streamed}?alt=sse`, body('g5 [[error-event]]'))).text)
    t.match(broken.at(-1)?.data, { error: { code: 503 } })
    await t.rejects(gemini.post(`${streamed}?alt=sse`, body('g5 [[cut]]')))
  })

  t.test('the chat completions endpoint reports neither time nor usage', async t => {
    const compatible = vendors.vendor('gemini', { authorization: 'Bearer x' })
    const request = { model: 'gemini-2.5-flash-image', prompt: 'g6', n: 2, response_format: 'b64_json' }
    const { json } = await compatible.post('/v1beta/openai/images/generations', request)
    t.same(Object.keys(json as object), ['data', 'model'])
    t.equal(pictureIn(at(json, 'data.1.b64_json')), '1024x1024 png')
  })

  t.test('faults occur on demand', async t => {
    t.match(await gemini.post(path, body('[[status 429 3]]')), {
      status: 429,
      json: { error: { status: 'RESOURCE_EXHAUSTED' } },
    })
    t.match(await gemini.post(path, body('[[status 500]]')), { status: 500, json: { error: { status: 'INTERNAL' } } })
    t.match(await gemini.post(path, body('[[error-event]]')), { status: 200, json: { error: {} } })
    t.match(await gemini.post(path, body('[[html]]')), { status: 200, text: /^<!doctype html>/, json: undefined })
    const hollow = await gemini.post(path, body('[[hollow]]'))
    t.throws(() => pictureIn(at(hollow.json, 'candidates.0.content.parts.1.inlineData.data')))
  })
})
