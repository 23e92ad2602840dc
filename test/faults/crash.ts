import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { openStorage } from '../../src/index.ts'
import { type ChildGateway, prepareSite, type Site } from '../harness/child.ts'
import { seeded } from '../harness/exchange.ts'
import { readImages } from '../harness/read-images.ts'
import { askOnce } from '../harness/ask.ts'

/** What a run of kills came to. All counts are of images. */
export type CrashSummary = {
  readonly seed: number
  readonly kills: number
  /** Of them, while the gateway was starting or recovering. */
  readonly killsAtStart: number
  readonly requests: number
  readonly produced: number
  readonly delivered: number
  readonly billed: number
  /** Had by a caller, without a line. */
  readonly unbilled: number
  /** Billed a second time. */
  readonly double: number
  /** Billed, and never made. */
  readonly phantom: number
  /** Billed and not had by the caller: at most what was in flight when the gateway was killed. */
  readonly undelivered: number
  readonly undeliveredPerKill: number
  readonly undeliveredMost: number
  readonly inFlightMost: number
  /** Charges without a line whose outcome nobody knows: they cost nothing. */
  readonly forReview: number
  readonly seconds: number
  /** Every sentence is a promise that was broken. */
  readonly violations: readonly string[]
}

/** One request: what the upstream made for it, and what the caller had of it. */
type Order = {
  readonly number: number
  readonly images: number
  readonly links: boolean
  readonly produced: Set<string>
  readonly delivered: Set<string>
  whole: boolean
  /** The kill that it was in flight at. */
  killedAt: number | undefined
}

type Line = { readonly order: number; readonly index: number; readonly mark: string }

/**
 * Kills a gateway under load, again and again, and compares what callers had with what was billed. The upstream and the
 * callers are in this process and keep the only other record; every image has dimensions of its own, and every request
 * a number that its charge keeps as the quality asked for.
 */
