import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKey } from '../../src/index.ts'
import type { Charge } from '../../src/domain/index.ts'
import { askOnce } from '../harness/ask.ts'
import { type ChildGateway, prepareSite, type Site } from '../harness/child.ts'
import { openDatabase } from '../harness/database.ts'
import { newSeed, seeded } from '../harness/seed.ts'
import { type Life, newLife, whileLoaded } from './load.ts'

/** The result of a run of kills. */
export type HitCrashSummary = {
  readonly violations: readonly string[]
  readonly seed: number
  readonly kills: number
  /** Hits that clients received completely, and charges of hits. */
  readonly delivered: number
  readonly charged: number
  /** Hits that were received completely but not charged, and charges of hits that no client received completely. */
  readonly lost: number
  readonly unconfirmed: number
}

/** One request: its result for the client, and the times of sending and complete arrival, by `performance.now()`. */
type Asked = {
  readonly key: string
  readonly life: Life
  readonly sentAt: number
  id: string
  isHit: boolean
  wholeAt: number | undefined
}

const model = 'sim-chat'
/** Price of a hit in micro-units. */
const price = 100
const prompts = 8
/** How many hits a gateway has delivered before it is killed, however slow the machine is. */
const hitsMin = 20
const usage = { prompt_tokens: 1_000, completion_tokens: 1_000 }

/** An upstream with one answer, which has a price. */
async function openVendor(): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((req, res) => {
    req.resume().on('end', () => {
      const choices = [{ index: 0, message: { role: 'assistant', content: 'a boat' }, finish_reason: 'stop' }]
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ id: 'a', object: 'chat.completion', choices, usage }))
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => new Promise(resolve => server.close(() => resolve()).closeAllConnections()),
  }
}

/**
 * Repeatedly kills a gateway while it serves paid answers from its cache, and compares the hits that clients received
 * with the charged ones. One key has a budget, so that its hits have holds; hits of the other key are charged in
 * batches.
 */
