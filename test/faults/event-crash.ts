import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { Webhook } from 'standardwebhooks'
import type { Storage } from '../../src/index.ts'
import { openDatabase } from '../harness/database.ts'
import { type ChildGateway, prepareSite } from '../harness/child.ts'
import { startPostgres } from '../harness/postgres.ts'
import { openReceiver, type Receiver, type Received } from '../harness/receiver.ts'
import { runScript } from './run-script.ts'
import { seeded } from '../harness/seed.ts'

/** The result of a run of kills. */
export type EventCrashSummary = {
  readonly database: string
  readonly gateways: number
  readonly seed: number
  readonly kills: number
  readonly requests: number
  /** Charges and refunds in the ledger. */
  readonly happened: number
  /** Deliveries that the receiver accepted, including repetitions. */
  readonly deliveries: number
  /** First deliveries that it did not accept: answered 500, 410 or 503, or not at all. */
  readonly refusals: number
  /** In the ledger, but never delivered. */
  readonly missing: number
  /** Delivered, but not in the ledger. */
  readonly phantom: number
  /** One event with two ids, or one id for two events. */
  readonly torn: number
  readonly violations: readonly string[]
  readonly seconds: number
}

const secret = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`
/**
 * The maximum time without a new event, after the last kill, until all are considered delivered. An event that failed
 * twice is retried after five minutes.
 */
const restMs = { nothingWaits: 120_000, someWait: 330_000 }
/** The maximum time of any step on a busy machine. A longer step counts as hanging. */
const stepMs = 120_000
/** Events that get no answer: each blocks a dispatcher for 15 seconds. */
const neverMax = 5
/** Longer than the two seconds between two checks of a dispatcher. */
const tellsMs = 4_000
const clients = 8
/** From this number of kills on, it is worthwhile to compile everything once beforehand. */
const manyKills = 10

export type EventCrashOptions = {
  /** One gateway on a file, or three on a PostgreSQL. */
  readonly database: 'sqlite' | 'postgres'
  readonly kills: number
  readonly requests: number
  readonly seed: number
  /** Whether PostgreSQL syncs to the disk. */
  readonly isSynced: boolean
  /** No further kill and no further requests after this many seconds. */
  readonly secondsMax?: number
  /** Receives the progress. */
  readonly say?: (progress: object) => void
}

/**
 * Repeatedly kills gateways while they charge and send events, and compares their ledger with the events that the
 * receiver got. The receiver is in this process, fails at one event in twenty, and keeps the only other record.
 */
export async function runEventCrashes(
  t: Pick<Test, 'teardown'>,
  options: EventCrashOptions,
): Promise<EventCrashSummary> {
  const { database, kills, requests, seed, isSynced, secondsMax = Infinity, say = () => undefined } = options
  const began = performance.now()
  const random = seeded(seed)
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-events-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const receiver = await openReceiver()
  t.teardown(() => receiver.close())
  const record = keepRecord(receiver, random)
  const postgres = database === 'postgres' ? await startPostgres(isSynced ? [] : ['fsync=off']) : undefined
  if (postgres) t.teardown(() => postgres.close())
  const url = postgres ? await postgres.createDatabase() : `sqlite:${join(folder, 'tollgate.db')}`
  const hook = `{ url: "${receiver.url}", secret: ${secret}, kinds: ["charge.*"], allow_private: true }`
  const site = await prepareSite(folder, {
    upstreams: {},
    storage: url,
    isApart: true,
    edit: [
      ['retention: {', `events: { webhooks: { counts: ${hook} } }\nretention: {`],
      // The test is about load, so limits are high.
      [/rpm: 60\b/, 'rpm: 1000000'],
    ],
  })
  const look = await openDatabase({ url, role: 'tool' })
  t.teardown(() => look.close())
  /** Ends the lease of a killed gateway, so that nothing waits for it. */
  const endLease = async (pid: number): Promise<void> => {
    const client = await postgres?.connect(url)
    await client?.query(`UPDATE replica SET lease_until = 0 WHERE host LIKE '%:${pid}'`)
    await client?.end()
  }
  const load: Load = {
    sent: 0,
    asked: 0,
    unanswered: 0,
    most: requests / (kills + 1),
    isOver: false,
    urls: [],
    answered: [],
  }
  const gateways = postgres ? 3 : 1
  const children: ChildGateway[] = []
  t.teardown(() => Promise.all(children.map(child => child.kill())))
  /** The visible state when a step hangs. */
  const seen = async (): Promise<object> => {
    const client = await postgres?.connect(url)
    const sessions = await client?.query(sessionsAtWork)
    await client?.end()
    const said = children.map(child => child.said().slice(-1_000))
    return { requests: load.sent, asked: load.asked, deliveries: record.taken.length, said, sessions: sessions?.rows }
  }
  const within = <T>(what: string, work: Promise<T>): Promise<T> => endsIn(stepMs, what, work, seen)
  const start = async (at: number): Promise<void> => {
    const child = site.start()
    children[at] = child
    load.urls[at] = await within('a gateway starts', child.ready)
  }
  const kill = async (at: number): Promise<void> => {
    load.urls[at] = undefined
    const child = children[at] as ChildGateway
    await within('a gateway is killed', child.kill())
    await within('the lease of a gateway is ended', endLease(child.pid))
  }
  const sends = async (count: number): Promise<void> => {
    for (let until = performance.now() + stepMs; load.sent < count; await sleep(5))
      if (performance.now() > until) throw await hangs(`request ${Math.ceil(count)} is sent`, seen)
  }
  // A killed process saves no compiled code: every start would take twice the work.
  if (kills > manyKills) {
    const first = site.start()
    children.push(first)
    await within('a gateway starts', first.ready)
    await within('a gateway stops', first.stop())
  }
  for (let at = 0; at < gateways; at++) await start(at)
  // Events are delivered only from the creation of a receiver on.
  for (let until = performance.now() + stepMs; (await look.events.webhooks.list()).length === 0; await sleep(20))
    if (performance.now() > until) throw await hangs('a gateway begins to tell', seen)
  const running = Array.from({ length: clients }, () => keepAsking(load, site.key, random))
  let killed = 0
  for (; killed < kills && secondsSince(began) < secondsMax; killed++) {
    const done = killed
    const share = ((done + 1) * requests) / (kills + 1)
    await sends(share)
    load.most = ((done + 2) * requests) / (kills + 1)
    // Some are killed during deliveries, the others before any event about their charges is sent.
    if (random() < 0.6) await tellsMore(record.taken, 1 + Math.floor(random() * 60))
    await sleep(random() * 60)
    const at = Math.floor(random() * gateways)
    await kill(at)
    const [id] = load.answered.slice(-1)
    if (id !== undefined && random() < 0.5)
      await within('a charge is refunded', look.books.refund(id, 'crash', 'a test'))
    // Some are killed before they are ready.
    if (random() < 0.2) {
      children[at] = site.start()
      await sleep(random() * 400)
      await kill(at)
    }
    await start(at)
    say({ kill: done + 1, requests: load.sent, deliveries: record.taken.length, seconds: secondsSince(began) })
  }
  if (killed === kills) await sends(requests)
  load.isOver = true
  await within('every request is answered', Promise.all(running))
  await waitForAll(look, record.taken, say)
  const ended = children.filter(child => !child.isThere())
  for (const child of children) await within('a gateway stops', child.stop())
  const sums = compare(await readHappened(look), record.taken)
  const { problems } = await look.books.verify()
  const figures = {
    kills: killed,
    requests: load.sent,
    ...sums,
    refusals: record.refused.size,
    seconds: secondsSince(began),
  }
  const gone = ended.map(child => `a gateway ended by itself: ${child.said().slice(-1_000)}`)
  const silent = load.unanswered === 0 ? [] : [`${load.unanswered} requests were not answered`]
  return { database, gateways, seed, ...figures, violations: [...sums.violations, ...problems, ...gone, ...silent] }
}

const secondsSince = (began: number): number => Math.round((performance.now() - began) / 1_000)

/** Waits for this many deliveries, but not for long: one without an answer blocks the others. */
async function tellsMore(taken: readonly Received[], more: number): Promise<void> {
  const wanted = taken.length + more
  for (let until = performance.now() + tellsMs; taken.length < wanted && performance.now() < until; ) await sleep(2)
}

const sessionsAtWork = `SELECT pid, state, wait_event_type, wait_event, pg_blocking_pids(pid) AS behind,
  now() - xact_start AS since, left(query, 200) AS query FROM pg_stat_activity
  WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND state <> 'idle'`

/** Reports the missing result, and the state at that time. */
async function hangs(what: string, seen: () => Promise<object>): Promise<Error> {
  const unseen = sleep(10_000, { unseen: 'the database does not answer' }, { ref: false })
  const state = await Promise.race([seen(), unseen]).catch((error: unknown) => ({ unseen: String(error) }))
  return new Error(`hangs: ${what}, not within ${stepMs / 1_000} s\n${JSON.stringify(state, null, 2)}`)
}

/** @throws Error with the state, if a step takes longer */
async function endsIn<T>(ms: number, what: string, work: Promise<T>, seen: () => Promise<object>): Promise<T> {
  const late = Promise.withResolvers<never>()
  late.promise.catch(() => undefined)
  const limit = setTimeout(() => void hangs(what, seen).then(late.reject), ms)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(limit)
  }
}

/** The receiver's record of accepted and failed deliveries. */
function keepRecord(
  receiver: Receiver,
  random: () => number,
): { readonly taken: Received[]; readonly refused: ReadonlySet<string> } {
  const taken: Received[] = []
  const refused = new Set<string>()
  let nevers = 0
  receiver.answer = one => {
    const id = String(one.headers['webhook-id'])
    // Each fails only once: an event that fails twice is retried after five minutes.
    if (random() < 0.05 && !refused.has(id)) {
      refused.add(id)
      const how = random()
      if (how < 0.05 && nevers++ < neverMax) return 'never'
      return how < 0.4 ? 410 : how < 0.7 ? 503 : 500
    }
    // Verified immediately: a signature is valid for five minutes.
    new Webhook(secret).verify(one.body, one.headers as { readonly [name: string]: string })
    taken.push(one)
    return 204
  }
  return { taken, refused }
}

/** `most`: the number of requests to send until the next kill. */
type Load = {
  sent: number
  /** The number of them without an answer so far. */
  asked: number
  /** Neither answered nor cut for a minute. */
  unanswered: number
  most: number
  isOver: boolean
  readonly urls: (string | undefined)[]
  readonly answered: string[]
}

/** Two in three are texts, which are in segments; the others are images, which have rows of their own. */
async function keepAsking(load: Load, key: string, random: () => number): Promise<void> {
  while (!load.isOver) {
    const url = load.urls[Math.floor(random() * load.urls.length)]
    if (url === undefined || load.sent >= load.most) {
      await sleep(10)
      continue
    }
    load.sent++
    load.asked++
    const isText = random() < 0.67
    const [path, body] = isText
      ? ['/v1/chat/completions', { model: 'sim-chat', max_tokens: 8, messages: [{ role: 'user', content: 'hello' }] }]
      : ['/v1/images/generations', { model: 'alpha-image-2', prompt: 'a boat', size: '1024x1024' }]
    try {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(stepMs / 2),
      })
      await response.arrayBuffer()
      const id = response.headers.get('x-request-id')
      if (response.ok && !isText && id !== null) load.answered.push(id)
    } catch (error) {
      // Killed: the ledger shows whether it was charged.
      if (error instanceof DOMException && error.name === 'TimeoutError') load.unanswered++
    } finally {
      load.asked--
    }
  }
}

const settled = (id: string): string => `charge.settled ${id}`
const refunded = (id: string): string => `charge.refunded ${id}`

/** All events in the ledger, read from its charges and not from its chains. */
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

async function waitForAll(
  storage: Storage,
  taken: readonly Received[],
  say: (progress: object) => void,
): Promise<void> {
  let [known, since] = [0, performance.now()]
  let left: ReadonlySet<string> = new Set()
  for (;;) {
    const delivered = new Set(taken.map(({ body }) => nameOf(body)))
    left = left.difference(delivered)
    // The complete ledger is read again only when no earlier event is missing.
    if (left.size === 0) left = (await readHappened(storage)).difference(delivered)
    if (left.size === 0) return
    const waiting = (await storage.events.webhooks.list()).some(webhook => webhook.waiting > 0)
    if (performance.now() - since > (waiting ? restMs.someWait : restMs.nothingWaits)) return
    if (delivered.size > known) {
      say({ told: delivered.size, left: left.size })
      since = performance.now()
    }
    known = delivered.size
    await sleep(500)
  }
}

function compare(happened: ReadonlySet<string>, taken: readonly Received[]) {
  const violations: string[] = []
  const nameById = new Map<string, string>()
  const idByName = new Map<string, string>()
  let torn = 0
  for (const { headers, body } of taken) {
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

// `KILLS=100 REQUESTS=10000 npm run test:crash:events`: one gateway on SQLite, and three on PostgreSQL; one JSON object
// per run to standard output, a broken promise is exit 1. DATABASE=sqlite,postgres selects, FSYNC=off is faster. Each
// step and each run has a time limit: no gateway is killed any more after MINUTES=20.
if (import.meta.main) {
  const of = (name: string, usual: string): string => process.env[name] ?? usual
  const seed = Number(of('SEED', String(Date.now() % 1e9)))
  const [kills, requests] = [Number(of('KILLS', '100')), Number(of('REQUESTS', '10000'))]
  const minutes = Number(of('MINUTES', '20'))
  for (const database of of('DATABASE', 'sqlite,postgres').split(',') as EventCrashOptions['database'][]) {
    const words = { KILLS: kills, REQUESTS: requests, SEED: seed, DATABASE: database, FSYNC: of('FSYNC', 'on') }
    const set = Object.entries(words).map(word => word.join('='))
    const command = `${set.join(' ')} npm run test:crash:events`
    process.stderr.write(`${command}\n`)
    await runScript(async t => {
      const say = (progress: object): void => void process.stderr.write(`${JSON.stringify(progress)}\n`)
      // Even if something hangs, all child processes end with this process.
      const limit = setTimeout(
        () => {
          process.stderr.write(`hangs: the run is not over after ${minutes + 15} minutes; to repeat: ${command}\n`)
          process.exit(1)
        },
        (minutes + 15) * 60_000,
      )
      t.teardown(() => clearTimeout(limit))
      const isSynced = words.FSYNC === 'on'
      const summary = await runEventCrashes(t, {
        database,
        kills,
        requests,
        seed,
        isSynced,
        secondsMax: minutes * 60,
        say,
      })
      if (summary.violations.length > 0) process.stderr.write(`to repeat: ${command}\n`)
      return { ...summary, violations: summary.violations.slice(0, 20) }
    })
  }
}
