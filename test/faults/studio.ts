import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Order } from './load.ts'

/** An upstream that creates each image once, in pieces, and records which ones it has sent. */
export async function openStudio(
  orders: readonly Order[],
  random: () => number,
): Promise<{ url: string; close(): Promise<void> }> {
  let drawn = 0
  const filler = Buffer.alloc(64 * 1024, 0x5a)

  function draw(order: Order): { mark: string; text: string } {
    const id = drawn++
    if (order.links) {
      const mark = `https://pictures.test/${id}.png`
      return { mark, text: `"url":"${mark}"` }
    }
    const [width, height] = [1 + (id % 4000), 1 + Math.floor(id / 4000)]
    const sizes = [100, 2_500, 6_000, 30_000]
    const bytes = picture(width, height, filler.subarray(0, sizes[Math.floor(random() * sizes.length)]))
    return { mark: `${width}x${height}`, text: `"b64_json":"${bytes.toString('base64')}"` }
  }

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const request = JSON.parse(Buffer.concat(chunks).toString()) as { prompt: string; stream?: boolean }
    const order = orders[Number(request.prompt)] as Order
    const send = async (text: string, mark?: string): Promise<void> => {
      for (let at = 0; at < text.length; ) {
        const step = 1 + Math.floor(random() * 20_000)
        if (random() < 0.3) await sleep(random() * 12)
        // A picture counts as made when the gateway may have it completely.
        if (mark !== undefined && at + step >= text.length) order.produced.add(mark)
        if (res.destroyed) return
        res.write(text.slice(at, at + step))
        at += step
      }
    }
    const stream = request.stream === true
    res.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' })
    if (!stream) await send('{"created":1,"data":[')
    for (let i = 0; i < order.images && !res.destroyed; i++) {
      const { mark, text } = draw(order)
      if (stream) {
        const preview = picture(1, 9_999, filler.subarray(0, 2_000)).toString('base64')
        await send(
          `data: {"type":"image_generation.partial_image","partial_image_index":0,"b64_json":"${preview}"}\n\n`,
        )
        await send(`data: {"type":"image_generation.completed",${text}}\n\n`, mark)
      } else await send(`${i > 0 ? ',' : ''}{${text}}`, mark)
    }
    if (!stream) await send(']}')
    res.end()
  }

  const server = createServer((req, res) => {
    res.on('error', () => undefined)
    serve(req, res).catch(() => res.destroy())
  })
  server.on('clientError', (_error, socket) => socket.destroy())
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** A PNG by its chunks; its pixels do not matter. */
export function picture(width: number, height: number, pixels: Buffer): Buffer {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head[8] = 1
  const chunk = (type: string, content: Buffer): Buffer => {
    const frame = Buffer.alloc(12 + content.length)
    frame.writeUInt32BE(content.length, 0)
    frame.write(type, 4, 'latin1')
    content.copy(frame, 8)
    return frame
  }
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([signature, chunk('IHDR', head), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))])
}
