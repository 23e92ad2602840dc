import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { caseName } from '../harness/case-name.ts'
import { png } from '../harness/pictures.ts'
import { readShipped, type Tree } from '../harness/recipes.ts'
import { checkBooks } from '../harness/shop.ts'
import { openMarket } from './market.ts'
import { operations, rows } from './table.ts'
import { traps } from './traps.ts'

const { routes } = await readShipped()
const market = await openMarket(
  ['gemini-image.md', 'seedream.md', 'qwen-image.md', 'replicate.md', 'flux.md', 'fal-queue.md', 'wan.md'],
  {
    routes: (routes as Tree[]).map(one => (one['body'] === 'form' ? { ...one, body: 'form-or-json' } : one)),
    families: {
      'look-alike': {
        n_max: 4,
        forward: { 'image.generate': ['model', 'prompt', 'n'] },
        calls: { 'image.generate': '/v1beta/openai/images/generations' },
        'image-tier-billing': { render: 'b64_json' },
        translate: {},
      },
      'replicate-one': {
        n_max: 4,
        forward: { 'image.generate': ['model', 'prompt', 'n'] },
        calls: { 'image.generate': { path: '/v1/models/{model}/predictions', headers: { prefer: 'wait' } } },
        'image-tier-billing': {},
        translate: {
          request: { input: { prompt: '{prompt}' } },
          fan_out: 2,
          answer: { at: 'output', picture: '.' },
        },
      },
      'gemini-list': {
        streams: ['image.generate'],
        n_max: 1,
        forward: { 'image.generate': ['model', 'prompt', 'stream'] },
        calls: { 'image.generate': '/v1beta/models/{model}:streamGenerateContent' },
        'image-tier-billing': {},
        translate: {
          request: { contents: [{ role: 'user', parts: [{ text: '{prompt}' }] }] },
          answer: { at: 'candidates.content.parts', picture: 'inlineData.data' },
          stream: { each: 'answer' },
        },
      },
    },
    models: {
      'look-alike': {
        family: 'look-alike',
        upstream: 'gemini',
        send_as: 'gemini-3-pro-image',
        prices: { image: '0.134' },
      },
      'one-link': {
        family: 'replicate-one',
        upstream: 'replicate',
        send_as: 'black-forest-labs/flux-1.1-pro',
        prices: { image: '0.04' },
      },
      list: { family: 'gemini-list', upstream: 'gemini', send_as: 'gemini-3-pro-image', prices: { image: '0.134' } },
      endpoint: { family: 'seedream', upstream: 'ark', send_as: 'ep-20260101-abcde', prices: { image: '0.03' } },
    },
  },
)

t.test('[10] every trap has a test, or a reason why not', async t => {
  t.strictSame(
    traps.map(({ number }) => number),
    Array.from({ length: 44 }, (_, i) => i + 1),
  )
  const texts = new Map<string, string>()
  const titles = async (file: string): Promise<string> => {
    const text = texts.get(file) ?? (await readFile(new URL(`../../${file}`, import.meta.url), 'utf8'))
    texts.set(file, text)
    return text
  }
  for (const { number, by = [], rows: named = [], why } of traps) {
    t.ok(by.length + named.length > 0 || /\w.*\.$/.test(why ?? ''), `trap ${number} is covered`)
    for (const [file, title] of by) t.ok((await titles(file)).includes(title), caseName({ number, file, title }))
    for (const [vendor, operation] of named) {
      const row = rows.find(one => one.vendor === vendor)
      t.ok(
        row && operations.includes(operation) && !('cannot' in row[operation]),
        caseName({ number, vendor, operation }),
      )
    }
  }
})

t.test('[10] the same picture twice in different bytes is charged once', async t => {
  const { pictures } = await market.ask({ model: 'gemini-3-pro-image', prompt: 'a [[twice]]', size: '1024x1024' })
  t.equal(pictures.length, 2)
  t.match(await market.charge(), { amount: '0.134' })
})

t.test('[10] words instead of a picture are a refusal in those words', async t => {
  const answer = market.ask({ model: 'gemini-3-pro-image', prompt: 'b [[words-only]]' })
  await t.rejects(answer, { status: 400, code: 'content_refused', message: /rather talk/ })
  t.match(await market.charge(), { state: 'voided' })
})

t.test('[10] the returned pixels decide, whatever was requested', async t => {
  const request = { model: 'gemini-3.1-flash-image', prompt: 'c [[pixels 2048 2048]]', size: '1024x1024' }
  t.strictSame((await market.ask(request)).pictures, ['2048x2048 png'])
  t.match(await market.charge(), { amount: '0.101', tier: '2K' })
})

t.test('[10] an answer without created and usage is charged by the image', async t => {
  const { pictures } = await market.ask({ model: 'look-alike', prompt: 'd', n: 2 })
  t.equal(pictures.length, 2)
  t.match(await market.charge(), { amount: '0.268' })
  t.match(await market.made('gemini', 'd'), { pictures: 2, cost: '0.268' })
})

