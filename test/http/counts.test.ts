import t from 'tap'
import { explainRequest } from '../../src/index.ts'
import { startEdits, textsOf } from '../harness/edits.ts'
import { checkBooks } from '../harness/shop.ts'
import { type Edits, start } from '../harness/start.ts'
import { picture, png } from '../harness/pictures.ts'
import { contentType, fileHead, rawForm, textHead } from '../unit/multipart-rewrite-kit.ts'
import { caseName } from '../harness/case-name.ts'

const generations = '/v1/images/generations'
const nested = 'sequential_image_generation_options'
const one = { created: 1, data: [{ url: 'https://pictures.example/one.png' }] }
/** Family B forwards all fields, and declares the nested number. */
const declared: Edits = [
  { 'families/beta-image/forward/image.generate': { all: true } },
  ['      tier_from: [request] ', `      n_from: [n, ${nested}.max_images]\n      tier_from: [request] `],
]
const undeclared: Edits = declared.slice(0, 1)

t.test('[6.4] a request for ten images in a custom field overdraws no budget', async t => {
  const { upstreams, post, newKey, gateway, charges } = await start(t, { edit: declared })
  upstreams['beta']?.answer(one)
  const { key } = await newKey({ budget: 40_000 })
  const ask = (more: object) =>
    post(
      generations,
      { model: 'beta-imagine-image', prompt: 'a boat', size: '1024x1024', ...more },
      { authorization: `Bearer ${key}` },
    )
  const refused = await ask({ n: 1, [nested]: { max_images: 10 } })
  t.match([refused.status, await refused.json()], [402, { error: { code: 'insufficient_quota' } }])
  t.equal(upstreams['beta']?.received.length, 0)
  for (const max_images of [129, 0, 1.5, '3']) {
    const wrong = await ask({ [nested]: { max_images } })
    t.match(
      [wrong.status, await wrong.json()],
      [400, { error: { code: 'invalid_n', param: `${nested}.max_images` } }],
      caseName({ max_images }),
    )
  }
  t.equal((await ask({ [nested]: { max_images: 2 } })).status, 200)
  t.match(upstreams['beta']?.received.at(-1)?.json(), { [nested]: { max_images: 2 } }, 'declared fields are forwarded')
  t.match(await charges(), [{ state: 'settled', lines: [{ tier: '1K' }] }])
  t.same(await checkBooks(gateway), [])
})

t.test('[6.4] an undeclared field that names a number is not forwarded, and the log and explain name it', async t => {
  const { upstreams, post, logs, plan, charges } = await start(t, { edit: undeclared })
  upstreams['beta']?.answer(one)
  const fields = { [nested]: { max_images: 10, mode: 'auto' }, num_images: 4, extra: [{ batch_size: 2, a: 1 }] }
  const imageRequest = { model: 'beta-imagine-image', prompt: 'a {boat}', n: 1, ...fields }
  t.equal((await post(generations, imageRequest)).status, 200)
  const { received } = upstreams['beta'] as (typeof upstreams)[string]
  const sent = received.at(-1)?.json() ?? {}
  t.match(sent, { prompt: 'a {boat}', n: 1, [nested]: { mode: 'auto' }, extra: [{ a: 1 }] })
  t.notOk(JSON.stringify(sent).includes('max_images') || 'num_images' in sent || JSON.stringify(sent).includes('batch'))
  const dropped = [`${nested}.max_images`, 'num_images', 'extra[].batch_size']
  const [log] = await logs(1)
  t.same(log?.dropped, dropped)
  t.notOk(log?.forwarded.includes('num_images'))
  const request = {
    model: imageRequest.model,
    operation: 'image.generate',
    size: undefined,
    quality: undefined,
    n: 1,
    fields,
  }
  const explained = await explainRequest(plan, request)
  t.match(explained, { dropped, quote: { n: 1 }, sent: { extra: [{ a: 1 }] } })
  t.match(await charges(), [{ lines: [{}] }])
})

