import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type MarketOrder, tokensOf } from './market-orders.ts'
import { picture } from './studio.ts'

/** Ends the connection after the data sent so far. */
function breakOff(res: ServerResponse): void {
  res.socket?.destroySoon()
}

export type MarketVendor = { readonly url: string; close(): Promise<void> }

type Asked = {
  readonly prompt?: string
  readonly n?: number
  readonly stream?: boolean
  readonly messages?: readonly { readonly content: string }[]
}
type Work = { readonly order: MarketOrder; readonly marks: readonly string[]; readonly doneAt: number }

const sizes = [100, 2_500, 6_000, 30_000]
const words = ['it', 'is', 'written', 'down', 'what', 'was', 'sold']

/**
 * A vendor of text, pictures, links and jobs. It records its sales on the order, which is the only record next to the
 * gateway's books: a picture when the gateway may have it completely, tokens when it may have read the report.
 */
export async function openMarketVendor(
  orders: readonly MarketOrder[],
  random: () => number,
  pace = 1,
): Promise<MarketVendor> {
  const works = new Map<string, Work>()
  const filler = Buffer.alloc(64 * 1024, 0x5a)
  let drawn = 0

  // Each number once, in no order of sizes.
  const newMark = (): string => `${1 + ((drawn * 1_237) % 4_000)}x${1 + Math.floor(drawn++ / 4_000)}`
  const draw = (mark: string): string => {
    const [width = 0, height = 0] = mark.split('x').map(Number)
    return picture(width, height, filler.subarray(0, sizes[width % sizes.length])).toString('base64')
  }
  const wait = (ms: number): Promise<unknown> => sleep(random() * ms * pace)

  /** Sends in pieces; calls `sold` when the gateway may have all of it. @returns whether it was sent to the end */
  async function send(res: ServerResponse, text: string, sold?: () => void): Promise<boolean> {
    for (let at = 0; at < text.length; ) {
      const step = 1 + Math.floor(random() * 20_000)
      if (random() < 0.3) await wait(12)
      if (res.destroyed) return false
      if (at + step >= text.length) sold?.()
      res.write(text.slice(at, at + step))
      at += step
    }
    return true
  }

  async function chat(order: MarketOrder, isStream: boolean, res: ServerResponse): Promise<void> {
    const { input, output } = tokensOf(order)
    const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
    const tell = (): void => void (order.used = { input, output })
    const event = (value: object): string =>
      `data: ${JSON.stringify({ id: `chat-${order.number}`, object: 'chat.completion.chunk', created: 1, model: 'one', ...value })}\n\n`
    await wait(40)
    res.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    if (!isStream) {
      const message = { role: 'assistant', content: words.join(' ') }
      const choices = [{ index: 0, message, finish_reason: 'stop' }]
      const body = JSON.stringify({ id: 'chat', object: 'chat.completion', created: 1, model: 'one', choices, usage })
      if (order.fate !== 'cut') {
        await send(res, body, tell)
        return void res.end()
      }
      await send(res, body.slice(0, 60))
      return breakOff(res)
    }
    for (const [at, word] of words.entries()) {
      if (order.fate === 'cut' && at === 4) return breakOff(res)
      await send(res, event({ choices: [{ index: 0, delta: { content: `${word} ` }, finish_reason: null }] }))
      await wait(20)
    }
    await send(res, event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
    await send(res, event({ choices: [], usage }), tell)
    await send(res, 'data: [DONE]\n\n')
    res.end()
  }

  async function makePictures(order: MarketOrder, isStream: boolean, res: ServerResponse): Promise<void> {
    await wait(60)
    res.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    if (!isStream) await send(res, '{"created":1,"data":[')
    const count = order.fate === 'empty' ? 0 : order.images
    for (let i = 0; i < count; i++) {
      if (order.fate === 'cut' && i === count - 1) return breakOff(res)
      const mark = order.kind === 'links' ? `https://pictures.test/${drawn++}.png` : newMark()
      const sold = (): void => void order.made.add(mark)
      const text = order.kind === 'links' ? `"url":"${mark}"` : `"b64_json":"${draw(mark)}"`
      if (isStream) await send(res, `data: {"type":"image_generation.completed",${text}}\n\n`, sold)
      else await send(res, `${i > 0 ? ',' : ''}{${text}}`, sold)
    }
    if (!isStream) await send(res, ']}')
    res.end()
  }

  async function take(order: MarketOrder, count: number, res: ServerResponse): Promise<void> {
    const id = `work-${works.size}`
    works.set(id, {
      order,
      marks: Array.from({ length: count }, newMark),
      doneAt: performance.now() + random() * 300 * pace,
    })
    await send(res, JSON.stringify({ id, status: 'Pending', polling_url: `${url}/works/${id}` }))
    res.end()
  }

  async function tellWork({ order, marks, doneAt }: Work, res: ServerResponse): Promise<void> {
    const isDone = performance.now() >= doneAt
    const result = marks.map(mark => ({ sample: draw(mark) }))
    const sold = (): void => {
      if (isDone) for (const mark of marks) order.made.add(mark)
    }
    await send(res, JSON.stringify(isDone ? { status: 'Ready', result } : { status: 'Pending' }), sold)
    res.end()
  }

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    res.setHeader('content-type', 'application/json')
    const work = works.get(/^\/works\/(.+)$/.exec(req.url ?? '')?.[1] ?? '')
    if (work) return tellWork(work, res)
    const request = JSON.parse(Buffer.concat(chunks).toString()) as Asked
    const order = orders[Number.parseInt(request.messages?.[0]?.content ?? request.prompt ?? '', 10)] as MarketOrder
    order.asked++
    if (order.fate === 'refused' || order.fate === 'failed') {
      await wait(20)
      const error = { message: 'not this one', type: 'invalid_request_error', code: 'no' }
      return void res.writeHead(order.fate === 'refused' ? 400 : 500).end(JSON.stringify({ error }))
    }
    if (order.kind === 'chat') return chat(order, request.stream === true, res)
    if (order.kind === 'job') return take(order, request.n ?? 1, res)
    return makePictures(order, request.stream === true, res)
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
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
