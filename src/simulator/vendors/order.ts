import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import { answerJson } from '../answer.ts'
import type { Pixels } from '../pictures/measure.ts'
import type { Picture, PictureFormat } from '../pictures/picture.ts'
import { mediaTypes, seedOf } from '../pictures/picture.ts'
import type { Played } from '../upstream.ts'
import type { Demands } from './demands.ts'
import { readDemands } from './demands.ts'
import type { Job } from './jobs.ts'
import type { Entry } from './ledger.ts'
import type { VendorRequest } from './open-vendor.ts'
import { Problem } from './problem.ts'

/** A picture that may be made. */
export type Sketch = Pixels & {
  readonly index: number
  readonly mime: string
  readonly format: PictureFormat
  readonly price: string
  /** True if the prompt lets this picture fail. */
  readonly failed: boolean
  bytes(): Promise<Buffer>
  base64(): Promise<string>
  dataUrl(): Promise<string>
  /** Returns a new link to the picture. */
  link(): string
}

export type Wanted = Pixels & {
  readonly format: PictureFormat
  /** In dollars, from the simulator's own list. */
  readonly price?: string
}

/** One request for pictures, and the demands of its prompt. */
export class Order {
  readonly demands: Demands
  readonly entry: Entry
  readonly #request: VendorRequest
  readonly #seed: string

  constructor(request: VendorRequest, demands: Demands, entry: Entry) {
    this.#request = request
    this.demands = demands
    this.entry = entry
    this.#seed = seedOf(entry.model, demands.text, request.body.length, request.body.subarray(0, 4096))
  }

  /**
   * Prepares pictures without entering them in the vendor's ledger.
   * @param wanted the picture, or a function that returns it for an index
   */
  sketch(count: number, wanted: Wanted | ((index: number) => Wanted)): readonly Sketch[] {
    const { demands } = this
    const fewer = demands.numbers('fewer')?.[0] ?? 0
    return Array.from({ length: Math.max(0, count - fewer) }, (_, index) => {
      const one = typeof wanted === 'function' ? wanted(index) : wanted
      const [width = one.width, height = one.height] = demands.numbers('pixels') ?? []
      return this.#picture({ ...one, width, height }, index, demands.has('half') && index % 2 === 1)
    })
  }

  /**
   * A picture in addition to those of the answer, such as a thought or a partial picture. The ledger does not have it.
   */
  extra(wanted: Wanted, index: number): Sketch {
    return this.#picture(wanted, -1 - index, false)
  }

  #picture({ width, height, format, price = '0' }: Wanted, index: number, failed: boolean): Sketch {
    const request = this.#request
    const hollow = this.demands.has('hollow')
    const picture: Picture = {
      width,
      height,
      format,
      seed: seedOf(this.#seed, index),
      detail: 3,
      quality: 80,
      plain: true,
    }
    const bytes = async () => (hollow ? Buffer.from('no picture at all') : await request.site.paint(picture))
    const base64 = async () => (await bytes()).toString('base64')
    const mime = mediaTypes[format]
    return {
      width,
      height,
      index,
      format,
      price,
      failed,
      mime,
      bytes,
      base64,
      dataUrl: async () => `data:${mime};base64,${await base64()}`,
      link: () => request.desk.publish(picture, this.demands),
    }
  }

  /** Enters in the ledger that the picture was made, or that it failed. */
  make(sketch: Sketch): void {
    const { width, height, format, price } = sketch
    if (sketch.failed) this.entry.failed++
    else this.entry.add({ width, height, format, price })
  }

  /** Prepares pictures, and enters them all in the ledger at once. */
  draw(count: number, wanted: Wanted): readonly Sketch[] {
    const sketches = this.sketch(count, wanted)
    for (const sketch of sketches) this.make(sketch)
    return sketches
  }

  /** Opens a job that makes these pictures. */
  open<About extends object>(about: About, sketches: readonly Sketch[], id?: string): Job<About> {
    const finish = () => {
      for (const sketch of sketches) this.make(sketch)
    }
    return this.#request.desk.jobs.open(this.demands, about, finish, id)
  }

  /** The origin of poll links: the vendor's own, or another one if the prompt demands it. */
  get pollUrl(): string {
    const port = this.demands.numbers('elsewhere')?.[0]
    return port === undefined ? this.#request.desk.url : `http://localhost:${port}`
  }

  answer(value: unknown, status = 200, headers: Played['headers'] = {}): Played {
    const played = answerJson(status, value, headers)
    return this.demands.cut ? { ...played, body: cutShort(JSON.stringify(value)) } : played
  }

  /**
   * Server-sent events. Each record is made when it is sent.
   * @param broken the record of an error in the middle
   */
  events(records: readonly (() => string | Promise<string>)[], broken: string): Played {
    const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }
    return { status: 200, headers, body: emit(records, broken, this.demands) }
  }
}

/**
 * Opens an order.
 * @throws Problem if the prompt demands a refusal
 */
export async function openOrder(request: VendorRequest, model: string, prompt: string, stream = false): Promise<Order> {
  const demands = readDemands(prompt, request.desk.ledger.turn(prompt))
  const { slowMs, refusal, errorEvent } = demands
  // `ref: false`: a wait does not keep the process running; the open connection does.
  if (slowMs > 0) await wait(slowMs, undefined, { ref: false })
  if (refusal) throw demanded(refusal)
  if (demands.has('html')) throw new Problem('broken', 'a page', { played: page })
  if (errorEvent && !stream) throw new Problem('broken', 'The simulator fails, as the prompt demands.', { status: 200 })
  return new Order(request, demands, request.desk.ledger.open(request.id, model, prompt))
}

const page: Played = {
  status: 200,
  headers: { 'content-type': 'text/html; charset=utf-8' },
  body: '<!doctype html><title>Maintenance</title><p>We will be back soon.',
}

function demanded({ status, retryAfterS }: NonNullable<Demands['refusal']>): Problem {
  const kind = status === 429 ? 'busy' : status === 401 ? 'unauthorized' : status >= 500 ? 'broken' : 'invalid_value'
  return new Problem(kind, `The simulator refuses with ${status}, as the prompt demands.`, { status, retryAfterS })
}

async function* cutShort(body: string): AsyncIterable<string> {
  yield body.slice(0, body.length >> 1)
  await nextTurn()
  throw new Error('cut on demand')
}

async function* emit(
  records: readonly (() => string | Promise<string>)[],
  broken: string,
  { cut, errorEvent, pauseMs }: Demands,
): AsyncIterable<string> {
  const shown = cut || errorEvent ? records.slice(0, Math.ceil(records.length / 2)) : records
  for (const record of shown) {
    if (pauseMs > 0) await wait(pauseMs, undefined, { ref: false })
    yield await record()
  }
  if (errorEvent) yield broken
  if (!cut) return
  await nextTurn()
  throw new Error('cut on demand')
}

/** A record of server-sent events. `name` is the vendor's name of the event, for vendors that send one. */
export function record(data: unknown, name?: string): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`
}

export async function eachOf<T>(sketches: readonly Sketch[], make: (sketch: Sketch) => T | Promise<T>): Promise<T[]> {
  const made: T[] = []
  for (const sketch of sketches) made.push(await make(sketch))
  return made
}
