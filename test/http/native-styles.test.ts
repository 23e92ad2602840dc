import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { GoogleGenAI } from '@google/genai'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { startSimulator } from '../../src/simulator/index.ts'
import { caseName } from '../harness/case-name.ts'
import { merge, readRecipe, readShipped, type Tree } from '../harness/recipes.ts'
import { checkBooks } from '../harness/shop.ts'
import { start, type Started } from '../harness/start.ts'
import { eventsIn } from '../harness/vendors.ts'

const simulator = await startSimulator()
t.teardown(() => simulator.close())

const google = await openRecipe(t, 'gemini-image.md', 'gemini')
const router = await openRecipe(t, 'openrouter-image.md', 'openrouter')

type Opened = {
  readonly started: Started
  /** The vendor's last answer, byte for byte. */
  readonly said: () => Buffer
  readonly made: (prompt: string) => Promise<{ readonly pictures: number; readonly cost: string }>
}

/** A gateway with a recipe in its file, in front of a simulated vendor whose answers are recorded on the way. */
async function openRecipe(t: Test, page: string, name: string, more: Tree = {}): Promise<Opened> {
  let last: Buffer[] = []
  const vendor = new URL(simulator.url(name) ?? '')
  const recorder = createServer((req, res) => {
    const path = vendor.pathname.replace(/\/$/, '') + (req.url ?? '')
    const { method, headers } = req
    const onward = request({ host: vendor.hostname, port: vendor.port, method, path, headers }, answer => {
      last = []
      res.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.on('data', (piece: Buffer) => last.push(piece)).pipe(res)
    })
    onward.on('error', () => res.destroy())
    req.pipe(onward)
  })
  await once(recorder.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => void recorder.close())
  const url = `http://127.0.0.1:${(recorder.address() as AddressInfo).port}`
  let whole = await readShipped()
  const { fragments } = await readRecipe(page)
  for (const fragment of fragments) whole = merge(whole, fragment)
  whole = merge(merge(whole, { upstreams: { [name]: { url } }, groups: { default: { rpm: 1_000_000 } } }), more)
  const started = await start(t, { yaml: stringify(whole, { lineWidth: 0 }), upstreams: [] })
  return {
    started,
    said: () => Buffer.concat(last),
    async made(prompt) {
      const res = await fetch(`${simulator.url(name)}/made?prompt=${encodeURIComponent(prompt)}`)
      return (await res.json()) as { readonly pictures: number; readonly cost: string }
    },
  }
}

const contents = (text: string) => ({ contents: [{ role: 'user', parts: [{ text }] }] })
const model = 'gemini-3-pro-image'
const demands = ['', '[[thoughts 2]]', '[[twice]]', '[[words-only]]', '[[refused]]', '[[moderated]]'] as const

/** Checks that the newest charge equals the vendor's own cost. */
async function checkBill(t: Test, { started, made }: Opened, prompt: string): Promise<void> {
  await started.settled()
  const { pictures, cost } = await made(prompt)
  // Words have a charge of their own next to the charge of the pictures.
  const charge = (await started.charges(2)).find(({ id }) => !id.endsWith('.u'))
  t.match(charge, { state: pictures > 0 ? 'settled' : 'voided' }, prompt)
  t.equal(Number(charge?.amount), Number(cost), prompt)
}

for (const demand of demands)
  t.test(`[14.8] generateContent passes byte for byte, at the vendor's own cost: ${demand}`, async t => {
    const prompt = `whole ${demand}`.trim()
    const res = await google.started.post(`/v1beta/models/${model}:generateContent`, contents(prompt))
    t.equal(res.status, 200)
    const came = Buffer.from(await res.arrayBuffer())
    t.ok(google.said().equals(came), 'the bytes are those of the vendor')
    await checkBill(t, google, prompt)
  })

