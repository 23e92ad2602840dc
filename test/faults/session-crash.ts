import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { createKey, openStorage } from '../../src/index.ts'
import { type ChildGateway, prepareSite } from '../harness/child.ts'
import { newSeed, seeded } from '../harness/seed.ts'
import { startVendor, type Talk } from '../harness/web-socket.ts'

/** The price of a turn: 10 tokens at 4 and 5 at 16, per million. */
const turnMicros = 120
const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }

/** The result of a run. */
export type SessionSummary = {
  readonly seed: number
  readonly kills: number
  /** Turns that the vendor has reported, and that clients have received. */
  readonly told: number
  readonly received: number
  readonly settled: number
  readonly review: number
  /** Memory of a gateway in MiB: before any session, and with the idle ones. */
  readonly megabytes: readonly [before: number, idle: number] | undefined
  readonly violations: readonly string[]
}

type Counts = { told: number; received: number }

/**
 * Repeatedly kills a gateway in the middle of turns, and compares the turns that the vendor reported and clients
 * received with the charged ones. After the last kill, complete sessions run to their end: each of their turns is
 * charged once.
 */
export async function runSessionCrashes(options: {
  readonly kills: number
  readonly sessions: number
  readonly turns: number
  readonly idle?: number
  readonly seed: number
}): Promise<SessionSummary> {
  const { kills, sessions, turns, idle = 0, seed } = options
  const random = seeded(seed)
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-sessions-'))
  const stops: (() => unknown)[] = []
  const vendor = await startVendor({ teardown: stop => void stops.push(stop) })
  const counts: Counts = { told: 0, received: 0 }
  const violations: string[] = []
  let child: ChildGateway | undefined
  let megabytes: SessionSummary['megabytes']
  void answerAll(vendor, counts)
  try {
    const site = await prepareSite(folder, {
      upstreams: { text: vendor.url },
      edit: [
        ['default: { rpm: 60, tpm: 500000, concurrency: 32 }', 'default: { rpm: 100000000 }'],
        [', limits: { rpm: 300 } }\n  sim-live', ' }\n  sim-live'],
        ['text:                                                 #', 'text:\n    connections: 4096\n    #'],
        [
          'operation: realtime, dialect: openai, session: {',
          'operation: realtime, dialect: openai, session: { per_key: 4096,',
        ],
      ],
    })
    const storage = await openStorage({ url: `sqlite:${site.database}`, role: 'tool' })
    const { secret } = await createKey(storage, { name: 'sessions', user: 'local', budget: 1_000_000_000 })
    await storage.close()
    for (let kill = 0; kill < kills; kill++) {
      child = site.start()
      const url = await child.ready
      const before = counts.received
      const running = runSessions(url, secret, { sessions, turns: Number.POSITIVE_INFINITY, counts })
      while (counts.received < before + sessions) await sleep(5)
      await sleep(random() * 200)
      await child.kill()
      await running
    }
    const died = { ...counts }
    child = site.start()
    const url = await child.ready
    const earlier = look(site.database)
    if (earlier.settled > died.told) violations.push(`${earlier.settled} turns charged, ${died.told} were reported`)
    if (earlier.settled + earlier.review < died.received)
      violations.push(`${died.received} turns received, ${earlier.settled} charged and ${earlier.review} in review`)
    await runSessions(url, secret, { sessions, turns, counts })
    if (idle > 0) megabytes = await measureIdle(url, secret, child.pid, idle)
    await child.stop()
    const after = look(site.database)
    const own = after.settled - earlier.settled
    if (own !== sessions * turns) violations.push(`${own} turns charged, not ${sessions * turns}`)
    if (after.wrong > 0) violations.push(`${after.wrong} charges are not ${turnMicros}`)
    if (after.open > 0) violations.push(`${after.open} charges are still reserved`)
    return { seed, kills, ...counts, settled: after.settled, review: after.review, megabytes, violations }
  } finally {
    await child?.kill()
    for (const stop of stops) await stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function answerAll(vendor: Awaited<ReturnType<typeof startVendor>>, counts: Counts): Promise<void> {
  for (;;) answer(await vendor.session(), counts)
}

function answer({ socket }: Talk, counts: Counts): void {
  let turns = 0
  socket.on('message', data => {
    const { type } = JSON.parse((data as Buffer).toString()) as { type: string }
    if (type !== 'response.create') return
    const id = `r${++turns}`
    socket.send(JSON.stringify({ type: 'response.created', response: { id } }))
    counts.told++
    socket.send(JSON.stringify({ type: 'response.done', response: { id, status: 'completed', usage } }))
  })
}

type Load = { readonly sessions: number; readonly turns: number; readonly counts: Counts }

/** Runs sessions of this many turns each, or until the gateway has ended. */
async function runSessions(url: string, key: string, { sessions, turns, counts }: Load): Promise<void> {
  const one = async (): Promise<void> => {
    const socket = open(url, key)
    let left = turns
    const begin = (): void => socket.send(JSON.stringify({ type: 'response.create' }))
    socket.on('open', begin)
    socket.on('message', data => {
      const { type } = JSON.parse((data as Buffer).toString()) as { type: string }
      if (type !== 'response.done') return
      counts.received++
      if (--left > 0) begin()
      else socket.close()
    })
    await new Promise(resolve => socket.on('close', resolve))
  }
  await Promise.all(Array.from({ length: sessions }, one))
}

function open(url: string, key: string): WebSocket {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/v1/realtime?model=sim-realtime`, {
    headers: { authorization: `Bearer ${key}` },
  })
  socket.on('error', () => undefined)
  return socket
}

async function measureIdle(url: string, key: string, pid: number, idle: number): Promise<readonly [number, number]> {
  const before = residentMegabytes(pid)
  const sockets: WebSocket[] = []
  for (let i = 0; i < idle; i += 50) {
    const some = Array.from({ length: 50 }, () => open(url, key))
    await Promise.all(some.map(socket => new Promise(resolve => socket.on('open', resolve).on('close', resolve))))
    sockets.push(...some)
  }
  const opened = sockets.filter(({ readyState }) => readyState === WebSocket.OPEN).length
  if (opened !== sockets.length) throw new Error(`${opened} of ${sockets.length} idle sessions are open`)
  await sleep(1_000)
  const after = residentMegabytes(pid)
  await Promise.all(
    sockets.map(socket => {
      socket.close()
      return new Promise(resolve => socket.on('close', resolve))
    }),
  )
  return [before, after]
}

function residentMegabytes(pid: number): number {
  const found = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Math.round(Number(found?.[1]) / 1024)
}

function look(database: string) {
  const db = new DatabaseSync(database, { readOnly: true })
  try {
    const count = (where: string): number =>
      Number(db.prepare(`SELECT count(*) AS n FROM charge WHERE ${where}`).get()?.['n'])
    return {
      settled: count(`state = 'settled'`),
      wrong: count(`state = 'settled' AND amount <> ${turnMicros}`),
      review: count(`state = 'needs_review'`),
      open: count(`state = 'reserved'`),
    }
  } finally {
    db.close()
  }
}

if (import.meta.main) {
  const { KILLS = '20', SESSIONS = '100', TURNS = '50', IDLE = '1000', SEED } = process.env
  const seed = SEED === undefined ? newSeed() : Number(SEED)
  const numbers = { kills: Number(KILLS), sessions: Number(SESSIONS), turns: Number(TURNS), idle: Number(IDLE) }
  const summary = await runSessionCrashes({ ...numbers, seed })
  process.stdout.write(`${JSON.stringify(summary)}\n`)
  if (summary.violations.length > 0) process.exitCode = 1
}
