import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { PlainPeriod } from '../../src/domain/budget-period.ts'
import type { Test } from 'tap'
import type { Level } from '../../src/domain/index.ts'
import { systemClock } from '../../src/util/index.ts'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { newKey, type StorageHarness } from '../contract/storage.ts'
import { openDatabase } from '../harness/database.ts'
import { startPostgres } from '../harness/postgres.ts'
import { begins, ends, type Given, levelsOf, paidIn, zone } from './budget-crash-players.ts'
import { runScript } from './run-script.ts'
import { newSeed, seeded } from '../harness/seed.ts'

const childFile = fileURLToPath(new URL('./budget-crash-child.ts', import.meta.url))
/** Clocks of one fleet may differ by at most an hour: each step waits until all earlier work has finished. */
const stepMs = 50 * 60_000

type BudgetCrashSummary = {
  readonly seed: number
  readonly kills: number
  readonly requests: number
  readonly refused: number
  readonly sold: number
  /** Sold, but not in the books. */
  readonly givenAway: number
  /** In the books, but never made. */
  readonly phantom: number
  readonly stuckHolds: number
  readonly told: number
  readonly violations: readonly string[]
  readonly seconds: number
}

/** The output of the processes, which is the only other record. */
class Record {
  readonly made = new Map<string, number>()
  readonly sold = new Map<string, number>()
  refused = 0

  take(text: string): void {
    const [what, id = '', price] = text.split(' ')
    if (what === 'made') this.made.set(id, Number(price))
    if (what === 'sold') this.sold.set(id, Number(price))
    if (what === 'refused') this.refused++
  }

  get requests(): number {
    return this.made.size + this.refused
  }
}

type Seller = {
  readonly process: ChildProcess
  readonly ready: Promise<unknown>
  readonly gone: Promise<unknown>
  /** Moves its clock; resolves when all earlier work has finished. */
  readonly moveTo: (shift: number) => Promise<unknown>
}

