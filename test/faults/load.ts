import { setTimeout as sleep } from 'node:timers/promises'
import { askOnce } from '../harness/ask.ts'
import { readImages } from '../harness/read-images.ts'

/** One gateway process from its start to its end, as its callers observe it. */
export type Life = {
  readonly number: number
  readonly url: string
  /** The time of the kill; by `performance.now()`, like the other times. A cut after it is caused by it. */
  killedAt: number | undefined
  /** Its storage may be unavailable or locked: an answer of 503 is not a fault by itself. */
  readonly mayRefuse: boolean
  /** It was frozen, or its storage was unavailable: an incomplete answer is not a fault by itself. */
  isExcused: boolean
  /** The time of the last complete answer; 0 before. */
  wholeAt: number
}

export function newLife(number: number, url: string, mayRefuse = false): Life {
  return { number, url, killedAt: undefined, mayRefuse, isExcused: false, wholeAt: 0 }
}

/** One request: the upstream's images for it, and what the caller received. */
export type Order = {
  /** Sent to the upstream as prompt and stored in the charge as the requested quality. */
  readonly number: number
  readonly images: number
  readonly links: boolean
  readonly life: Life
  readonly produced: Set<string>
  readonly delivered: Set<string>
  /** Whether it was answered with 200, completely. */
  whole: boolean
  /** The error code of an answer with 503, or with 408 by a gateway that was frozen. */
  refused: string | undefined
}

export type Load = {
  /** Rejects when a request has an unexpected result. */
  readonly over: Promise<unknown>
}

/**
 * Callers who send one request after another to the gateway that `target` returns, until it returns none; they keep
 * every obtainable image.
 */
export function runLoad(options: {
  readonly target: (client: number) => Promise<Life | undefined>
  readonly key: string
  readonly orders: Order[]
  readonly random: () => number
  readonly clients: number
}): Load {
  const { target, key, orders, random, clients } = options
  const ask = async (life: Life): Promise<void> => {
    const kind = random()
    const links = kind > 0.8
    const stream = !links && kind > 0.6
    const order: Order = {
      number: orders.length,
      images: 1 + Math.floor(random() * 4),
      links,
      life,
      produced: new Set(),
      delivered: new Set(),
      whole: false,
      refused: undefined,
    }
    orders.push(order)
    const { number, images: n } = order
    const model = links ? 'beta-imagine-image' : 'alpha-image-2'
    const body = { model, prompt: String(number), quality: String(number), n, ...(stream && { stream }) }
    const { status, whole, text } = await askOnce(life.url, body, { key })
    order.whole = whole && status === 200
    const marks = links ? [...text.matchAll(/"url":"([^"]+)"/g)].map(([, link]) => String(link)) : readImages(text)
    for (const mark of marks) order.delivered.add(mark)
    if (order.whole) life.wholeAt = performance.now()
    else if (status === 503 && life.mayRefuse) {
      order.refused = /"code":"(\w+)"/.exec(text)?.[1] ?? 'none'
      // A refused caller retries later.
      await sleep(20)
    } else if (status === 408 && life.isExcused) {
      // The gateway was frozen during the request's arrival: by its clock the request timed out, and bought nothing.
      order.refused = /"code":"(\w+)"/.exec(text)?.[1] ?? 'none'
    } else if (status !== undefined && status !== 200) throw new Error(`request ${number}: ${status} ${text}`)
    else if (life.killedAt === undefined && !life.isExcused)
      throw new Error(`request ${number} was cut although nobody was killed`)
  }
  const work = async (client: number): Promise<void> => {
    for (let life = await target(client); life; life = await target(client)) await ask(life)
  }
  const over = Promise.all(Array.from({ length: clients }, (_, client) => work(client)))
  over.catch(() => undefined)
  return { over }
}

/** Resolves when a condition holds; rejects with the error that ended the load before. */
export async function whileLoaded({ over }: Load, holds: () => boolean | Promise<boolean>): Promise<void> {
  const ended = over.then(() => {
    throw new Error('the load was over before it came about')
  })
  ended.catch(() => undefined)
  while (!(await Promise.race([holds(), ended]))) await Promise.race([sleep(10), ended])
}