t.test('[6.4] explain counts like the gateway', async t => {
  const { plan } = await start(t, { edit: declared, upstreams: [] })
  const request = { model: 'beta-imagine-image', operation: 'image.generate', size: '1k', quality: undefined, n: 2 }
  t.match(await explainRequest(plan, request), { quote: { n: 2, at_most: '0.04' }, dropped: [] })
  const fields = { [nested]: { max_images: 10 } }
  t.match(await explainRequest(plan, { ...request, fields }), { quote: { n: 10, at_most: '0.2' }, dropped: [] })
  await t.rejects(explainRequest(plan, { ...request, fields: { [nested]: { max_images: 129 } } }), {
    code: 'invalid_n',
    param: `${nested}.max_images`,
  })
})

for (const model of ['alpha-image-2', 'beta-imagine-image'])
  t.test(`[6.8] a form with n=0, size and response_format empty is an edit of ${model} like any other`, async t => {
    const { postForm, sent, upstreams, charges, logs } = await startEdits(t)
    for (const upstream of Object.values(upstreams)) upstream.answer({ created: 1, data: [picture(1254, 1254)] })
    const empty = ['size', 'response_format', 'quality'].map(name => [textHead(name), ''] as const)
    const parts = [[textHead('model'), model] as const, [textHead('prompt'), 'a boat'] as const, ...empty]
    const res = await postForm(
      rawForm([...parts, [textHead('n'), '0'], [textHead('batch_size'), '4'], [fileHead('image'), png(8, 8)]]),
      contentType,
    )
    t.equal(res.status, 200, await res.text())
    const name = model.startsWith('alpha') ? 'alpha' : 'beta'
    const texts = textsOf(await sent(name))
    for (const gone of ['n', 'size', 'response_format', 'quality', 'batch_size']) t.notOk(gone in texts, gone)
    t.match(await charges(), [{ state: 'settled', size: null, quality: null, count: 1 }])
    const [log] = await logs(1)
    for (const gone of ['n', 'batch_size']) t.ok(log?.dropped.includes(gone), `${gone} is told`)
  })

t.test('[6.8] in JSON empty text is absent too, and n of 0 is still refused', async t => {
  const { upstreams, post, charges } = await start(t)
  for (const upstream of Object.values(upstreams)) upstream.answer({ created: 1, data: [picture(1254, 1254)] })
  for (const [model, name] of [
    ['alpha-image-2', 'alpha'],
    ['beta-imagine-image', 'beta'],
  ] as const) {
    const body = { model, prompt: 'a boat', n: '', size: '', quality: '', response_format: '' }
    t.equal((await post(generations, body)).status, 200, model)
    const sent = Object.keys(upstreams[name]?.received.at(-1)?.json() as object)
    t.same(sent.filter(field => field in body).toSorted(), ['model', 'prompt'], caseName({ model, name }))
    t.match((await charges(1))[0], { size: null, quality: null }, caseName({ model, name }))
    const wrong = await post(generations, { ...body, n: 0 })
    t.match(
      [wrong.status, await wrong.json()],
      [400, { error: { code: 'invalid_n', param: 'n' } }],
      caseName({ model, name }),
    )
  }
})

t.test('[6.4] check refuses an impossible path', async t => {
  for (const path of ['n.', '.n', 'a..b', 'a[0].n', 'a b', ''])
    await t.rejects(
      start(t, { edit: [['      tier_from: [request] ', `      n_from: ["${path}"]\n      tier_from: [request] `]] }),
      { message: /n_from/ },
      path,
    )
})

t.test('[2.2] an empty field counts as absent: it takes the default, and is not sent', async t => {
  const given = '    forward:\n      image.generate: [model, prompt, n, size, response_format]\n'
  const { upstreams, post } = await start(t, {
    edit: [
      [
        given,
        `    defaults: { quality: medium }\n${given.replace('[model, prompt,', '[model, prompt, quality, user, seed,')}`,
      ],
    ],
  })
  upstreams['beta']?.answer(one)
  const empty = { n: '', size: '', quality: '', response_format: '', user: '', seed: '', stream: '' }
  const answered = await post(generations, { model: 'beta-imagine-image', prompt: 'a boat', ...empty })
  t.equal(answered.status, 200, await answered.text())
  const sent = upstreams['beta']?.received.at(-1)?.json() ?? {}
  t.match(sent, { prompt: 'a boat', quality: 'medium' })
  t.same(
    Object.keys(empty).filter(name => name !== 'quality' && (sent as { [name: string]: unknown })[name] === ''),
    [],
  )
})