function startSeller(given: Given, record: Record): Seller {
  const child = spawn(process.execPath, [childFile, JSON.stringify(given)], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ready = Promise.withResolvers<void>()
  ready.promise.catch(() => undefined)
  const moved = new Map<string, () => void>()
  createInterface(child.stdout).on('line', text => {
    if (text.startsWith('ready')) ready.resolve()
    const [what, shift = ''] = text.split(' ')
    if (what === 'moved') moved.get(shift)?.()
    record.take(text)
  })
  child.stdin.on('error', () => undefined)
  const gone = once(child, 'close')
  void gone.then(() => ready.reject(new Error('a process ended before it was ready')))
  const moveTo = (shift: number): Promise<unknown> => {
    const there = new Promise<void>(resolve => moved.set(String(shift), resolve))
    child.stdin.write(`${shift}\n`)
    return Promise.race([there, gone])
  }
  return { process: child, ready: ready.promise, gone, moveTo }
}

/**
 * Repeatedly kills processes that sell on budgets of every kind, while their clocks pass two midnights and the night in
 * which clocks are put back; then compares their output with the books. `sellers`: concurrent processes on PostgreSQL,
 * or successive ones on a SQLite file.
 */
async function runBudgetCrashes(
  t: Pick<Test, 'teardown'>,
  options: {
    readonly make: () => Promise<StorageHarness>
    readonly sellers: number
    /** Concurrent requests of each. */
    readonly parallel: number
    readonly kills: number
    /** Minimum number of requests, including refused ones. */
    readonly requests: number
    readonly seed: number
  },
): Promise<BudgetCrashSummary> {
  const { sellers, parallel, kills, requests, seed } = options
  const began = performance.now()
  const random = seeded(seed)
  const harness = await options.make()
  t.teardown(() => harness.close())
  const [record, violations] = [new Record(), [] as string[]]
  let shift = begins - Date.now()
  const clock = { ...systemClock, now: () => Date.now() + shift }
  const role = sellers === 1 ? 'gateway' : 'worker'
  const open = () => openDatabase({ url: harness.url, clock, role, timeZone: zone })

  const first = await open()
  const keys: string[] = []
  for (const [name, group] of [
    ['anna', 'team'],
    ['ben', 'team'],
    ['cleo', 'team'],
    ['dora', 'free'],
  ] as const) {
    await first.users.create({ name, group, role: 'user', passwordHash: null })
    for (const budget of [null, null, 2_500])
      if (group !== 'free' || budget === null)
        keys.push((await first.keys.create(newKey({ user: name, budget, budgetPeriod: 'day' }))).id)
  }
  await first.users.topUp('anna', paidIn, null, 'boss')
  await first.close()

  const running: Seller[] = []
  t.teardown(() => Promise.all(running.map(one => (one.process.kill('SIGKILL'), one.gone))))
  const start = (at: number): void => {
    const given = { url: harness.url, role, seed: Math.floor(random() * 1e9), parallel, shift, keys } as const
    running[at] = startSeller(given, record)
  }
  for (let at = 0; at < sellers; at++) start(at)
  await Promise.all(running.map(({ ready }) => ready))

  const hours = Math.ceil((ends - begins) / stepMs)
  let moved = 0
  const moveOn = async (steps: number): Promise<void> => {
    for (; moved < steps && moved < hours; moved++) {
      shift += stepMs
      await Promise.all(running.map(one => one.moveTo(shift)))
    }
  }
  for (let kill = 0; kill < kills; kill++) {
    const share = ((kill + 1) * requests) / (kills + 1)
    for (const step = moved; record.requests < share; ) {
      await sleep(20)
      const part = Math.min(1, record.requests / Math.max(1, share))
      await moveOn(Math.floor(step + part * (((kill + 1) * hours) / (kills + 1) - step)))
      violations.push(...(await overdrawn(harness)))
    }
    await moveOn(Math.floor(((kill + 1) * hours) / (kills + 1)))
    const at = Math.floor(random() * sellers)
    const { process: own, gone } = running[at] as Seller
    own.kill('SIGKILL')
    await gone
    // Ends its lease immediately, so that nothing waits for its expiry.
    if (sellers > 1) await harness.edit(`UPDATE replica SET lease_until = 0 WHERE host LIKE '%:${own.pid}'`)
    start(at)
    await running[at]?.ready
  }
  await moveOn(hours)
  while (record.requests < requests) await sleep(20)
  await sleep(300)
  for (const { process: own } of running) own.stdin?.end('end\n')
  await Promise.all(running.map(({ gone }) => gone))

  const last = await open()
  violations.push(...(await overdrawn(harness)), ...(await last.books.verify()).problems)
  const settled = new Map<string, number>()
  for (let after: string | null = null; ; ) {
    const page = await last.books.all(after, 1_000)
    for (const { id, state, amount } of page) if (state === 'settled') settled.set(id, amount)
    const end = page.at(-1)
    if (!end) break
    after = end.id
  }
  const givenAway = [...record.sold].filter(([id, price]) => settled.get(id) !== price).length
  const phantom = [...settled].filter(([id, amount]) => record.made.get(id) !== amount).length
  const held = await harness.read(`SELECT 'key' AS kind, id AS name FROM key WHERE held <> 0
    UNION ALL SELECT kind, name FROM account WHERE held <> 0
    UNION ALL SELECT 'charge', id FROM charge WHERE state = 'reserved'`)
  const { events } = await last.events.page({
    after: null,
    limit: 10_000,
    kinds: ['budget.threshold', 'budget.exhausted'],
  })
  const notices = events.map(({ kind, data: { level, name, per, renews, percent } }) =>
    JSON.stringify([kind, level, name, per, renews, percent]),
  )
  if (new Set(notices).size !== notices.length) violations.push('something was told of a budget twice')
  await last.close()
  if (givenAway + phantom > 0) violations.push(`${givenAway} given away, ${phantom} phantom`)
  violations.push(...held.map(({ kind, name }) => `${String(kind)} ${String(name)} still holds money`))
  return {
    seed,
    kills,
    requests: record.requests,
    refused: record.refused,
    sold: settled.size,
    givenAway,
    phantom,
    stuckHolds: held.length,
    told: notices.length,
    violations,
    seconds: Math.round((performance.now() - began) / 1_000),
  }
}

/**
 * Levels with more spent and held than their amount, in one state of the database. Prices never exceed their holds. A
 * row that went back to the day before, for a late charge, also holds money of the new day: such rows are not checked.
 */
async function overdrawn(harness: StorageHarness): Promise<readonly string[]> {
  const levels: readonly Level[] = ['anna', 'ben', 'cleo'].flatMap(user => levelsOf(user, 'team'))
  const columns = { total: 'spent', day: 'day_spent', month: 'month_spent' } as const
  const accounts = [...new Map(levels.map(level => [`${level.kind} ${level.name}`, level])).values()].map(
    ({ kind, name, amount, per }) =>
      `SELECT kind, name, ${columns[per as PlainPeriod]} + held AS taken FROM account
       WHERE kind = '${kind}' AND name = '${name}' AND part = '' AND ${columns[per as PlainPeriod]} + held > ${amount}
         AND (${per === 'total'} OR day_start = (SELECT max(day_start) FROM account))`,
  )
  const rows = await harness.read(
    [
      ...accounts,
      `SELECT 'key' AS kind, id AS name, day_spent + held AS taken FROM key WHERE day_spent + held > budget
         AND day_start = (SELECT max(day_start) FROM key)`,
    ].join(' UNION ALL '),
  )
  return rows.map(({ kind, name, taken }) => `${String(kind)} ${String(name)}: ${String(taken)} are spent and held`)
}

/** Three concurrent ones on PostgreSQL, and successive ones on SQLite. */
export async function crashBudgets(
  t: Pick<Test, 'teardown'>,
  extent: { readonly kills: number; readonly requests: number; readonly parallel: number; readonly seed: number },
): Promise<{
  readonly sqlite: BudgetCrashSummary
  readonly postgres: BudgetCrashSummary
  readonly violations: readonly string[]
}> {
  const sqlite = await runBudgetCrashes(t, { ...extent, make: sqliteHarness, sellers: 1 })
  const server = await startPostgres(['fsync=off'])
  t.teardown(() => server.close())
  const postgres = await runBudgetCrashes(t, { ...extent, make: postgresHarness(server), sellers: 3 })
  return { sqlite, postgres, violations: [...sqlite.violations, ...postgres.violations] }
}

// `KILLS=50 REQUESTS=500 npm run test:crash:fleet`: one JSON object to standard output; a broken promise is exit 1.
if (import.meta.main) {
  const seed = Number(process.env['SEED'] ?? newSeed())
  const [kills, requests] = [Number(process.env['KILLS'] ?? 50), Number(process.env['REQUESTS'] ?? 500)]
  process.stderr.write(`${kills} kills, ${requests} requests, SEED=${seed}\n`)
  await runScript(t => crashBudgets(t, { kills, requests, parallel: 67, seed }))
}
