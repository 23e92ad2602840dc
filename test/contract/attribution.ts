import type { Test } from 'tap'
import {
  type CostPart,
  type CostQuery,
  type CostRow,
  costParts,
  type Key,
  labelKinds,
  otherLabels,
  otherName,
  quarterMs,
  type ChargeItem,
  type Storage,
} from '../../src/domain/index.ts'
import { firstIdAt } from '../../src/util/index.ts'
import { caseName } from '../harness/case-name.ts'
import { clockAt, facts, type Harness, line, logRow, newKey } from './storage.ts'

const from = Date.UTC(2026, 10, 3)
const dayMs = 86_400_000
const until = from + 5 * dayMs
const endUsers = ['ada', 'ben', 'eve', 'zoë, Söhne & Co', '(none)']
const tags = ['web', 'batch', 'team:blue', 'team:red']

type Sold = {
  readonly id: string
  readonly at: number
  readonly parts: { readonly [P in Exclude<CostPart, 'tier'>]: string }
  readonly endUser: string | undefined
  readonly tags: readonly string[]
  readonly lines: readonly ChargeItem[]
  isRefunded: boolean
}

const most = { most: 100, mostPerKey: 100 }

/** Charges of images and of text, most of them with an end user, and some with tags. */
async function sell(storage: Storage, clock: ReturnType<typeof clockAt>, keys: readonly Key[], count: number) {
  let state = 5
  const draw = (n: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * n)
  }
  const sold: Sold[] = []
  for (let i = 0; i < count; i++) {
    clock.set(from + Math.floor(((until - from) / count) * i) + 1_000)
    const key = keys[draw(keys.length)] as Key
    const endUser = draw(4) === 0 ? undefined : endUsers[draw(endUsers.length)]
    const own = draw(3) === 0 ? [] : tags.slice(draw(4)).slice(0, 1 + draw(2))
    const ids = [
      ...(endUser === undefined
        ? []
        : [await storage.labels.idOf({ kind: 'end_user', name: endUser, keyId: key.id, ...most })]),
      ...(await Promise.all(own.map(async name => storage.labels.idOf({ kind: 'tag', name, keyId: key.id, ...most })))),
    ]
    const id = firstIdAt('req_', clock.now()) + String(i).padStart(10, '0')
    const isImage = draw(3) === 0
    const charge = facts(key, {
      id,
      user: key.user,
      model: `m${draw(3)}`,
      upstream: draw(2) ? 'alpha' : 'beta',
      ...(ids.length > 0 && { attribution: ids.join(' ') }),
    })
    const lines = isImage
      ? [line(0, { tier: '2K', price: 1 + draw(9_000) })]
      : ['input', 'output'].map((tier, at) =>
          line(at, { tier, source: 'output', width: null, height: null, price: draw(9_000), quantity: draw(900) }),
        )
    if (isImage) {
      await storage.ledger.hold({ facts: charge, hold: 10_000, idempotency: null })
      await storage.ledger.line(id, lines[0] as ChargeItem)
      await storage.ledger.settle({ id, delivery: 'confirmed', reason: null })
    } else storage.ledger.post(charge, lines, 'confirmed')
    storage.journal.append(
      logRow({
        id,
        time: clock.now(),
        keyId: key.id,
        user: key.user,
        ...(ids.length > 0 && { attribution: ids.join(' ') }),
      }),
    )
    const { user, group, model, operation, upstream } = charge
    const parts = { user, group, key: key.id, model, operation, upstream }
    sold.push({ id, at: clock.now(), parts, endUser, tags: own, lines, isRefunded: false })
    if (draw(9) === 0) await storage.flush()
  }
  await storage.flush()
  return sold
}

