import t from 'tap'
import { picture, png } from '../harness/pictures.ts'
import { checkBooks } from '../harness/shop.ts'
import { type Edits, start } from '../harness/start.ts'
import { caseName } from '../harness/case-name.ts'

const generations = '/v1/images/generations'
const request = { model: 'beta-imagine-image', prompt: 'a boat' }
const link = 'https://pictures.example/one.png'
const allFields: Edits = [{ 'families/beta-image/forward/image.generate': { all: true } }]

t.test('[6.2] an image in an answer with an error status is not delivered unpaid', async t => {
  const { upstreams, post, charges, gateway } = await start(t)
  const whole = { created: 1, data: [picture(1254, 1254)] }
  const answers: readonly (readonly [status: number, type: string, body: string | Buffer])[] = [
    [400, 'application/json', JSON.stringify(whole)],
    [500, 'application/json', JSON.stringify({ created: 1, data: [{ url: link }] })],
    [422, 'application/json', JSON.stringify({ error: { message: 'no' }, image: picture(64, 64).b64_json })],
    [404, 'image/png', png(64, 64)],
    [400, 'application/octet-stream', png(1254, 1254)],
  ]
  for (const [status, type, body] of answers) {
    upstreams['beta']?.answer(res => void res.writeHead(status, { 'content-type': type }).end(body))
    const refused = await post(generations, request)
    t.match([refused.status, await refused.json()], [502, { error: { code: 'upstream_answer_unrecognised' } }], type)
    t.match(
      (await charges(1))[0],
      { state: 'needs_review', reason: 'answer_unrecognised', held: '0.04' },
      caseName({ status, type, body }),
    )
  }
  const { problems } = await gateway.storage.books.verify()
  t.same(problems, [])
})

t.test('[6.2] a refusal passes unchanged, and is free', async t => {
  const { upstreams, post, charges, gateway } = await start(t)
  const refusals: readonly (readonly [status: number, type: string, body: string])[] = [
    [400, 'application/json', JSON.stringify({ error: { message: `see ${link}`, code: 'moderation_blocked' } })],
    [
      422,
      'application/json',
      JSON.stringify({ detail: [{ loc: ['body'], msg: 'bad', input: 'data:image/png;base64,xx' }] }),
    ],
    [410, 'text/html', `<!doctype html><img src="${link}"><p>${'no '.repeat(9_000)}`],
    [429, 'text/plain', 'slow down'],
    [400, 'application/json', '{"error":'],
    [404, 'application/json', ''],
  ]
  for (const [status, type, body] of refusals) {
    upstreams['beta']?.answer(res => void res.writeHead(status, { 'content-type': type }).end(body))
    const refused = await post(generations, request)
    t.equal(refused.status, status, body)
    t.equal(await refused.text(), body, caseName({ status, type, body }))
    t.match((await charges(1))[0], { state: 'voided', reason: 'upstream_refused' }, caseName({ status, type, body }))
  }
  t.same(await checkBooks(gateway), [])
})

t.test('[6.4] a number of images in the address is refused', async t => {
  const { upstreams, post, logs } = await start(t, { edit: allFields })
  upstreams['beta']?.answer({ created: 1, data: [{ url: link }] })
  for (const query of ['n=10', 'a=1&num%5Fimages=4', 'opt[max_images]=4', 'N=2&b=1'])
    t.match(
      await (await post(`${generations}?${query}`, request)).json(),
      { error: { code: 'count_in_address' } },
      query,
    )
  t.equal(upstreams['beta']?.received.length, 0)
  t.equal((await post(`${generations}?api-version=1&prompt=n=3`, request)).status, 200)
  t.equal(upstreams['beta']?.received[0]?.url, `${generations}?api-version=1&prompt=n=3`)
  t.match(await logs(1), [{ status: 200 }])
})

t.test('[6.4] recognises many names for a number of images', async t => {
  const { upstreams, post } = await start(t, { edit: allFields })
  upstreams['beta']?.answer({ created: 1, data: [{ url: link }] })
  const names = 'num_pictures imgNum output_num total_images image_number pic_count max_outputs imageQuantity num_imgs'
  const more = Object.fromEntries(names.split(' ').map(name => [name, 4]))
  await post(generations, {
    ...request,
    ...more,
    num_inference_steps: 4,
    image: 'a',
    output_format: 'png',
    max_tokens: 5,
  })
  const sent = upstreams['beta']?.received[0]?.json() ?? {}
  t.same(
    Object.keys(sent).filter(name => name in more),
    [],
  )
  t.match(sent, { num_inference_steps: 4, image: 'a', output_format: 'png', max_tokens: 5 })
})

t.test('[6.3] a report of 0 with an answer that has content does not count', async t => {
  const { upstreams, post, charges } = await start(t)
  const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
  const chat = { model: 'sim-chat', messages: [{ role: 'user', content: 'hello' }] }
  const message = { role: 'assistant', content: 'hello '.repeat(40) }
  upstreams['text']?.answer({ object: 'chat.completion', choices: [{ message }], usage: zeros })
  t.equal((await post('/v1/chat/completions', chat)).status, 200)
  t.match(await charges(1), [{ state: 'settled', flags: ['usage_missing', 'estimated'], lines: [{}, {}] }])
  const events = [{ choices: [{ delta: message }] }, { choices: [], usage: zeros }].map(one => JSON.stringify(one))
  upstreams['text']?.answer(
    res =>
      void res.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${events.join('\n\ndata: ')}\n\n`),
  )
  await (await post('/v1/chat/completions', { ...chat, stream: true })).text()
  t.match(await charges(1), [{ state: 'settled', flags: ['usage_missing', 'estimated'] }])
})

t.test('[6.2] a client whose budget is held by charges in review gets that reason', async t => {
  const { upstreams, post, newKey } = await start(t)
  upstreams['beta']?.answer({ images: [{ url: link }] })
  const { key } = await newKey({ budget: 40_000 })
  const ask = () => post(generations, request, { authorization: `Bearer ${key}` })
  t.equal((await ask()).status, 502)
  const refused = await ask()
  const message = /0\.00 USD left \(0\.04 USD is held for running requests or charges that need review\)/
  t.match([refused.status, await refused.json()], [402, { error: { code: 'insufficient_quota', message } }])
})
