import type { Key, ChargeItem, Storage } from '../../src/domain/index.ts'
import { firstIdAt } from '../../src/util/index.ts'
import { facts, holdOf, line, logRow, newKey } from '../contract/storage.ts'
import { diceOf } from './seed.ts'

/** The result of one request. */
export type Made = {
  readonly id: string
  readonly keyId: string
  readonly user: string
  readonly group: string
  readonly model: string
  readonly upstream: string
  readonly currency: string
  readonly tag: string | null
  readonly endUser: string | null
  readonly lines: readonly ChargeItem[]
  /** 0 if it was not settled. */
  readonly amount: number
  /** The times of its settlement and refund; undefined if there was none. */
  readonly at: number
  refundedAt?: number
}

/**
 * Creates random charges of every kind: images with lines of several tiers and text by tokens, in rows and in segments,
 * of several users, groups and currencies, some refunded later, some never settled.
 */
export async function makeBooks(
  storage: Storage,
  clock: { now(): number; set(now: number): void },
  { seed, count, stepMs }: { readonly seed: number; readonly count: number; readonly stepMs: number },
): Promise<readonly Made[]> {
  const dice = diceOf(seed)
  const pick = <T>(all: readonly T[]): T => all[dice(all.length)] as T
  const users = ['ada', 'bob', '=cmd|calc', '<b>eve</b>']
  const keys: Key[] = []
  for (const [i, user] of users.entries()) {
    await storage.users.create({ name: user, group: 'default', role: 'user', passwordHash: null })
    keys.push(
      await storage.keys.create(newKey({ name: `${user}'s`, user, budget: null, group: i % 2 ? 'partner' : null })),
    )
  }
  const made: Made[] = []
  const open: Made[] = []
  for (let i = 0; i < count; i++) {
    clock.set(clock.now() + 1 + dice(stepMs))
    const key = pick(keys)
    const id = firstIdAt('req_', clock.now()) + String(i).padStart(10, '0')
    const group = dice(2) ? 'default' : 'partner'
    const label = { kind: 'tag', name: pick(['web', 'batch']), keyId: key.id, most: 9, mostPerKey: 9 } as const
    const of = { ...label, kind: 'end_user', name: pick(['gil', 'hana']) } as const
    const labels = [...(dice(3) ? [] : [label]), ...(dice(2) ? [] : [of])]
    const ids: string[] = []
    for (const one of labels) ids.push(await storage.labels.idOf(one))
    const attribution = ids.length === 0 ? {} : { attribution: ids.join(' ') }
    const nameOf = (kind: string) => labels.find(one => one.kind === kind)?.name ?? null
    const own = facts(key, {
      ...attribution,
      id,
      user: key.user,
      group,
      model: pick(['m1', 'm2', 'm3']),
      upstream: pick(['alpha', 'beta']),
      currency: dice(5) ? 'USD' : 'EUR',
    })
    const isText = dice(2) === 0
    const tokens = { width: null, height: null }
    const lines = isText
      ? [
          line(0, { ...tokens, tier: 'input', price: dice(5_000), quantity: dice(900) }),
          line(1, { ...tokens, tier: 'output', price: 1 + dice(9_999), quantity: dice(900) }),
        ]
      : Array.from({ length: 1 + dice(3) }, (_, at) =>
          line(at, { tier: pick(['1K', '2K', '4K']), price: dice(80_001) }),
        )
    storage.journal.append(
      logRow({
        id,
        time: clock.now(),
        keyId: key.id,
        user: key.user,
        group,
        model: own.model,
        clientRequestId: `of ${key.user}`,
        ...attribution,
      }),
    )
    const sum = lines.reduce((all, one) => all + one.price, 0)
    const base = {
      id,
      keyId: key.id,
      user: key.user,
      group,
      model: own.model,
      upstream: own.upstream,
      currency: own.currency,
      tag: nameOf('tag'),
      endUser: nameOf('end_user'),
    }
    if (isText) storage.ledger.post(own, lines, 'confirmed')
    else {
      await storage.ledger.hold(holdOf(key, 300_000, own))
      if (dice(12) === 0) {
        if (dice(2)) await storage.ledger.void(id, 'nothing came')
        else await storage.ledger.review(id, 'who knows')
        made.push({ ...base, lines: [], amount: 0, at: clock.now() })
        continue
      }
      for (const one of lines) await storage.ledger.line(id, one)
      clock.set(clock.now() + dice(2_000))
      await storage.ledger.settle({ id, delivery: 'confirmed', reason: null })
    }
    const one = { ...base, lines, amount: sum, at: clock.now() }
    made.push(one)
    if (sum > 0) open.push(one)
    if (dice(7) === 0) await storage.flush()
    if (dice(8) === 0 && open.length > 3) {
      await storage.flush()
      const [back] = open.splice(dice(open.length), 1) as [Made]
      if ((await storage.books.refund(back.id, 'somebody', 'x')) !== back.amount)
        throw new Error(`${back.id} was not given back`)
      back.refundedAt = clock.now()
    }
  }
  await storage.flush()
  return made
}
