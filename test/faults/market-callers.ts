import { setTimeout as sleep } from 'node:timers/promises'
import { askOnce } from '../harness/ask.ts'
import { readImages } from '../harness/read-images.ts'
import type { Life, Load } from './load.ts'
import {
  type Fate,
  type Kind,
  type MarketOrder,
  outputMost,
  type Payer,
  sizeOf,
  textBytes,
  wasKilled,
} from './market-orders.ts'

/** Answers that a running gateway may send: results, refusals, and faults of the vendor. */
const expected = /^(?:200|202|400 |402 |429 |500 |502 upstream_|503 (?:storage_unavailable|counters_unavailable)|409 )/

type Callers = {
  /** A running gateway; undefined when the test is over. */
  readonly target: () => Promise<Life | undefined>
  readonly payers: readonly Payer[]
  readonly orders: MarketOrder[]
  readonly random: () => number
  readonly parallel: number
  /** Called with unexpected results. */
  readonly complain: (sentence: string) => void
}

/** Callers who send another request each time, with another key and to another gateway. */
export function runCallers({ target, payers, orders, random, parallel, complain }: Callers): Load {
  function newOrder(): MarketOrder {
    const kind: Kind = pick([
      ['chat', 0.45],
      ['fresh', 0.75],
      ['links', 0.9],
      ['job', 1],
    ])
    const fate: Fate = pick([
      ['good', 0.82],
      ['refused', 0.87],
      ['failed', 0.91],
      ['cut', kind === 'job' ? 0 : 0.95],
      ['empty', kind === 'fresh' || kind === 'links' ? 1 : 0],
      ['good', 1],
    ])
    return {
      number: orders.length,
      kind,
      fate,
      images: 1 + Math.floor(random() * 3),
      payer: payers[Math.floor(random() * payers.length)] as Payer,
      lives: [],
      ids: new Set(),
      isStream: random() < (kind === 'chat' ? 0.6 : kind === 'fresh' ? 0.3 : 0),
      leaves: random() < 0.08,
      isIdempotent: kind !== 'chat' && random() < 0.25,
      asked: 0,
      made: new Set(),
      used: undefined,
      had: new Set(),
      isWhole: false,
      answer: undefined,
      endedAt: 0,
    }
  }

  /** The first choice whose limit exceeds a random number between 0 and 1. */
  function pick<T>(choices: readonly (readonly [T, number])[]): T {
    const number = random()
    return (choices.find(([, bound]) => number < bound) as (typeof choices)[number])[0]
  }

  async function ask(order: MarketOrder, life: Life): Promise<void> {
    order.lives.push(life)
    const { number, payer, kind } = order
    const headers = {
      ...(order.isIdempotent && { 'idempotency-key': `order-${number}` }),
      ...(kind === 'job' && { prefer: 'respond-async' }),
    }
    const how = { key: payer.secret, headers, path: pathOf(kind) }
    const leave = order.leaves ? { leave: sleep(random() * 200) } : {}
    const { status, whole, text, id } = await askOnce(life.url, bodyOf(order), { ...how, ...leave })
    if (id !== '') order.ids.add(id)
    for (const mark of marksOf(order, text)) order.had.add(mark)
    order.isWhole = whole && (status === 200 || status === 202)
    order.endedAt = performance.now()
    if (order.isWhole) life.wholeAt = order.endedAt
    if (!whole || status === undefined) {
      if (life.killedAt === undefined && !order.leaves && order.fate !== 'cut')
        complain(`request ${number} (${kind}) was cut although nobody was killed: ${status} ${text.slice(-200)}`)
      return
    }
    order.answer = `${status} ${/"code": ?"(\w+)"/.exec(text)?.[1] ?? ''}`
    if (!expected.test(order.answer)) complain(`request ${number} (${kind}): ${status} ${text.slice(0, 300)}`)
    if (kind === 'job' && status === 202) await lookFor(order, life, (JSON.parse(text) as { readonly id: string }).id)
    // A refused caller retries later.
    else if (status >= 402) await sleep(status === 402 ? 200 : 20)
  }

  /** Polls a job once or twice; a caller who never polls is charged all the same. */
  async function lookFor(order: MarketOrder, life: Life, id: string): Promise<void> {
    for (let times = Math.floor(random() * 3); times > 0; times--) {
      await sleep(random() * 300)
      const headers = { authorization: `Bearer ${order.payer.secret}` }
      const text = await fetch(`${life.url}/v1/jobs/${id}`, { headers }).then(
        answer => answer.text(),
        () => '',
      )
      for (const mark of marksOf(order, text)) order.had.add(mark)
    }
  }

  async function work(): Promise<void> {
    for (let life = await target(); life; life = await target()) {
      const order = newOrder()
      orders.push(order)
      await ask(order, life)
      if (!order.isIdempotent || !wasKilled(order) || order.isWhole) continue
      const next = await target()
      if (next) await ask(order, next)
    }
  }

  const over = Promise.all(Array.from({ length: parallel }, work))
  over.catch(() => undefined)
  return { over }
}

function pathOf(kind: Kind): string {
  return kind === 'chat' ? '/v1/chat/completions' : '/v1/images/generations'
}

function bodyOf(order: MarketOrder): object {
  const { number, images: n, kind, isStream: stream } = order
  const streamField = stream ? { stream } : {}
  if (kind === 'chat') {
    const content = `${number} ${'x'.repeat(textBytes)}`
    return { model: 'market-chat', max_tokens: outputMost, messages: [{ role: 'user', content }], ...streamField }
  }
  const fields = { prompt: String(number), quality: String(number), n, ...streamField }
  if (kind === 'links') return { model: 'beta-imagine-image', size: sizeOf(order), ...fields }
  return { model: kind === 'job' ? 'polled-1' : 'alpha-image-2', ...fields }
}

function marksOf({ kind }: MarketOrder, text: string): readonly string[] {
  if (kind === 'chat') return []
  if (kind === 'links') return Array.from(text.matchAll(/"url":"([^"]+)"/g), ([, link]) => String(link))
  return readImages(text)
}
