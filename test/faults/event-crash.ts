import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { openStorage, type Storage } from '../../src/index.ts'
import { type ChildGateway, prepareSite } from '../harness/child.ts'
import { seeded } from '../harness/exchange.ts'
import { openReceiver, type Received } from '../harness/receiver.ts'

/** What a run of kills came to. */
export type EventCrashSummary = {
  readonly seed: number
  readonly kills: number
  readonly requests: number
  /** Charges and refunds in the ledger. */
  readonly happened: number
  /** What the receiver took, the same again and again among it. */
  readonly deliveries: number
  /** In the ledger, and never told. */
  readonly missing: number
  /** Told, and not in the ledger. */
  readonly phantom: number
  /** One happening under two ids, or one id for two. */
  readonly torn: number
  readonly violations: readonly string[]
  readonly seconds: number
}

const secret = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`
/** How long the receiver may take to be told everything, once nobody is killed any more. */
const restMs = 30_000
const clients = 8

/**
 * Kills a gateway again and again while it charges and tells, and compares what its ledger holds with what the receiver was
 * told. The receiver is in this process, refuses one event in twenty, and keeps the only other record.
 */
export async function runEventCrashes(options: {
  readonly kills: number
  readonly requests: number
  readonly seed: number
}): Promise<EventCrashSummary> {
  const { kills, requests, seed } = options
  const began = performance.now()
  const random = seeded(seed)
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-events-'))
  const receiver = await openReceiver()
  const taken: Received[] = []
  const refused = new Set<string>()
  receiver.answer = one => {
    const id = String(one.headers['webhook-id'])
    // Once: what is refused twice comes again in five minutes.
    if (random() < 0.05 && !refused.has(id)) {
      refused.add(id)
      return 500
    }
    taken.push(one)
    return 204
  }
  let child: ChildGateway | undefined
  try {
    const hook = `{ url: "${receiver.url}", secret: ${secret}, kinds: ["charge.*"], allow_private: true }`
    const site = await prepareSite(folder, {
      upstreams: {},
      edit: [
        ['retention: {', `events: { webhooks: { counts: ${hook} } }\nretention: {`],
        // Load, not limits, is what this is about.
        [/rpm: 60\b/, 'rpm: 1000000'],
      ],
    })
    const look = await openStorage({ url: `sqlite:${site.database}`, role: 'tool' })
    try {
      const load = { sent: 0, isOver: false, url: '', answered: [] as string[] }
      child = site.start()
      load.url = await child.ready
      // Told is what happens from the moment on from which there is a receiver.
      while ((await look.events.webhooks.list()).length === 0) await sleep(20)
      const running = Array.from({ length: clients }, () => keepAsking(load, site.key, random))
      for (let kill = 0; kill < kills; kill++) {
        const share = ((kill + 1) * requests) / (kills + 1)
        while (load.sent < share) await sleep(5)
        await sleep(random() * 60)
        load.url = ''
        await child.kill()
        const [id] = load.answered.slice(-1)
        if (id !== undefined && random() < 0.5) await look.books.refund(id, 'crash', 'a test')
        child = site.start()
        // Some are killed before they have begun.
        if (random() < 0.2) {
          await sleep(random() * 400)
          await child.kill()
          child = site.start()
        }
        load.url = await child.ready
      }
      while (load.sent < requests) await sleep(5)
      load.isOver = true
      await Promise.all(running)
      await waitForAll(look, taken, child)
      await child.stop()
      child = undefined
      const sums = compare(await readHappened(look), taken)
      const { problems } = await look.books.verify()
      const seconds = Math.round((performance.now() - began) / 1_000)
      return { seed, kills, requests: load.sent, ...sums, violations: [...sums.violations, ...problems], seconds }
    } finally {
      await look.close()
    }
  } finally {
    await child?.kill()
    await receiver.close()
    await rm(folder, { recursive: true, force: true })
  }
}

type Load = { sent: number; isOver: boolean; url: string; readonly answered: string[] }

/** Two in three are texts, which stand in segments; the others are images, which have rows of their own. */
async function keepAsking(load: Load, key: string, random: () => number): Promise<void> {
  while (!load.isOver) {
    const { url } = load
    if (url === '') {
      await sleep(10)
      continue
    }
    load.sent++
    const isText = random() < 0.67
    const [path, body] = isText
      ? ['/v1/chat/completions', { model: 'sim-chat', max_tokens: 8, messages: [{ role: 'user', content: 'hello' }] }]
      : ['/v1/images/generations', { model: 'alpha-image-2', prompt: 'a boat', size: '1024x1024' }]
    try {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      await response.arrayBuffer()
      const id = response.headers.get('x-request-id')
      if (response.ok && !isText && id !== null) load.answered.push(id)
    } catch {
      // Killed: whether it was charged the ledger says.
    }
  }
}

const settled = (id: string): string => `charge.settled ${id}`
const refunded = (id: string): string => `charge.refunded ${id}`

/** Everything that is in the ledger, read from its charges and not from its chains. */
async function readHappened(storage: Storage): Promise<ReadonlySet<string>> {
  const happened = new Set<string>()
  for (let after: string | null = null; ; ) {
    const some = await storage.books.all(after, 1_000)
    for (const { id, state, refunded: back } of some) {
      if (state === 'settled') happened.add(settled(id))
      if (back > 0) happened.add(refunded(id))
    }
    if (some.length < 1_000) return happened
    after = some.at(-1)?.id ?? null
  }
}

type Body = { readonly type: string; readonly data: { readonly charge_id: string } }

const nameOf = (text: string): string => {
  const { type, data } = JSON.parse(text) as Body
  return `${type} ${data.charge_id}`
}

async function waitForAll(storage: Storage, taken: readonly Received[], gateway: ChildGateway): Promise<void> {
  const end = performance.now() + restMs
  for (;;) {
    const happened = await readHappened(storage)
    const told = new Set(taken.map(({ body }) => nameOf(body)))
    if ([...happened].every(one => told.has(one)) || performance.now() > end) return
    await Promise.race([sleep(200), gateway.gone])
  }
}

function compare(happened: ReadonlySet<string>, taken: readonly Received[]) {
  const violations: string[] = []
  const nameById = new Map<string, string>()
  const idByName = new Map<string, string>()
  let torn = 0
  for (const { headers, body } of taken) {
    new Webhook(secret).verify(body, headers as { readonly [name: string]: string })
    const [id, name] = [String(headers['webhook-id']), nameOf(body)]
    if ((nameById.get(id) ?? name) !== name || (idByName.get(name) ?? id) !== id) {
      torn++
      violations.push(`${name} is told as ${id}, and ${nameById.get(id) ?? name} as ${idByName.get(name) ?? id}`)
    }
    nameById.set(id, name)
    idByName.set(name, id)
  }
  const missing = [...happened].filter(one => !idByName.has(one))
  const phantom = [...idByName.keys()].filter(one => !happened.has(one))
  violations.push(...missing.map(one => `${one} was never told`), ...phantom.map(one => `${one} never happened`))
  const counts = { missing: missing.length, phantom: phantom.length, torn }
  return { happened: happened.size, deliveries: taken.length, ...counts, violations }
}

if (import.meta.main) {
  process.once('SIGINT', () => process.exit(1)).once('SIGTERM', () => process.exit(1))
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
  const kills = Number(process.env['KILLS'] ?? 100)
  const requests = Number(process.env['REQUESTS'] ?? 10_000)
  process.stderr.write(`${kills} kills, ${requests} requests, SEED=${seed}\n`)
  const summary = await runEventCrashes({ kills, requests, seed })
  process.stdout.write(`${JSON.stringify({ ...summary, violations: summary.violations.slice(0, 20) }, null, 2)}\n`)
  if (summary.violations.length > 0) process.exitCode = 1
}