/** Computes the same rows from the test's own list, without a limit on the number of names. */
function count(sold: readonly Sold[], { since, until: end, bars, by, where }: CostQuery): readonly CostRow[] {
  const rows = new Map<string, { -readonly [N in keyof CostRow]: CostRow[N] }>()
  for (const one of sold) {
    if (one.at < since || one.at >= end) continue
    if (where.end_user !== undefined && where.end_user !== one.endUser) continue
    if (where.tag !== undefined && !one.tags.includes(where.tag)) continue
    const seen = new Set<string>()
    for (const { tier, price, quantity } of one.lines) {
      const parts = { ...one.parts, tier }
      if (costParts.some(part => where[part] !== undefined && where[part] !== parts[part])) continue
      const bar = bars.findLastIndex(at => at <= one.at)
      const whats =
        by === null
          ? ['']
          : by === 'end_user'
            ? [one.endUser ?? '']
            : by === 'tag'
              ? where.tag === undefined
                ? one.tags.length > 0
                  ? one.tags
                  : ['']
                : [where.tag]
              : [parts[by]]
      for (const what of whats) {
        const name = `${bar} ${what}`
        const blank = {
          bar,
          what,
          currency: 'USD',
          charges: 0,
          images: 0,
          amount: 0,
          refunded: 0,
          quantity: 0,
          tokens: 0,
          saved: 0,
        }
        const row = rows.get(name) ?? blank
        rows.set(name, row)
        if (!seen.has(name) || by === 'tier') row.charges++
        seen.add(name)
        row.images += quantity === null ? 1 : 0
        row.amount += price
        row.refunded += one.isRefunded ? price : 0
        row.quantity += quantity ?? 0
        row.tokens += quantity ?? 0
      }
    }
  }
  return inOrder([...rows.values()])
}

function inOrder(rows: readonly CostRow[]): readonly CostRow[] {
  return rows.toSorted((a, b) => a.bar - b.bar || ((a.what ?? '') < (b.what ?? '') ? -1 : 1))
}

const days = Array.from({ length: 5 }, (_, day) => from + day * dayMs)
const spans = [
  { since: from, until, bars: days },
  { since: from, until, bars: [from] },
  { since: from + 5 * quarterMs, until: until - 3 * quarterMs, bars: [from + 5 * quarterMs, from + 2 * dayMs] },
]
const questions: readonly Pick<CostQuery, 'by' | 'where'>[] = [
  { by: 'end_user', where: {} },
  { by: 'tag', where: {} },
  { by: null, where: { end_user: 'ada' } },
  { by: 'end_user', where: { end_user: 'ben' } },
  { by: 'tag', where: { tag: 'web' } },
  { by: 'model', where: { end_user: 'zoë, Söhne & Co' } },
  { by: 'tier', where: { tag: 'team:blue' } },
  { by: 'end_user', where: { model: 'm1' } },
  { by: 'end_user', where: { user: 'ada', upstream: 'beta' } },
  { by: 'tag', where: { user: 'local' } },
  { by: 'tag', where: { tier: 'input' } },
  { by: 'end_user', where: { tier: '2K' } },
  { by: 'user', where: { end_user: 'eve', model: 'm0' } },
  { by: 'key', where: { tag: 'batch' } },
  { by: null, where: { end_user: 'nobody' } },
]

async function compare(t: Test, storage: Storage, sold: readonly Sold[], stage: string): Promise<void> {
  for (const span of spans)
    for (const question of questions) {
      const query = { ...span, ...question }
      const { rows } = await storage.journal.costs(query)
      t.same(inOrder(rows), count(sold, query), caseName({ stage, bars: span.bars.length, ...question }))
    }
}

/** Updates the sums, as a gateway does every minute. */
async function addUp(storage: Storage): Promise<void> {
  let state = await storage.books.rebuildCosts()
  while (!state.isDone) state = await storage.books.rebuildCosts(state)
}

