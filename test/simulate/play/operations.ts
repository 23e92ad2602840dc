import { runAs } from '../world/process.ts'
import { lookForOverdrafts } from '../oracles/overdraft.ts'
import type { Ask } from './asks.ts'
import type { Kind, Operated } from './plan.ts'
import { changeKeys, sickenKey, suspendKey } from './pool-operations.ts'
import { switches } from './settings.ts'
import type { Stage } from './stage.ts'

type Act = (stage: Stage, operated: Operated) => Promise<void> | void

/** Time for requests in progress to finish after a fault has ended. */
const afterwardsMs = 3_000

/** The implementation of each kind of operation. */
export const acts: { readonly [kind in Kind]: Act } = {
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
    stage.world.mark('fault: clock jumps')
    stage.jump(jump)
  },
  verify: stage => stage.verify('under way'),
  async crash(stage, { lasts, choice }) {
    stage.disturb('crash', lasts + 60_000)
    // At any moment, or between a commit and its acknowledgement.
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
    // Never below its current value: earlier promises stay valid.
    if (budget < (one.now ?? 0)) return
    one.now = budget
    await stage.admin(async storage => void (await storage.keys.change(one.id, { budget }, 'world')))
  },
  async disable(stage, { key, lasts, wish }) {
    const one = stage.keys[key]
    if (!one) return
    stage.world.mark('key disabled')
    one.enabled = false
    const isKnown = await stage.admin(
      async storage => void (await storage.keys.change(one.id, { status: 'disabled' }, 'world')),
    )
    if (isKnown) one.disabledAt = stage.world.time.tick
    for (let i = 0; i < 3; i++) {
      await stage.world.time.pass(lasts / 3)
      // If a change may not have been committed, the key's state is unknown.
      if (isKnown && i < 2 && stage.lives.gateway)
        stage.ask({ ...wish, key, operation: 'image', model: 'alpha-image-2', stream: false, idempotency: undefined })
    }
    stage.beginEnabling(key)
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
  async 'old secret'(stage, { key, wish, choice }) {
    const one = stage.keys[key]
    if (!one) return
    if (!one.old) await stage.rotate(one)
    if (!one.old) return
    // Some try the old secret just after it has expired: no later, or the wall clock may have been set by then.
    if (choice % 2 === 0) await stage.world.time.runUntil(one.old.since + one.old.overlapMs + 2_000)
    stage.world.mark('an old secret is tried')
    const request = { ...wish, key, idempotency: undefined, leaves: undefined, leavesBytes: undefined }
    stage.ask(inUse(stage, request), undefined, true)
  },
  async regroup(stage, { key, choice }) {
    const one = stage.keys[key]
    const group = (['default', 'tight', 'tokens', 'partner'] as const)[choice % 4]
    // Keys under a user's limit are counted together.
    if (!one || !group || one.group === 'team') return
    stage.world.mark('key regrouped')
    one.groups.push(group)
    await stage.admin(async storage => void (await storage.keys.change(one.id, { group }, 'world')))
  },
  async change(stage, { choice }) {
    const { gateway, process, settings } = stage.lives
    if (!gateway) return
    const name = switches[choice % switches.length] as (typeof switches)[number]
    stage.world.mark(`configuration changed: ${name}`)
    stage.lives.versions.save({ ...settings, [name]: !settings[name] })
    await stage.world.time.runFor(runAs(process, () => gateway.reload()))
    stage.lives.versions.take()
  },
  'sick vendor': (stage, operated) => {
    const host = stage.hostOf(operated)
    stage.world.mark('fault: sick vendor')
    stage.disturb(`${host} is sick`, operated.lasts + 15_000)
    stage.upstreams.setSick(host, true)
    stage.world.time.after(operated.lasts, 'the vendor is well', () => stage.upstreams.setSick(host, false), null)
  },
  'sick key': sickenKey,
  'suspend key': suspendKey,
  async 'change keys'(stage, operated) {
    const { gateway, process, settings } = stage.lives
    if (!gateway) return
    stage.lives.versions.save({ ...settings, pool: changeKeys(stage, settings.pool, operated) })
    await stage.world.time.runFor(runAs(process, () => gateway.reload()))
    stage.lives.versions.take()
  },
  'odd request': (stage, { choice, key }) => stage.odd.send(choice, stage.keys[key]?.secret ?? ''),
  session: (stage, operated) => stage.sessions.open(operated),
  refund: (stage, operated) => decide(stage, operated, 'refund'),
  resolve: (stage, operated) => decide(stage, operated, operated.choice % 2 === 0 ? 'settle' : 'void'),
}

export async function perform(stage: Stage, operated: Operated): Promise<void> {
  const { time } = stage.world
  // Sums are checked while requests are in progress, not only between them.
  const looks = operated.gap > 0 ? 3 : 0
  for (let i = 0; i < looks; i++) {
    await time.pass(operated.gap / looks)
    watch(stage)
  }
  stage.tell(`${describeTime(time.tick, time.wall)}  ${operated.kind.padEnd(16)} ${describe(operated)}`)
  await acts[operated.kind](stage, operated)
  watch(stage)
}

/**
 * Opening the books costs more than most operations: it is done only after a commit, or after a change of the limits to
 * check.
 */
function watch(stage: Stage): void {
  if (!stage.isNews()) return
  stage.looking(() => {
    lookForOverdrafts(stage)
    stage.watchReviews()
  })
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
      wish.coding === undefined ? '' : `packed by ${wish.coding}`,
      wish.connection === 'close' ? '' : wish.connection,
      wish.leaves === undefined ? '' : `leaves after ${wish.leaves} ms`,
      wish.leavesBytes === undefined ? '' : `leaves after ${wish.leavesBytes} bytes`,
      wish.idempotency ?? '',
      kind === 'burst' ? `× ${count}` : '',
    ]
      .filter(part => part !== '')
      .join(', ')
  if (kind === 'jump') return `${jump / 3_600_000} h`
  if (kind === 'outage') return `${state} for ${lasts} ms`
  if (['budget', 'disable', 'rotate', 'regroup', 'old secret'].includes(kind)) return `key ${key}`
  return ['verify', 'reload', 'change', 'again', 'refund', 'resolve', 'restart', 'odd request'].includes(kind)
    ? ''
    : `${lasts} ms`
}

/**
 * Keys are restricted to their uses: text may overdraw a budget, so it must not use keys for which an overdraft is a
 * fault.
 */
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

/** A person resolves a charge under review, or refunds one. */
async function decide(stage: Stage, { choice }: Operated, how: 'settle' | 'void' | 'refund'): Promise<void> {
  const state = how === 'refund' ? 'settled' : 'needs_review'
  const rows = stage.look('SELECT id, hold, line_count FROM charge WHERE state = ? ORDER BY id', state)
  const row = rows[choice % Math.max(1, rows.length)]
  const id = row?.['id']
  if (!row || typeof id !== 'string') return
  // Some decide a cost, which is at most the hold.
  const isKnown = how === 'settle' && choice % 4 < 2 && row['line_count'] === 0
  const amount = isKnown ? Math.floor((Number(row['hold']) * (1 + (choice % 7))) / 7) : 0
  if (amount > 0) stage.world.mark('a person decides: amount')
  stage.world.mark(`a person decides: ${how}`)
  const at = stage.world.time.tick
  await stage.admin(async storage => {
    if (how === 'refund') await storage.books.refund(id, 'world', 'a try')
    else await storage.books.resolve(id, how, 'world', 'a try', amount)
  })
  // Refused or uncertain: the decision may have been made all the same.
  stage.decisions.push({ id, how, amount, at })
}