for (const demand of demands)
  for (const [title, query] of [
    ['events', '?alt=sse'],
    ['a list', ''],
  ] as const)
    t.test(`[14.8] streamGenerateContent, as ${title}, has the vendor's own cost: ${demand}`, async t => {
      const prompt = `${title} ${demand}`.trim()
      const path = `/v1beta/models/${model}:streamGenerateContent${query}`
      const res = await google.started.post(path, contents(prompt))
      t.equal(res.status, 200)
      const came = Buffer.from(await res.arrayBuffer())
      t.ok(google.said().equals(came), 'the bytes are those of the vendor')
      await checkBill(t, google, prompt)
    })

t.test("[14.8] the vendor's SDK reads the vendor's answer through the gateway", async t => {
  const { started, said } = google
  const { models } = new GoogleGenAI({ apiKey: started.key, httpOptions: { baseUrl: started.url } })
  const config = { imageConfig: { aspectRatio: '16:9', imageSize: '4K' } }
  const whole = await models.generateContent({ model, contents: 'by SDK [[thoughts 1]]', config })
  t.strictSame(
    JSON.parse(JSON.stringify(whole.candidates)),
    (JSON.parse(said().toString()) as { candidates: unknown }).candidates,
  )
  await checkBill(t, google, 'by SDK [[thoughts 1]]')
  const chunks: unknown[] = []
  for await (const { candidates } of await models.generateContentStream({ model, contents: 'streamed by SDK' }))
    chunks.push(JSON.parse(JSON.stringify(candidates)))
  t.strictSame(
    chunks,
    eventsIn(said().toString()).map(({ data }) => (data as { candidates: unknown }).candidates),
  )
  await checkBill(t, google, 'streamed by SDK')
})

t.test('[14.8] the same family still serves the canonical route', async t => {
  const res = await google.started.post('/v1/images/generations', { model, prompt: 'canonical', n: 2 })
  t.match(await res.json(), { data: [{ b64_json: String }, { b64_json: String }] })
  await checkBill(t, google, 'canonical')
})

const chatModel = 'google/gemini-2.5-flash-image'

for (const demand of ['', '[[more 2]]', '[[words-only]]'])
  for (const stream of [false, true])
    t.test(`[14.8] chat completions with pictures pass and are charged: ${caseName({ demand, stream })}`, async t => {
      const { started, said } = router
      const prompt = `chat ${stream} ${demand}`.trim()
      const messages = [{ role: 'user', content: prompt }]
      const body = { model: chatModel, messages, stream, modalities: ['image', 'text'] }
      const res = await started.post('/v1/chat/completions', body)
      t.equal(res.status, 200)
      const came = Buffer.from(await res.arrayBuffer())
      t.ok(said().equals(came), 'the bytes are those of the vendor')
      await checkBill(t, router, prompt)
    })

t.test('[14.8] the chat completions SDK sees the pictures', async t => {
  const { started } = router
  const messages = [{ role: 'user' as const, content: 'chat by SDK' }]
  const { choices } = await started.openai.chat.completions.create({ model: chatModel, messages })
  t.match(choices, [{ message: { images: [{ image_url: { url: /^data:image\/png;base64,/ } }] } }])
  await checkBill(t, router, 'chat by SDK')
})

t.test('[14.8] words without a picture that are not declared free go to review', async t => {
  const answers = { generate: { refused: [{ if: { promptFeedback: 'any' } }] } }
  const strict = await openRecipe(t, 'gemini-image.md', 'gemini', {
    families: { 'gemini-image': { 'image-tier-billing': { answers } } },
  })
  const path = `/v1beta/models/${model}:generateContent`
  const res = await strict.started.post(path, contents('strict [[words-only]]'))
  t.equal(res.status, 502)
  await strict.started.settled()
  t.match(await strict.started.charges(1), [{ state: 'review' }])
})

t.test('[14.8] the books are valid afterwards', async t => {
  for (const [style, { started }] of Object.entries({ google, router }))
    t.strictSame(await checkBooks(started.gateway), [], style)
})