export async function attributionContract(t: Test, make: Harness): Promise<void> {
  const harness = await make()
  t.teardown(() => harness.close())
  const clock = clockAt(from)
  const storage = await harness.open('gateway', clock)
  t.teardown(() => storage.close())
  await storage.users.create({ name: 'ada', group: 'default', role: 'user', passwordHash: null })
  const keys = [await storage.keys.create(newKey()), await storage.keys.create(newKey({ user: 'ada' }))]
  const sold = await sell(storage, clock, keys, 160)

  await t.test('costs by end user and tag equal the charges, before and after the sums are updated', async t => {
    await compare(t, storage, sold, 'one by one')
    for (const one of sold.filter((_, i) => i % 17 === 0)) {
      await storage.books.refund(one.id, 'ada', 'x')
      one.isRefunded = true
    }
    await compare(t, storage, sold, 'some given back')
    await addUp(storage)
    await compare(t, storage, sold, 'added up')
    const audited = await storage.books.verify()
    t.same([...audited.problems, ...audited.sums], [])
  })

  await t.test('the most expensive end users have rows of their own, and the others share one', async t => {
    const span = { since: from, until, bars: days }
    for (const where of [{}, { model: 'm2' }]) {
      const query = { ...span, by: 'end_user', where } as const
      const all = count(sold, { ...query, bars: [from] }).filter(({ what }) => what !== '')
      const two = all
        .toSorted((a, b) => b.amount - a.amount)
        .slice(0, 2)
        .map(({ what }) => what as string)
      for (const apart of [2, two]) {
        const { rows } = await storage.journal.costs({ ...query, apart })
        t.same(new Set(rows.map(({ what }) => what)), new Set([...two, null, '']), caseName({ where, apart }))
        const own = count(sold, query)
        const sum = (some: readonly CostRow[]): number => some.reduce((total, { amount }) => total + amount, 0)
        t.equal(sum(rows), sum(own), 'nothing is counted twice')
        t.same(
          inOrder(rows.filter(({ what }) => what === two[0])),
          own.filter(({ what }) => what === two[0]),
        )
      }
    }
  })

  await t.test('damaged sums are reported, and a rebuild repairs them', async t => {
    await harness.edit(`UPDATE cost_label_part SET amount = amount + 1 WHERE kind = 'tag'`)
    await harness.edit(
      `UPDATE cost_label_sum SET firsts = firsts + 1 WHERE place = (SELECT min(id) FROM cost_label_place)`,
    )
    t.match((await storage.books.verify()).sums[0], /the cost sum \(label/)
    await addUp(storage)
    t.same((await storage.books.verify()).sums, [])
    await compare(t, storage, sold, 'rebuilt')
  })

  await t.test('the log has the names, and can be filtered by them', async t => {
    const list = await storage.journal.list({ limit: 500 })
    for (const { row } of list) {
      const one = sold.find(({ id }) => id === row.id)
      t.same([row.endUser ?? undefined, row.tags ?? []], [one?.endUser, one?.tags], caseName({ id: row.id }))
    }
    t.equal(list.length, sold.length)
    for (const [match, own] of [
      [{ endUser: 'ada' }, sold.filter(one => one.endUser === 'ada')],
      [{ tag: 'team:blue' }, sold.filter(one => one.tags.includes('team:blue'))],
      [{ tag: 'web', user: 'ada' }, sold.filter(one => one.tags.includes('web') && one.parts.user === 'ada')],
      [{ endUser: 'nobody' }, []],
    ] as const) {
      const found = await storage.journal.list({ ...match, limit: 500 })
      t.same(found.map(({ row }) => row.id).toSorted(), own.map(({ id }) => id).toSorted(), caseName(match))
      const totals = await storage.journal.totals(match)
      t.equal(totals.requests, own.length, caseName({ totals: '', ...match }))
    }
  })

  await t.test('names beyond the maximum are (other), also when one key brings them all', async t => {
    const [one, two] = keys as [Key, Key]
    const label = { kind: 'end_user', most: 8, mostPerKey: 7 } as const
    const add = (name: string, key: Key) => storage.labels.idOf({ ...label, name, keyId: key.id })
    const known = await add('ada', one)
    t.not(known, otherLabels.end_user)
    const attack = await Promise.all(Array.from({ length: 40 }, async (_, i) => add(`made up ${i}`, two)))
    t.ok(new Set(attack).size <= 4, 'as many as there is room for')
    t.equal(attack.at(-1), otherLabels.end_user)
    t.equal(await add('ada', two), known, 'a known name stays itself')
    const [kept] = await harness.read(
      `SELECT count(*) AS count FROM label WHERE kind = 'end_user' AND name IS NOT NULL`,
    )
    t.ok(Number(kept?.['count']) <= 8, caseName({ kept: kept?.['count'] }))
    const more = { kind: 'end_user', most: 60, mostPerKey: 50 } as const
    const ids = await Promise.all(
      Array.from({ length: 90 }, async (_, i) => storage.labels.idOf({ ...more, name: `more ${i}`, keyId: 'third' })),
    )
    t.equal(new Set(ids).size, 51, 'exactly as many as one key may add, and (other)')
    const id = firstIdAt('req_', clock.now()) + 'other'.padStart(10, '0')
    storage.ledger.post(
      facts(one, { id, attribution: otherLabels.end_user }),
      [line(0, { price: 7, quantity: 1 })],
      'confirmed',
    )
    await storage.flush()
    const { rows } = await storage.journal.costs({
      since: from,
      until: from + 400 * dayMs,
      bars: [from],
      by: null,
      where: { end_user: otherName },
    })
    t.match(rows, [{ amount: 7, charges: 1 }])
  })

  await t.test('an erased name occurs nowhere, and its costs stay under a pseudonym', async t => {
    const query = { since: from, until, bars: [from], by: null } as const
    const [before] = (await storage.journal.costs({ ...query, where: { end_user: 'zoë, Söhne & Co' } })).rows
    t.ok(before && before.amount > 0)
    t.equal(await storage.labels.erase('end_user', 'zoë, Söhne & Co', 'admin'), true)
    t.equal(await storage.labels.erase('end_user', 'zoë, Söhne & Co', 'admin'), false, 'once')
    t.same((await storage.journal.costs({ ...query, where: { end_user: 'zoë, Söhne & Co' } })).rows, [])
    const { rows } = await storage.journal.costs({ ...query, by: 'end_user', where: {} })
    const pseudonym = rows.find(({ amount }) => amount === before?.amount)?.what ?? ''
    t.match(pseudonym, /^erased-/)
    t.same((await storage.journal.costs({ ...query, where: { end_user: pseudonym } })).rows, [before])
    const [trail] = await storage.trail.list({ limit: 1 })
    t.match(trail, { action: 'label.erase', actor: 'admin' })
    t.equal(JSON.stringify(trail).includes('Söhne'), false)
    const fresh = await storage.labels.idOf({ kind: 'end_user', name: 'zoë, Söhne & Co', keyId: 'k', ...most })
    t.not(fresh, otherLabels.end_user, 'a name that returns is new')
    t.same((await storage.journal.costs({ ...query, where: { end_user: 'zoë, Söhne & Co' } })).rows, [])
  })

  await t.test('names that no recent request used are forgotten', async t => {
    clock.set(clock.now() + 40 * dayMs)
    const id = await storage.labels.idOf({ kind: 'tag', name: 'web', keyId: 'k', ...most })
    await storage.flush()
    let pruned = 0
    for (const kind of labelKinds) pruned += await storage.labels.prune(kind, clock.now() - 30 * dayMs, 100)
    t.ok(pruned > 4, caseName({ pruned }))
    const names = await harness.read(`SELECT name FROM label WHERE name IS NOT NULL`)
    t.same(
      names.map(({ name }) => name),
      ['web'],
      'the one in use stays',
    )
    t.equal(await storage.labels.idOf({ kind: 'tag', name: 'web', keyId: 'k', ...most }), id)
  })

  await t.test('the books are valid afterwards', async t => {
    const audited = await storage.books.verify()
    t.same([...audited.problems, ...audited.sums], [])
  })
}
