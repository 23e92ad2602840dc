import { createHash } from 'node:crypto'
import '../../../src/engine/index.ts'
import '../../../src/gateway/gateway.ts'
import '../../../src/observe/index.ts'
import '../../../src/storage/sqlite/kysely.ts'
import '../../../src/storage/sqlite/open.ts'
import '../../../src/storage/keys/list.ts'
import '../../../src/storage/journal/list.ts'
import '../../../src/storage/journal/summary.ts'
import '../../../src/storage/people/trail.ts'
import '../../../plugins/auth/plugin.ts'
import '../../../plugins/image-tier-billing/plugin.ts'
import '../../../plugins/token-usage/plugin.ts'
import 'prom-client'
import { oracles } from '../oracles/index.ts'
import type { Alarm, Evidence, Oracle, Probe } from '../oracles/oracle.ts'
import { runAs } from '../world/process.ts'
import type { World } from '../world/world.ts'
import { codeOf, had, idOf, isReplay, made, statusOf, type Wish } from './asks.ts'
import { readBooks } from './books.ts'
import { perform } from './operations.ts'
import type { Plan } from './plan.ts'
import { plainWish } from './record.ts'
import { imagePrices } from './settings.ts'
import { tryPools } from './pool-end.ts'
import { type LiveKey, Stage } from './stage.ts'

const minute = 60_000
const day = 86_400_000

/** The outcome of a seed. */
export type Outcome = {
  readonly seed: number
  readonly calm: boolean
  /** Digests of all events, and of the final books. */
  readonly trace: string
  readonly books: string
  readonly alarms: readonly Alarm[]
  readonly marks: { readonly [name: string]: number }
  readonly happened: number
  readonly simulatedMs: number
  readonly asks: number
}

/** Plays a plan to its end, without the removed operations, and judges it. */
export async function play(
  world: World,
  plan: Plan,
  folder: string,
  { story, nth }: { story?: (line: string) => void; nth?: { of: 'statement' | 'commit'; number: number } } = {},
): Promise<Outcome> {
  const stage = new Stage(world, plan, folder, story)
  const keep = (fault: unknown): void => {
    stage.unhandled.push(fault instanceof Error ? (fault.stack ?? fault.message) : String(fault))
  }
  process.on('unhandledRejection', keep)
  process.on('uncaughtException', keep)
  const harness: Alarm[] = []
  const leftovers: string[] = []
  const probes: Probe[] = []
  try {
    await stage.open()
    if (nth) {
      world.disk.now[nth.of === 'commit' ? 'failCommit' : 'failStatement'] = nth.number
      world.disk.onFault = () => stage.disturb(`the ${nth.number}th ${nth.of} fails`, 15_000)
    }
    for (const operated of plan.operations) await perform(stage, operated)
    await rest(stage)
    probes.push(...(await probe(stage)))
    await tryPools(stage)
    leftovers.push(...(await close(stage)))
  } catch (error) {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
    harness.push({ oracle: 'harness', what: detail.split('\n')[0] ?? '', detail })
  } finally {
    process.off('unhandledRejection', keep)
    process.off('uncaughtException', keep)
  }
  return outcomeOf(stage, harness, oracles, { leftovers, probes })
}

/** The outcome of the play, judged by these oracles. */
export function outcomeOf(
  stage: Stage,
  harness: readonly Alarm[],
  judges: readonly Oracle[],
  seen: Pick<Evidence, 'leftovers' | 'probes'>,
): Outcome {
  const { world, plan } = stage
  const evidence: Evidence = { stage, books: readBooks(stage), ...seen }
  const alarms = [...harness, ...judges.flatMap(oracle => judge(oracle, evidence))]
  markStates(stage, evidence)
  tellAsks(stage, evidence)
  return {
    seed: plan.seed,
    calm: plan.calm,
    trace: world.time.trace(),
    books: digest(stage),
    alarms,
    marks: world.marks,
    happened: world.time.happened,
    simulatedMs: Math.round(world.time.tick),
    asks: stage.asks.length + stage.sessions.opened,
  }
}

export function judge(oracle: Oracle, evidence: Evidence): Alarm[] {
  return [...oracle.judge(evidence)].map(([what, detail]) => ({ oracle: oracle.name, what, detail }))
}

/** Ends the faults, corrects the clock, and waits for everything that must happen eventually. */
async function rest(stage: Stage): Promise<void> {
  const { world, lives, upstreams } = stage
  world.disk.mend()
  if (world.time.wrongBy !== 0) {
    stage.jump(-world.time.wrongBy)
  }
  upstreams.heal()
  if (lives.settings !== lives.plain) {
    lives.versions.save(lives.plain)
    const { gateway, process } = lives
    if (gateway) await world.time.runFor(runAs(process, () => gateway.reload()))
    lives.versions.take()
  }
  if (!lives.gateway) await lives.begin()
  stage.tell('— the faults end; twenty minutes of quiet')
  await world.time.pass(20 * minute)
  await stage.verify('at rest')
  await stage.askForSums()
}

