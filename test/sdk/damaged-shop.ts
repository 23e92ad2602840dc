import type { Test } from 'tap'
import { stringify } from 'yaml'
import { merge, readRecipe, readShipped } from '../harness/recipes.ts'
import { start } from '../harness/start.ts'
import { type Asks, damaged, foreign } from './damaged-answers.ts'

/** The result of one call: the SDK's return value as JSON, or its error. */
export type Received = { readonly text: string; readonly error?: string }

/** A gateway in front of upstreams that answer as in the rows of `damaged`. */
export type DamagedShop = {
  readonly url: string
  readonly key: string
  /** Runs each row that `call` supports, one subtest each; each call must buy once and pay for what it receives. */
  readonly play: (
    t: Test,
    sdk: string,
    call: (asks: Asks, model: string) => Promise<Received> | undefined,
  ) => Promise<void>
}

const pictures = /iVBORw0KGgo[A-Za-z0-9+/=]+|https:\/\/cdn\.example\/\w+\.png/g

export async function openDamagedShop(t: Test): Promise<DamagedShop> {
  let whole = await readShipped()
  for (const page of ['gemini-image.md', 'openrouter-image.md'])
    for (const fragment of (await readRecipe(page)).fragments) whole = merge(whole, fragment)
  const started = await start(t, {
    yaml: stringify(merge(whole, { groups: { default: { rpm: 1_000_000 } } }), { lineWidth: 0 }),
    upstreams: ['alpha', 'beta', 'gemini', 'openrouter', 'text'],
  })
  const { url, key, upstreams } = started
  const requests = (): number => Object.values(upstreams).reduce((sum, { received }) => sum + received.length, 0)

  async function play(...[t, sdk, call]: Parameters<DamagedShop['play']>): Promise<void> {
    for (const { title, asks, model, answer, images, state, isFlagged = false } of damaged) {
      const { status = 200, type = 'application/json', body } = answer
      for (const upstream of Object.values(upstreams))
        upstream.answer(res => void res.writeHead(status, body === '' ? {} : { 'content-type': type }).end(body))
      const before = requests()
      const calling = call(asks, model)
      if (!calling) continue
      await t.test(`[13.2] one call buys once, and pays for what it gets: ${sdk}, ${asks}, ${title}`, async t => {
        const { text, error } = await calling
        t.equal(requests() - before, 1, `the vendor sold once${error ? `; the client got ${error}` : ''}`)
        t.equal(new Set(text.match(pictures)).size, images, text.slice(0, 200))
        t.notMatch(text, foreign, 'and nothing unpaid')
        const [charge] = await started.charges(1)
        // No charge is kept for free text.
        t.equal(charge?.state ?? 'voided', state)
        if (state === 'settled') t.equal(charge?.count, images)
        t.equal(charge?.flags.includes('parts_omitted') ?? false, isFlagged)
      })
    }
    await t.test(`[13.2] the books balance afterwards: ${sdk}`, async t => {
      t.same((await started.gateway.storage.books.verify()).problems, [])
    })
  }
  return { url, key, play }
}
