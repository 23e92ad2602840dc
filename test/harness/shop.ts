import t, { type Test } from 'tap'
import type { Charge, Gateway } from '../../src/index.ts'
import { type Answered, type Ask, askOnce } from './ask.ts'
import { excess, type Mark, readImages } from './read-images.ts'
import { type Edits, type Started, start, type StartOptions } from './start.ts'
import type { Upstream } from './upstream.ts'

export { askOnce } from './ask.ts'

/** A running gateway, with a count of every image that its upstreams made and its clients got. */
export type Shop = Started & {
  /** Sends a request on a connection of its own, as a client that takes every obtainable image of what arrives. */
  readonly ask: (body: object | Buffer, how?: Ask) => Promise<Answered>
  readonly produced: readonly Mark[]
  readonly delivered: readonly Mark[]
  /** Sets the number of images, if the test's own reader cannot tell it from the answers. */
  readonly overrule: (images: readonly Mark[]) => void
}

const noLimits: Edits = [{ 'groups/default': { rpm: 1000000, tpm: 500000 } }, [', limits: { rpm: 300 } }', ' }']]

/** A test of billing; at its end, it verifies the books (I1 to I8 below). */
export function billed(title: string, options: StartOptions, run: (t: Test, shop: Shop) => Promise<void>): void {
  void t.test(title, async t => {
    const shop = await openShop(t, options)
    await run(t, shop)
    await shop.settled()
    t.strictSame(await checkBooks(shop.gateway, shop), [], 'the books hold')
  })
}

export async function openShop(t: Test, options: StartOptions = {}): Promise<Shop> {
  const started = await start(t, { ...options, edit: [...noLimits, ...(options.edit ?? [])] })
  const produced: Mark[] = []
  const delivered: Mark[] = []
  for (const upstream of Object.values(started.upstreams)) recordAnswers(upstream, produced)
  return {
    ...started,
    produced,
    delivered,
    overrule(images) {
      produced.splice(0, produced.length, ...images)
      delivered.splice(0, delivered.length, ...images)
    },
    async ask(body, how = {}) {
      const answered = await askOnce(started.url, body, { key: started.key, ...how })
      // A replayed answer contains no new image.
      if (answered.headers['idempotent-replayed'] === undefined) delivered.push(...readImages(answered.text))
      return answered
    },
  }
}

/** Every image that leaves an upstream, as soon as its last byte is sent. */
function recordAnswers(upstream: Upstream, produced: Mark[]): void {
  upstream.server.prependListener('request', (_req, res) => {
    let text = ''
    let known = 0
    const take = (chunk: unknown): void => {
      if (typeof chunk !== 'string' && !Buffer.isBuffer(chunk)) return
      text += chunk.toString('latin1')
      if (res.statusCode > 299) return
      const marks = readImages(text)
      produced.push(...marks.slice(known))
      known = marks.length
    }
    const write = res.write.bind(res) as (...given: unknown[]) => boolean
    const end = res.end.bind(res) as (...given: unknown[]) => typeof res
    res.write = (...given: unknown[]) => {
      take(given[0])
      return write(...given)
    }
    res.end = (...given: unknown[]) => {
      take(given[0])
      return end(...given)
    }
  })
}

/** The amount by which a charge may exceed its hold: flagged images that were larger than the family expects. */
function beyondHold({ hold, amount, lines }: Charge): number {
  return lines.some(line => line.flags.includes('larger_than_expected')) ? Math.max(0, amount - hold) : 0
}

/**
 * Checks the invariants of the books on a settled gateway; returns one sentence for each that is broken.
 * I1 delivered ⊆ lines · I2 lines ⊆ produced · I5 nothing is still reserved · I7 whole micro-units · and what the books
 * verify themselves: I3 one line each, I4 and I8 sums and holds, I6 booked amounts have not changed.
 */
export async function checkBooks(
  { storage }: Gateway,
  seen?: { readonly produced: readonly Mark[]; readonly delivered: readonly Mark[] },
): Promise<string[]> {
  const faults = [...(await storage.books.verify()).problems]
  const charges = await allCharges(storage.books)
  for (const charge of charges) {
    if (charge.state === 'reserved') faults.push(`I5: ${charge.id} is still reserved`)
    const money = [charge.hold, charge.amount, charge.refunded, ...charge.lines.map(line => line.price)]
    if (!money.every(micros => Number.isSafeInteger(micros) && micros >= 0))
      faults.push(`I7: ${charge.id} holds ${money.join(', ')}`)
  }
  for (const key of await storage.keys.list({ limit: 1_000 })) {
    if (key.held !== 0) faults.push(`I4: key ${key.id} still holds ${key.held}`)
    const beyond = charges
      .filter(charge => charge.keyId === key.id)
      .reduce((sum, charge) => sum + beyondHold(charge), 0)
    if (key.budget !== null && key.spent > key.budget + beyond)
      faults.push(`key ${key.id} has spent more than its budget`)
  }
  if (!seen) return faults
  const lines = charges.flatMap(charge => charge.lines.map(markOf))
  faults.push(...excess(seen.delivered, lines).map(text => `I1: delivered but not billed: ${text}`))
  faults.push(...excess(lines, seen.produced).map(text => `I2: billed but not produced: ${text}`))
  return faults
}

export async function allCharges(books: Gateway['storage']['books']): Promise<Charge[]> {
  const charges: Charge[] = []
  for (let after: string | null = null; ; after = charges.at(-1)?.id ?? null) {
    const page = await books.all(after, 1_000)
    charges.push(...page)
    if (page.length < 1_000) return charges
  }
}

function markOf(line: Charge['lines'][number]): Mark {
  if (line.width !== null) return `${line.width}x${line.height}`
  return line.flags.includes('undecodable') ? 'unread' : 'link'
}