/** Sends a request wherever a budget must have room by the test's own sums. */
async function probe(stage: Stage): Promise<readonly Probe[]> {
  const probes: Probe[] = []
  const dearest = imagePrices['4K']
  for (const [number, key] of stage.keys.entries()) {
    if (key.budget === null || key.lost || !key.enabled || key.uses.includes('chat')) continue
    // After every day and month in which something may have been charged while the clock was wrong.
    const behind = Math.max(0, stage.latestWall - stage.world.time.wall)
    if (key.period !== 'total') stage.set(behind + (key.period === 'day' ? 2 : 40) * day)
    await stage.world.time.pass(2 * minute)
    const free = freeOf(stage, key)
    if (free < dearest) continue
    // As many as there is room for: this shows an amount that is held for nothing.
    const n = Math.min(20, Math.floor(free / dearest))
    const ask = stage.ask({ ...quietWish, key: number, n })
    await stage.world.time.pass(3 * minute)
    probes.push({ period: key.period, free, status: statusOf(ask), code: codeOf(ask) })
  }
  return probes
}

export const quietWish: Wish = { ...plainWish, size: '1024x1024' }

/** The rest of a budget: without charges under review and, for a budget over the key's life, without charges. */
export function freeOf(stage: Stage, key: LiveKey): number {
  const [row] = stage.look(
    `SELECT coalesce(sum(CASE state WHEN 'settled' THEN amount * ? WHEN 'needs_review' THEN hold * kept ELSE 0 END), 0) AS n
     FROM charge WHERE key_id = ?`,
    key.period === 'total' ? 1 : 0,
    key.id,
  )
  return Math.min(key.budget ?? 0, key.now ?? 0) - Number(row?.['n'])
}

/** Closes the last gateway and searches for leftovers. */
async function close(stage: Stage): Promise<readonly string[]> {
  const { lives, world } = stage
  const left: string[] = []
  await world.time.pass(2 * minute)
  if (lives.gateway && lives.gateway.open > 0) left.push(`${lives.gateway.open} requests are still open`)
  const { process } = lives
  if (process.sockets.size > 0) left.push(`${process.sockets.size} sockets are still open`)
  const before = lives.path
  await lives.end()
  lives.path = before
  await world.time.pass(2 * minute)
  for (const label of new Set(world.time.waitingFor(process)))
    left.push(`a gateway that has closed still waits: ${label}`)
  return left
}

function digest(stage: Stage): string {
  const hash = createHash('sha256')
  for (const table of ['charge', 'line', 'entry', 'segment', 'key', 'log_page'])
    for (const row of stage.look(`SELECT * FROM ${table} ORDER BY 1, 2`)) hash.update(JSON.stringify(row))
  return hash.digest('hex').slice(0, 16)
}

/** The size of a form above which it is not kept in memory. */
const spooledBytes = 1_048_576
const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0)

/** Marks the states and refusals that this seed has reached. */
function markStates(stage: Stage, { books }: Evidence): void {
  const { world } = stage
  for (const charge of books.charges.values()) {
    world.mark(`state: ${charge['state']}`)
    if (charge['reason'] !== null) world.mark(`reason: ${charge['reason']}`)
  }
  for (const ask of stage.asks) {
    const code = codeOf(ask)
    if (code !== undefined) world.mark(`refused: ${code}`)
    if (isReplay(ask)) world.mark('replayed')
    if (isReplay(ask) && ask.life > ask.first.life) world.mark('replayed by a later life')
    if (ask.wish.operation === 'edit' && sumOf(ask.wish.files) > spooledBytes) world.mark('spooled')
    if (ask.arrivals.length > 1 && ask.arrivals.at(-1)?.host.includes('two')) world.mark('another upstream answered')
  }
}

/** The requests as a readable table. */
function tellAsks(stage: Stage, { books }: Evidence): void {
  stage.tell('')
  stage.tell(
    '  ask      sent      ended  key  what                              answer                     made  had  lines  charge',
  )
  for (const ask of stage.asks) {
    const charge = books.chargeOf(ask)
    const { operation, stream, wire } = ask.wish
    const shapes = ask.first.arrivals.map(one => one.shape).join('+')
    const what = `${operation}${stream ? ' stream' : ''} ${shapes}${wire === 'plain' ? '' : ` by ${wire}`}`
    const status = `${statusOf(ask) ?? '–'}${ask.answer?.whole === false ? ' cut' : ''}${ask.left ? ' left' : ''}`
    const code = isReplay(ask) ? 'replayed' : (codeOf(ask) ?? '')
    const columns = [
      String(ask.no).padStart(5),
      `${(ask.sentAt / 1_000).toFixed(1)}s`.padStart(9),
      (ask.endedAt === undefined ? 'never' : `${(ask.endedAt / 1_000).toFixed(1)}s`).padStart(10),
      String(ask.wish.key).padStart(4),
      what.padEnd(34).slice(0, 34),
      `${status} ${code}`.padEnd(26).slice(0, 26),
      String(made(ask).length).padStart(5),
      String(had(ask).length).padStart(4),
      String(books.linesOf(idOf(ask) ?? '').length).padStart(6),
      ` ${charge ? `${charge['state']} ${charge['reason'] ?? ''}` : ''}`,
      ask.disturbed === undefined ? '' : `(${ask.disturbed})`,
    ]
    stage.tell(columns.join(' ').trimEnd())
  }
}
