import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JobOrder, Work } from './job-order.ts'
import { picture } from './studio.ts'

/** Moments of the vendor's work, at which a test may kill the gateway. */
export const moments = ['taken', 'answered', 'polled', 'ready', 'result', 'told', 'picture', 'made'] as const
export type Moment = (typeof moments)[number]

export type JobVendor = {
  readonly url: string
  readonly works: ReadonlyMap<string, Work>
  /** Resolves when a moment has occurred this many times. */
  comes(moment: Moment, times: number): Promise<void>
  close(): Promise<void>
}

const pieceBytes = 16_000
const sizes = [100, 2_500, 12_000, 40_000]

/** A vendor of jobs, of jobs with a second step, of links and of direct pictures. Its record survives every gateway. */
export async function openJobVendor(orders: readonly JobOrder[], random: () => number): Promise<JobVendor> {
  const works = new Map<string, Work>()
  const filler = Buffer.alloc(64 * 1024, 0x5a)
  const waiting = new Set<{ readonly moment: Moment; times: number; readonly wake: () => void }>()
  let drawn = 0

  function tell(moment: Moment): void {
    for (const one of waiting)
      if (one.moment === moment && --one.times <= 0) {
        waiting.delete(one)
        one.wake()
      }
  }

  const newMark = (): string => `${1 + (drawn % 4000)}x${1 + Math.floor(drawn++ / 4000)}`
  const draw = (mark: string): Buffer => {
    const [width = 0, height = 0] = mark.split('x').map(Number)
    return picture(width, height, filler.subarray(0, sizes[(width * 7) % sizes.length]))
  }
  const textOf = (mark: string): string => draw(mark).toString('base64')

  async function send(res: ServerResponse, text: string): Promise<void> {
    for (let at = 0; at < text.length && !res.destroyed; at += pieceBytes) {
      if (random() < 0.3) await sleep(random() * 10)
      res.write(text.slice(at, at + pieceBytes))
    }
    res.end()
  }

  /** A picture counts as made when the gateway may have it completely. */
  async function deliver(res: ServerResponse, order: JobOrder, marks: readonly string[], text: string): Promise<void> {
    for (const mark of marks) order.produced.add(mark)
    await send(res, text)
    tell('told')
  }

  function resultOf({ order, marks }: Pick<Work, 'order' | 'marks'>): object {
    const items = marks.map(mark => ({ sample: order.model === 'linked-1' ? `${url}/pictures/${mark}` : textOf(mark) }))
    return { result: items }
  }

  async function take(order: JobOrder, count: number, res: ServerResponse): Promise<void> {
    const marks = Array.from({ length: count }, newMark)
    const chance = random()
    if (chance < 0.04) return refuse(res, 400, 'not this one')
    if (order.model === 'fanned-1') return makeAtOnce(order, marks, res)
    if (chance < 0.12) {
      for (const mark of marks) order.produced.add(mark)
      return deliver(
        res,
        order,
        marks,
        JSON.stringify({ id: `now-${drawn}`, status: 'Ready', ...resultOf({ order, marks }) }),
      )
    }
    const id = `work-${works.size}`
    const fate = chance < 0.2 ? 'failed' : chance < 0.23 ? 'forgotten' : chance < 0.24 ? 'endless' : 'done'
    const work: Work = { id, order, fate, marks, doneAt: Date.now() + random() * 500 }
    works.set(id, work)
    order.works.push(work)
    tell('taken')
    if (random() < 0.5) await sleep(random() * 30)
    await send(res, JSON.stringify({ id, status: 'Pending', polling_url: `${url}/works/${id}` }))
    tell('answered')
  }

  async function makeAtOnce(order: JobOrder, marks: readonly string[], res: ServerResponse): Promise<void> {
    tell('taken')
    await sleep(random() * 60)
    await deliver(res, order, marks, JSON.stringify(resultOf({ order, marks })))
    tell('made')
  }

  async function stand(work: Work, res: ServerResponse): Promise<void> {
    const { id, order, fate } = work
    tell('polled')
    if (fate === 'forgotten') return refuse(res, 404, 'there is no such work')
    if (random() < 0.05) return refuse(res, 500, 'later')
    if (random() < 0.03) return void res.destroy()
    if (Date.now() < work.doneAt || fate === 'endless') return send(res, JSON.stringify({ id, status: 'Pending' }))
    if (fate === 'failed') return send(res, JSON.stringify({ id, status: 'Failed', message: 'it came to nothing' }))
    tell('ready')
    if (order.model === 'stepped-1') return send(res, JSON.stringify({ id, status: 'Ready' }))
    await deliver(res, order, work.marks, JSON.stringify({ id, status: 'Ready', ...resultOf(work) }))
  }

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    res.setHeader('content-type', 'application/json')
    const [, place, name = ''] = (req.url ?? '').split('/')
    if (req.method === 'POST') {
      const { prompt, n = 1 } = JSON.parse(Buffer.concat(chunks).toString()) as { prompt: string; n?: number }
      return take(orders[Number(prompt)] as JobOrder, n, res)
    }
    if (place === 'pictures') {
      tell('picture')
      res.setHeader('content-type', 'image/png')
      await sleep(random() * 20)
      return void res.end(draw(name))
    }
    const work = works.get(name)
    if (!work) return refuse(res, 404, 'nobody knows it')
    if (place === 'works') return stand(work, res)
    tell('result')
    return deliver(res, work.order, work.marks, JSON.stringify(resultOf(work)))
  }

  const server = createServer((req, res) => {
    res.on('error', () => undefined)
    serve(req, res).catch(() => res.destroy())
  })
  server.on('clientError', (_error, socket) => socket.destroy())
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    works,
    comes(moment, times) {
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting.add({ moment, times, wake: resolve })
      return promise
    },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function refuse(res: ServerResponse, status: number, message: string): void {
  res.writeHead(status).end(JSON.stringify({ error: { message } }))
}
