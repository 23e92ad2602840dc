import { runAs } from '../world/process.ts'
import { lookForOverdrafts } from '../oracles/overdraft.ts'
import type { Ask } from './asks.ts'
import type { Kind, Operated } from './plan.ts'
import type { Stage } from './stage.ts'

type Act = (stage: Stage, operated: Operated) => Promise<void> | void

/** What it takes for a request under way to be through with a fault that has passed. */
const afterwardsMs = 3_000

/** What each kind of operation does. */
const acts: { readonly [kind in Kind]: Act } = {
  ask(stage, { wish }) {
    stage.ask(inUse(stage, wish))
  },
  burst(stage, { wish, count }) {
    const one = inUse(stage, { ...wish, shapes: ['data'], idempotency: undefined })
    for (let i = 0; i < count; i++) stage.ask({ ...one, seed: one.seed + i })
  },
  again(stage, { choice, wish }) {
    const named = stage.asks.filter(ask => ask.wish.idempotency !== undefined && ask.first === ask)
    const first = named[choice % Math.max(1, named.length)]
    if (first) stage.ask({ ...first.wish, leaves: wish.leaves }, first)
  },
  jump(stage, { jump }) {
    const { time } = stage.world
    stage.world.mark('fault: clock jumps')
    stage.jumps.push(time.tick)
    time.wrongBy += jump
  },
  verify: stage => stage.verify('under way'),
  async crash(stage, { lasts, choice }) {
    stage.disturb('crash', lasts + 60_000)
    // At any moment, or in the one in which something is committed and nobody has been told.
    const { time } = stage.world
    const until = time.tick + (choice % 2 === 0 ? 0 : 5_000)
    while (!stage.lives.isUntold && (await time.step(until)));
    stage.lives.crash()
    await stage.world.time.pass(lasts)
    await stage.lives.begin()
  },
  async restart(stage) {
    stage.world.mark('fault: restart')
    stage.disturb('restart', afterwardsMs)
    await stage.lives.end()
    await stage.lives.begin()
    stage.disturb('restart', afterwardsMs)
  },
  async reload(stage) {
    const { gateway, process } = stage.lives
    if (!gateway) return
    stage.world.mark('reload')
    await stage.world.time.runFor(runAs(process, () => gateway.reload()))
  },
  'disk full': (stage, { lasts }) => fail(stage, 'disk full', lasts, disk => (disk.full = true)),
  'slow disk': (stage, { lasts }) => {
    stage.world.mark('fault: slow disk')
    fail(stage, 'slow disk', lasts, disk => (disk.slowMs = 4_000))
  },
  'statement fails': (stage, { lasts, choice }) =>
    fail(stage, 'statement fails', lasts, disk => (disk.failStatement = 1 + (choice % 40))),
  'reads fail': (stage, { lasts }) => fail(stage, 'reads fail', lasts, disk => (disk.failReads = 0.2)),
  'writer dies': (stage, { lasts }) =>
    fail(stage, 'writer dies', lasts, disk => {
      disk.dieBefore = 0.2
      disk.dieAfter = 0.2
    }),
  async wait(stage, { lasts }) {
    await stage.world.time.pass(lasts * 4)
  },
  outage(stage, operated) {
    const { state, lasts } = operated
    const host = stage.hostOf(operated)
    stage.world.mark(`fault: connections ${state}`)
    stage.disturb(`${host} ${state}`, lasts + 10_000)
    stage.upstreams.set(host, state)
    stage.world.time.after(lasts, 'the vendor is back', () => stage.upstreams.set(host, 'open'), null)
  },
  lag(stage, { lasts, choice }) {
    const { lag } = stage.world.wires
    stage.world.mark('fault: slow network')
    Object.assign(lag, { share: 0.4, mostMs: 200 + (choice % 3_000) })
    const calm = (): void => void Object.assign(lag, { share: 0.05, mostMs: 400 })
    stage.world.time.after(lasts, 'the network is fast again', calm, null)
  },
  async budget(stage, { key, choice }) {
    const one = stage.keys[key]
    if (!one || one.budget === null) return
    const budget = one.budget + (choice % 20) * 20_000
    // Never below what it was: what had been promised stays promised.
    if (budget < (one.now ?? 0)) return
    one.now = budget
    await stage.admin(async storage => void (await storage.keys.change(one.id, { budget }, 'world')))
  },
  async disable(stage, { key, lasts }) {
    const one = stage.keys[key]
    if (!one) return
    stage.world.mark('key disabled')
    one.enabled = false
    await stage.admin(async storage => void (await storage.keys.change(one.id, { status: 'disabled' }, 'world')))
    await stage.world.time.pass(lasts)
    for (let tries = 0; tries < 20 && !one.enabled; tries++) {
      one.enabled = await stage.admin(
        async storage => void (await storage.keys.change(one.id, { status: 'active' }, 'world')),
      )
      if (!one.enabled) await stage.world.time.pass(5_000)
    }
  },
  async rotate(stage, { key }) {
    const one = stage.keys[key]
    if (!one) return
    stage.world.mark('key rotated')
    await stage.rotate(one)
  },
  refund: (stage, operated) => decide(stage, operated, 'refund'),
  resolve: (stage, operated) => decide(stage, operated, operated.choice % 2 === 0 ? 'settle' : 'void'),
}