export async function runHitCrashes(options: {
  readonly kills: number
  readonly seed: number
  readonly clients?: number
}): Promise<HitCrashSummary> {
  const { seed, clients = 16 } = options
  const random = seeded(seed)
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-hits-'))
  const vendor = await openVendor()
  const all: Asked[] = []
  const violations: string[] = []
  let child: ChildGateway | undefined
  try {
    const site = await prepareSite(folder, {
      upstreams: { text: vendor.url },
      edit: [
        { 'groups/default': { rpm: 100000000 } },
        [`\n  ${model}: {`, `\n  ${model}: { cache: { for: 1h, hit_price: { each: "0.0001" } },`],
      ],
    })
    const keys = [site.key, await boundedKey(site)]
    const load = async (life: Life): Promise<void> => {
      const work = async (): Promise<void> => {
        while (life.killedAt === undefined) await ask(life, keys[Math.floor(random() * keys.length)] as string)
      }
      await Promise.all(Array.from({ length: clients }, work))
    }
    const ask = async (life: Life, key: string): Promise<void> => {
      const request: Asked = { key, life, sentAt: performance.now(), id: '', isHit: false, wholeAt: undefined }
      all.push(request)
      const content = `a boat ${Math.floor(random() * prompts)}`
      const body = { model, messages: [{ role: 'user', content }] }
      const { status, whole, id, headers, text } = await askOnce(life.url, body, { key, path: '/v1/chat/completions' })
      request.id = id
      request.isHit = headers['x-tollgate-cache'] === 'hit'
      if (whole && status === 200) request.wholeAt = performance.now()
      else if (status !== undefined && status !== 200) violations.push(`${id}: ${status} ${text}`)
      else if (life.killedAt === undefined) violations.push(`${id} was cut although no gateway was killed`)
    }
    for (let kill = 0; kill <= options.kills; kill++) {
      child = site.start()
      const life = newLife(kill, await child.ready)
      const over = load(life)
      const delivered = (): number =>
        all.filter(one => one.life === life && one.isHit && one.wholeAt !== undefined).length
      await whileLoaded({ over }, () => delivered() >= hitsMin)
      await sleep(50 + random() * 300)
      life.killedAt = performance.now()
      // The last one exits normally: none of its charges may be missing.
      await (kill === options.kills ? over.then(() => child?.stop()) : child.kill())
      await over
    }
    child = undefined
    const { charges, problems } = await readCharges(site)
    const found = compare({ all, charges, last: options.kills, slack: 2 * clients })
    return { ...found, violations: [...violations, ...problems, ...found.violations], seed, kills: options.kills }
  } finally {
    await child?.kill()
    await vendor.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function boundedKey({ database }: Site): Promise<string> {
  const storage = await openDatabase({ url: `sqlite:${database}`, role: 'tool' })
  const { secret } = await createKey(storage, { name: 'bounded', user: 'local', budget: 1_000_000_000_000 })
  await storage.close()
  return secret
}

/** All charges of hits, and the problems of the books. */
async function readCharges({
  database,
}: Site): Promise<{ readonly charges: readonly Charge[]; readonly problems: readonly string[] }> {
  const storage = await openDatabase({ url: `sqlite:${database}`, role: 'tool' })
  const problems = [...(await storage.books.verify()).problems]
  for (const { state, count, hold } of await storage.books.open())
    if (state === 'reserved' || hold > 0) problems.push(`${count} charges are still ${state}, and hold ${hold}`)
  const charges: Charge[] = []
  for (let after: string | null = null; ; ) {
    const some = await storage.books.all(after, 1_000)
    charges.push(...some)
    const last = some.at(-1)
    if (!last) break
    after = last.id
  }
  await storage.close()
  return { charges: charges.filter(({ rule }) => rule.kind === 'cached_response'), problems }
}

/** `last`: the life that was not killed. `slack`: the number of charges of a key that may overtake another one's. */
function compare({
  all,
  charges,
  last,
  slack,
}: {
  readonly all: readonly Asked[]
  readonly charges: readonly Charge[]
  readonly last: number
  readonly slack: number
}) {
  const violations: string[] = []
  const settled = new Set<string>()
  for (const { id, state, amount, lines } of charges) {
    if (state === 'settled') settled.add(id)
    if (state === 'settled' && (amount !== price || lines.length !== 1)) violations.push(`${id} costs ${amount}`)
    // A hit has bought nothing, so its charge never needs a review.
    if (state !== 'settled' && state !== 'voided') violations.push(`${id} is a hit and ${state}`)
    if (state !== 'settled' && amount !== 0) violations.push(`${id} is ${state} and costs ${amount}`)
  }
  const hits = all.filter(one => one.isHit && one.wholeAt !== undefined)
  const lost = hits.filter(({ id }) => !settled.has(id))
  for (const one of lost) {
    const { id, key, life, wholeAt = 0 } = one
    if (life.number === last) violations.push(`${id} was a hit that ended before its gateway, and is not charged`)
    // Charges are written in order: a crash loses only the last ones.
    const later = hits.filter(
      other => other.life === life && other.key === key && other.sentAt > wholeAt && settled.has(other.id),
    )
    if (later.length > slack) violations.push(`${id} is not charged, and ${later.length} later hits are`)
  }
  const got = new Set(hits.map(({ id }) => id))
  const unconfirmed = [...settled].filter(id => !got.has(id))
  const cut = all.filter(({ wholeAt }) => wholeAt === undefined)
  if (unconfirmed.length > cut.length)
    violations.push(`${unconfirmed.length} hits are charged that no client requested`)
  return {
    violations,
    delivered: hits.length,
    charged: settled.size,
    lost: lost.length,
    unconfirmed: unconfirmed.length,
  }
}

if (import.meta.main) {
  process.once('SIGINT', () => process.exit(1)).once('SIGTERM', () => process.exit(1))
  const summary = await runHitCrashes({
    kills: Number(process.env['KILLS'] ?? 100),
    seed: Number(process.env['SEED'] ?? newSeed()),
  })
  process.stdout.write(`${JSON.stringify(summary, null, 2)}\n`)
  if (summary.violations.length > 0) process.exitCode = 1
}