export async function runCrashes(options: {
  readonly kills: number
  readonly seed: number
  readonly clients?: number
  /** No further kill after so many seconds. */
  readonly secondsMax?: number
}): Promise<CrashSummary> {
  const { seed, clients = 48, secondsMax = Number.POSITIVE_INFINITY } = options
  const began = performance.now()
  const random = seeded(seed)
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-crash-'))
  const orders: Order[] = []
  const violations: string[] = []
  const studio = await openStudio(orders, random)
  let child: ChildGateway | undefined
  let kills = 0
  let killsAtStart = 0
  try {
    const site = await prepareSite(folder, {
      upstreams: { alpha: studio.url, beta: studio.url },
      edit: [
        ['default: { rpm: 60, tpm: 500000 }', 'default: { rpm: 100000000 }'],
        [', limits: { rpm: 300 } }', ' }'],
      ],
    })
    for (let kill = 0; kill < options.kills; kill++) {
      if (performance.now() - began > secondsMax * 1000) break
      kills++
      child = site.start()
      if (kill > 0 && random() < 0.15) {
        killsAtStart++
        await sleep(20 + random() * 400)
        await child.kill()
        continue
      }
      const url = await child.ready
      violations.push(...checkRecovered(site, kill))
      const load = runLoad(url, site.key, orders, random, clients)
      await load.first
      await sleep(random() * 400)
      load.stop(kill)
      await child.kill()
      await load.over
    }
    child = site.start()
    await child.ready
    violations.push(...checkRecovered(site, kills))
    await child.stop()
    child = undefined
    const storage = await openStorage({ url: `sqlite:${site.database}`, role: 'tool' })
    violations.push(...(await storage.books.verify()).problems)
    await storage.close()
    return {
      ...compare(orders, readBooks(site), violations),
      seed,
      kills,
      killsAtStart,
      seconds: Math.round((performance.now() - began) / 1000),
    }
  } finally {
    await child?.kill()
    await studio.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** An upstream that draws every image once, in pieces, and writes down which it has sent. */
async function openStudio(
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
    const asked = JSON.parse(Buffer.concat(chunks).toString()) as { prompt: string; stream?: boolean }
    const order = orders[Number(asked.prompt)] as Order
    const send = async (text: string, mark?: string): Promise<void> => {
      for (let at = 0; at < text.length; ) {
        const step = 1 + Math.floor(random() * 20_000)
        if (random() < 0.3) await sleep(random() * 12)
        // What the gateway may have whole counts as made.
        if (mark !== undefined && at + step >= text.length) order.produced.add(mark)
        if (res.destroyed) return
        res.write(text.slice(at, at + step))
        at += step
      }
    }
    const stream = asked.stream === true
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

/** A PNG by its chunks; nobody looks into the pixels. */
function picture(width: number, height: number, pixels: Buffer): Buffer {
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

/** Callers who ask one request after another until they are told to stop, and keep every image that can be had. */
function runLoad(url: string, key: string, orders: Order[], random: () => number, clients: number) {
  const state: { kill: number | undefined } = { kill: undefined }
  const first = Promise.withResolvers<void>()
  const open = new Set<Order>()
  const work = async (): Promise<void> => {
    while (state.kill === undefined) {
      const kind = random()
      const links = kind > 0.8
      const stream = !links && kind > 0.6
      const order: Order = {
        number: orders.length,
        images: 1 + Math.floor(random() * 4),
        links,
        produced: new Set(),
        delivered: new Set(),
        whole: false,
        killedAt: undefined,
      }
      orders.push(order)
      open.add(order)
      const model = links ? 'beta-imagine-image' : 'alpha-image-2'
      const body = {
        model,
        prompt: String(order.number),
        quality: String(order.number),
        n: order.images,
        ...(stream && { stream }),
      }
      const answer = await askOnce(url, body, { key })
      open.delete(order)
      order.whole = answer.whole && answer.status === 200
      if (!order.whole) order.killedAt = state.kill
      if (answer.status !== undefined && answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
      const marks = links
        ? [...answer.text.matchAll(/"url":"([^"]+)"/g)].map(([, link]) => String(link))
        : readImages(answer.text)
      for (const mark of marks) order.delivered.add(mark)
      if (order.whole) first.resolve()
      if (!order.whole && state.kill === undefined)
        throw new Error(`request ${order.number} was cut although nobody was killed`)
    }
  }
  const over = Promise.all(Array.from({ length: clients }, work))
  over.catch(first.reject)
  return {
    /** One answer has come whole. */
    first: first.promise,
    over,
    /** From now on what is cut is cut by this kill. */
    stop(at: number) {
      state.kill = at
    },
  }
}

/** After a start no charge of an earlier gateway is open and no money is held (promise 5). */
function checkRecovered(site: Site, kill: number): string[] {
  const db = new DatabaseSync(site.database, { readOnly: true, timeout: 5_000 })
  const reserved = Number(db.prepare(`SELECT count(*) AS n FROM charge WHERE state = 'reserved'`).get()?.['n'])
  const held = Number(db.prepare('SELECT sum(held) AS n FROM key').get()?.['n'])
  db.close()
  return reserved + held === 0 ? [] : [`after kill ${kill}: ${reserved} charges reserved, ${held} micro-units held`]
}

type Books = {
  readonly lines: readonly Line[]
  readonly chargesOf: ReadonlyMap<number, number>
  readonly forReview: number
}

/** Read with SQL of the test's own, past the code that wrote it. */
function readBooks(site: Site): Books {
  const db = new DatabaseSync(site.database, { readOnly: true })
  const lines = db
    .prepare('SELECT c.quality, l.idx, l.width, l.height FROM line l JOIN charge c ON c.id = l.charge_id')
    .all()
    .map(row => ({
      order: Number(row['quality']),
      index: Number(row['idx']),
      mark: row['width'] === null ? 'link' : `${String(row['width'])}x${String(row['height'])}`,
    }))
  const charges = db.prepare('SELECT quality, count(*) AS n FROM charge GROUP BY quality').all()
  const forReview = Number(db.prepare(`SELECT count(*) AS n FROM charge WHERE state = 'needs_review'`).get()?.['n'])
  db.close()
  return { lines, chargesOf: new Map(charges.map(row => [Number(row['quality']), Number(row['n'])])), forReview }
}

function compare(orders: readonly Order[], { lines, chargesOf, forReview }: Books, found: readonly string[]) {
  const violations = [...found]
  const linesOf = Map.groupBy(lines, line => line.order)
  const perKill = new Map<number, { undelivered: number; inFlight: number }>()
  const sum = { produced: 0, delivered: 0, billed: 0, unbilled: 0, double: 0, phantom: 0, undelivered: 0 }
  for (const order of orders) {
    const own = linesOf.get(order.number) ?? []
    // A line does not say which link it is for; the first that were made are those that were billed.
    const billed = order.links ? [...order.produced].slice(0, own.length) : own.map(line => line.mark)
    const once = new Set(billed)
    const unbilled = [...order.delivered].filter(mark => !once.has(mark)).length
    const double = billed.length - once.size + Math.max(0, (chargesOf.get(order.number) ?? 0) - 1)
    const phantom = order.links
      ? Math.max(0, own.length - order.produced.size)
      : [...once].filter(mark => !order.produced.has(mark)).length
    const undelivered = [...once].filter(mark => !order.delivered.has(mark)).length
    sum.produced += order.produced.size
    sum.delivered += order.delivered.size
    sum.billed += own.length
    sum.unbilled += unbilled
    sum.double += double
    sum.phantom += phantom
    sum.undelivered += undelivered
    if (unbilled + double + phantom > 0)
      violations.push(`request ${order.number}: ${unbilled} unbilled, ${double} double, ${phantom} phantom`)
    if (undelivered > 0 && order.whole)
      violations.push(`request ${order.number}: answered whole, ${undelivered} billed images missing`)
    if (order.killedAt === undefined) continue
    const at = perKill.get(order.killedAt) ?? { undelivered: 0, inFlight: 0 }
    perKill.set(order.killedAt, { undelivered: at.undelivered + undelivered, inFlight: at.inFlight + order.images })
  }
  for (const [kill, { undelivered, inFlight }] of perKill)
    if (undelivered > inFlight)
      violations.push(`kill ${kill}: ${undelivered} billed and not delivered, ${inFlight} in flight`)
  const counts = [...perKill.values()]
  return {
    ...sum,
    requests: orders.length,
    undeliveredPerKill: Math.round((sum.undelivered / Math.max(1, counts.length)) * 100) / 100,
    undeliveredMost: Math.max(0, ...counts.map(one => one.undelivered)),
    inFlightMost: Math.max(0, ...counts.map(one => one.inFlight)),
    forReview,
    violations,
  }
}

if (import.meta.main) {
  process.once('SIGINT', () => process.exit(1)).once('SIGTERM', () => process.exit(1))
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
  const kills = Number(process.env['KILLS'] ?? 200)
  process.stderr.write(`${kills} kills, SEED=${seed}\n`)
  const summary = await runCrashes({ kills, seed })
  process.stdout.write(`${JSON.stringify(summary, null, 2)}\n`)
  if (summary.violations.length > 0) process.exitCode = 1
}