export async function perform(stage: Stage, operated: Operated): Promise<void> {
  await stage.world.time.pass(operated.gap)
  const { time } = stage.world
  stage.tell(`${describeTime(time.tick, time.wall)}  ${operated.kind.padEnd(16)} ${describe(operated)}`)
  await acts[operated.kind](stage, operated)
  lookForOverdrafts(stage)
}

function describeTime(tick: number, wall: number): string {
  return `${(tick / 1_000).toFixed(1).padStart(9)}s  ${new Date(wall).toISOString().slice(0, 19)}`
}

function describe({ kind, wish, count, jump, lasts, key, state }: Operated): string {
  if (kind === 'ask' || kind === 'burst')
    return [
      `key ${wish.key}`,
      `${wish.operation}${wish.stream ? ' stream' : ''} ${wish.model} n=${wish.n}`,
      wish.shapes.join(' then '),
      wish.wire === 'plain' ? '' : `by ${wish.wire}`,
      wish.leaves === undefined ? '' : `leaves after ${wish.leaves} ms`,
      wish.idempotency ?? '',
      kind === 'burst' ? `× ${count}` : '',
    ]
      .filter(part => part !== '')
      .join(', ')
  if (kind === 'jump') return `${jump / 3_600_000} h`
  if (kind === 'outage') return `${state} for ${lasts} ms`
  if (['budget', 'disable', 'rotate'].includes(kind)) return `key ${key}`
  return ['verify', 'reload', 'again', 'refund', 'resolve', 'restart'].includes(kind) ? '' : `${lasts} ms`
}

/** Keys are used for what they are for: text may overdraw a budget, and is kept off those whose overdraft is a fault. */
function inUse(stage: Stage, wish: Ask['wish']): Ask['wish'] {
  const key = stage.keys[wish.key]
  return key?.uses.includes(wish.operation) ? wish : { ...wish, key: 0 }
}

function fail(stage: Stage, why: string, ms: number, begin: (disk: Stage['world']['disk']['now']) => void): void {
  const { disk, time } = stage.world
  stage.disturb(why, ms + afterwardsMs)
  begin(disk.now)
  time.after(ms, 'the disk is sound again', () => disk.mend(), null)
}

/** A person ends a charge in doubt, or gives back what one cost. */
async function decide(stage: Stage, { choice }: Operated, how: 'settle' | 'void' | 'refund'): Promise<void> {
  const state = how === 'refund' ? 'settled' : 'needs_review'
  const rows = stage.look('SELECT id FROM charge WHERE state = ? ORDER BY id', state)
  const id = rows[choice % Math.max(1, rows.length)]?.['id']
  if (typeof id !== 'string') return
  stage.world.mark(`a person decides: ${how}`)
  const at = stage.world.time.tick
  await stage.admin(async storage => {
    if (how === 'refund') await storage.books.refund(id, 'world', 'a try')
    else await storage.books.resolve(id, how, 'world', 'a try')
    stage.decisions.push({ id, how, at })
  })
}