t.test('[10] one link and a list of links are read the same', async t => {
  const { pictures } = await market.ask({ model: 'one-link', prompt: 'e', n: 2 })
  t.equal(pictures.length, 2)
  t.match(await market.charge(), { amount: '0.08' })
})

t.test('[10] a JSON refusal of a requested stream is an error, and free', async t => {
  const request = { model: 'seedream-4-0', prompt: 'f [[refused]]', size: '1024x1024', stream: true }
  await t.rejects(market.ask(request), { status: 400, message: /sensitive/ })
  t.match(await market.charge(), { state: 'voided' })
})

t.test('[10] a list at the top of an answer is undescribed, and not delivered', async t => {
  await t.rejects(market.ask({ model: 'list', prompt: 'g', stream: true }), {
    status: 502,
    code: 'upstream_answer_undescribed',
  })
  t.match(await market.charge(), { state: 'needs_review' })
})

t.test('[10] each layer of a picture is a picture, at half the price', async t => {
  const request = { model: 'seedream-5-0-pro', prompt: 'p', size: '1024x1024', more: { layer_decomposition: true } }
  t.equal((await market.ask(request)).pictures.length, 4)
  t.match(await market.charge(), { amount: '0.09' })
  t.match(await market.made('seedream', 'p'), { pictures: 4, cost: '0.09' })
})

t.test('[10] an id that names no family is charged by its model entry', async t => {
  const { pictures } = await market.ask({ model: 'endpoint', prompt: 'h', size: '1024x1024' })
  t.strictSame(pictures, ['1024x1024 jpg'])
  t.match(await market.charge(), { amount: '0.03' })
})

t.test('[10] a page instead of a picture does not count, and costs nothing', async t => {
  const answer = market.ask({ model: 'qwen-image-3.0', prompt: 'i [[html]]' })
  await t.rejects(answer, { status: 502, code: /^upstream_answer_/ })
  t.match(await market.charge(), { state: 'voided' })
})

t.test('[10] a job is polled at no other origin, and no credential is sent there', async t => {
  const { port, asked } = await listen(t)
  const made = market.ask({ model: 'flux-2-pro', prompt: `l [[elsewhere ${port}]]` })
  await t.rejects(made, { status: 502, code: 'upstream_address_refused' })
  t.equal(asked(), 0)
})

t.test('[10] done is not success if the answer reports a failure', async t => {
  const made = market.ask({ model: 'fal-ai/nano-banana-pro', prompt: 'm [[failed]]' })
  await t.rejects(made, { status: 400, message: /worker failed/ })
  t.match(await market.charge(), { state: 'voided' })
})

t.test('[10] a forgotten job is over, and free', async t => {
  const made = market.ask({ model: 'wan2.7-image', prompt: 'n [[expired]]' })
  await t.rejects(made, { status: 422, code: 'job_failed' })
  t.match(await market.charge(), { state: 'voided' })
})

t.test('[10] a moderation stop after the work is a refusal', async t => {
  const made = market.ask({ model: 'flux-2-pro', prompt: 'o [[moderated]]' })
  await t.rejects(made, { status: 422, code: 'job_failed' })
  t.match(await market.charge(), { state: 'voided' })
})

t.test('[10] pictures that every request of a fan-out sends are charged with each', async t => {
  const request = { model: 'flux-2-pro', prompt: 'sent with each', size: '1024x1024', n: 3, sends: 3 }
  t.equal((await market.ask(request)).pictures.length, 3)
  const { cost } = await market.made('flux', request.prompt)
  t.match(await market.charge(), { amount: cost, vendor_cost: cost })
})

t.test('[10] more pictures than a request has places for are refused, and not charged', async t => {
  const request = { model: 'flux-2-pro', prompt: 'many are sent', size: '1024x1024' }
  t.equal((await market.ask({ ...request, sends: 8 })).pictures.length, 1)
  const { cost } = await market.made('flux', request.prompt)
  t.match(await market.charge(), { amount: cost, vendor_cost: cost })
  const answer = market.ask({ ...request, sends: 9 })
  await t.rejects(answer, { status: 400, code: 'too_many_input_pictures', param: 'image', message: /9 .* 8/ })
  t.match(await market.charge(), { state: 'voided' })
})

t.test('[10] edits may be JSON if the route accepts them', async t => {
  const image = `data:image/png;base64,${png(40, 30).toString('base64')}`
  const body = { model: 'gemini-3-pro-image', prompt: 'k', images: [{ image_url: image }], size: '1024x1024' }
  const answer = await market.started.post('/v1/images/edits', body)
  t.equal(answer.status, 200)
  t.match(await market.charge(), { amount: '0.134' })
})

t.test('[10] the books are valid afterwards', async t => {
  const { books } = market.started.gateway.storage
  for (const { id, state } of await market.started.charges())
    if (state === 'needs_review') await books.resolve(id, 'void', 'a person', 'looked at')
  t.strictSame(await checkBooks(market.started.gateway), [])
})

/** A server that counts its requests. */
async function listen(t: Test): Promise<{ readonly port: number; readonly asked: () => number }> {
  let requests = 0
  const server = createServer((_req, res) => {
    requests++
    res.end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return { port: (server.address() as AddressInfo).port, asked: () => requests }
}
