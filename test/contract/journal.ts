import type { Test } from 'tap'
import type { Charge, Key, ChargeItem, LogFilter, LogMatch, LogRow } from '../../src/domain/index.ts'
import { kindOfRow } from '../../src/domain/index.ts'
import { firstIdAt } from '../../src/util/index.ts'
import { clockAt, facts, type Harness, line, logRow, newKey } from './storage.ts'

const day = 86_400_000
const from = Date.UTC(2026, 9, 30)
const days = 4
const rows = 240

/** A row as the test itself recorded it. */
type Written = {
  readonly row: LogRow
  readonly charge: Pick<Charge, 'state' | 'size'> | null
  readonly lines: ChargeItem[]
}

/**
 * Tests of the log for every storage driver: filters, sums and pruning, against the test's own counts. With `pageRows`,
 * the log has pages, and rows arrive in no order.
 */
export async function journalContract(t: Test, make: Harness, pageRows?: number): Promise<void> {
  const clock = clockAt(from)
  const harness = await make()
  const storage = await harness.open('gateway', clock, pageRows)
  t.teardown(async () => {
    await storage.close()
    await harness.close()
  })
  const { keys, users, ledger, journal, books } = storage
  await users.create({ name: 'ada', group: 'partner', role: 'user', passwordHash: null })
  const owners = [await keys.create(newKey()), await keys.create(newKey({ user: 'ada', group: 'partner' }))]

  const written: Written[] = []
  const refunded = new Map<string, number>()
  /** Rows of requests that end long after others that began at the same time. */
  const late: LogRow[] = []
  for (let i = 0; i < rows; i++) {
    clock.set(from + Math.floor((i * days * day) / rows))
    written.push(await write(i, owners[i % 2] as Key))
    if (i % 12 === 11) await storage.flush()
    if (i % 48 === 47) for (const row of late.splice(0)) journal.append(row)
  }
  await storage.flush()
  for (const { row, charge } of written.filter((_, i) => i % 17 === 2)) {
    const given = await books.refund(row.id, 'ada', 'x')
    if (charge?.state === 'settled') refunded.set(row.id, given)
  }

  /** Returns an id as for a request at the test's time, which differs from the machine's time. */
  function idOf(i: number): string {
    return firstIdAt('req_', clock.now()) + String(i).padStart(10, '0')
  }

  /**
   * Cycles through every kind of request: images in several tiers and sizes, tokens, refusals, cuts and charges in
   * review.
   */
  async function write(i: number, key: Key): Promise<Written> {
    const id = idOf(i)
    const status = [200, 200, 200, 429, 200, 502, 200, 400][i % 8] ?? 200
    const row = logRow({
      id,
      time: clock.now(),
      keyId: key.id,
      user: key.user,
      group: key.user === 'ada' ? 'partner' : 'default',
      model: i % 3 ? 'alpha-image-2' : 'sim-chat',
      operation: i % 5 ? 'image.generate' : 'image.edit',
      upstream: i % 7 ? 'alpha' : 'beta',
      status: i % 29 === 0 ? null : status,
      outcome: i % 29 === 0 ? 'caller_gone' : status === 200 ? 'answered' : i % 11 ? 'refused' : 'deadline',
      durationMs: (i * 37) % 1_500,
      inputTokens: i % 3 ? null : i,
      outputTokens: i % 3 ? null : 2 * i,
    })
    if (i % 9 === 4) late.push(row)
    else journal.append(row)
    if (status >= 400) return { row, charge: null, lines: [] }
    const size = i % 4 ? '1254X1254' : i % 16 ? '1024x1024' : 'auto'
    const own = facts(key, { id, user: key.user, model: row.model ?? '', size, currency: i % 6 ? 'USD' : 'EUR' })
    if (i % 3 === 0) {
      const lines = [line(0, { tier: 'input', width: null, height: null, price: i, quantity: i })]
      ledger.post(own, lines, 'confirmed')
      return { row, charge: { state: 'settled', size }, lines }
    }
    await ledger.hold({ facts: own, hold: 100_000, idempotency: null })
    if (i % 13 === 4) {
      await ledger.void(id, 'refused')
      return { row, charge: { state: 'voided', size }, lines: [] }
    }
    if (i % 13 === 5) {
      await ledger.review(id, 'timeout')
      return { row, charge: { state: 'needs_review', size }, lines: [] }
    }
    const lines = [line(0, { source: i % 10 ? 'output' : 'default', width: 1254, price: 40_000 })]
    if (i % 4 === 1) lines.push(line(1, { tier: '4K', width: 3_000, height: 2_000, price: 80_000 }))
    for (const one of lines) await ledger.line(id, one)
    await ledger.settle({ id, delivery: 'confirmed', reason: null })
    return { row, charge: { state: 'settled', size }, lines }
  }

  const images = ({ lines }: Written) => lines.filter(one => one.quantity === null)
  const counts = ({ lines }: Written, unit: string) => lines.some(one => one.quantity !== null && one.tier === unit)
  const matches: readonly [name: string, match: LogMatch, is: (one: Written) => boolean][] = [
    ['a key', { keyId: owners[0]?.id ?? '' }, ({ row }) => row.keyId === owners[0]?.id],
    ['a user', { user: 'ada' }, ({ row }) => row.user === 'ada'],
    ['a group', { group: 'partner' }, ({ row }) => row.group === 'partner'],
    ['a model', { model: 'sim-chat' }, ({ row }) => row.model === 'sim-chat'],
    ['an operation', { operation: 'image.edit' }, ({ row }) => row.operation === 'image.edit'],
    ['an upstream', { upstream: 'beta' }, ({ row }) => row.upstream === 'beta'],
    ['a status', { status: 429 }, ({ row }) => row.status === 429],
    ['status 200', { status: 200 }, ({ row }) => row.status === 200],
    ['all of 2xx', { status: '2xx' }, ({ row }) => row.status === 200],
    ['all of 4xx', { status: '4xx' }, ({ row }) => row.status === 429 || row.status === 400],
    ['all of 5xx', { status: '5xx' }, ({ row }) => row.status === 502],
    ['all of 3xx', { status: '3xx' }, () => false],
    ['answered', { outcome: 'answered' }, ({ row }) => row.outcome === 'answered'],
    ['refused', { outcome: 'refused' }, ({ row }) => row.outcome === 'refused'],
    ['callers gone', { outcome: 'caller_gone' }, ({ row }) => row.outcome === 'caller_gone'],
    ['succeeded', { result: 'succeeded' }, ({ row }) => row.outcome === 'answered'],
    ['failed', { result: 'failed' }, ({ row }) => row.outcome === 'refused' && row.status === 502],
    ['refused with a 4xx', { result: 'refused' }, ({ row }) => row.outcome === 'refused' && row.status !== 502],
    ['too late', { result: 'deadline' }, ({ row }) => row.outcome === 'deadline'],
    ['unsuccessful', { result: 'unsuccessful' }, ({ row }) => row.outcome !== 'answered'],
    ['a tier', { tier: '4K' }, one => images(one).some(image => image.tier === '4K')],
    ['what is counted is no tier', { tier: 'input' }, () => false],
    ['a unit', { unit: 'input' }, one => counts(one, 'input')],
    ['a unit that nobody counts', { unit: 'output' }, () => false],
    ['the tier of an image is no unit', { unit: '4K' }, () => false],
    ['given back', { refunded: true }, ({ row }) => refunded.has(row.id)],
    [
      'settled and not given back',
      { charge: 'settled', refunded: false },
      ({ row, charge }) => charge?.state === 'settled' && !refunded.has(row.id),
    ],
    ['a source', { source: 'default' }, one => images(one).some(image => image.source === 'default')],
    ['a tier from a source', { tier: '4K', source: 'default' }, () => false],
    ['another size than asked for', { otherSize: true }, one => images(one).some(image => isOther(one, image))],
    ['settled', { charge: 'settled' }, ({ charge }) => charge?.state === 'settled'],
    ['void', { charge: 'voided' }, ({ charge }) => charge?.state === 'voided'],
    ['in review', { charge: 'needs_review' }, ({ charge }) => charge?.state === 'needs_review'],
    ['reserved', { charge: 'reserved' }, () => false],
    ['since', { since: from + day }, ({ row }) => row.time >= from + day],
    ['until', { until: from + day }, ({ row }) => row.time < from + day],
    [
      'a tier in a day',
      { tier: '4K', since: from + day, until: from + 2 * day },
      one => images(one).some(image => image.tier === '4K') && isOnDay(one, 1),
    ],
    [
      'a unit of a key, given back',
      { unit: 'input', keyId: owners[0]?.id ?? '', refunded: true },
      one => counts(one, 'input') && one.row.keyId === owners[0]?.id && refunded.has(one.row.id),
    ],
    [
      'a tier not given back',
      { tier: '4K', refunded: false },
      one => images(one).some(image => image.tier === '4K') && !refunded.has(one.row.id),
    ],
    [
      'a user’s refusals',
      { user: 'ada', status: '4xx' },
      ({ row }) => row.user === 'ada' && Math.floor((row.status ?? 0) / 100) === 4,
    ],
    [
      'settled by a model of an upstream',
      { charge: 'settled', model: 'alpha-image-2', upstream: 'beta' },
      ({ row, charge }) => charge?.state === 'settled' && row.model === 'alpha-image-2' && row.upstream === 'beta',
    ],
  ]

  function isOther({ charge }: Written, image: ChargeItem): boolean {
    const size = charge?.size?.toLowerCase() ?? ''
    return /^\d+x\d+$/.test(size) && size !== `${image.width}x${image.height}`
  }

  function isOnDay({ row }: Written, n: number): boolean {
    return row.time >= from + n * day && row.time < from + (n + 1) * day
  }

  const idsOf = async (filter: LogFilter) => (await journal.list(filter)).map(({ row }) => row.id)

  for (const [name, match, is] of matches)
    await t.test(`the log by ${name}: pages in both directions, and time steps`, async t => {
      const wanted = written.filter(is).map(({ row }) => row.id)
      const found: string[] = []
      for (;;) {
        const before = found.at(-1)
        const page = await idsOf({ ...match, limit: 19, ...(before !== undefined && { before }) })
        found.push(...page)
        if (page.length < 19) break
      }
      t.same(found, wanted.toReversed())
      const middle = wanted[Math.floor(wanted.length / 2)] ?? ''
      const newer = wanted.slice(wanted.indexOf(middle) + 1).slice(0, 5)
      if (middle !== '') t.same(await idsOf({ ...match, limit: 5, after: middle }), newer.toReversed())
      const steps = new Map<number, { requests: number; errors: number }>()
      const span = { since: match.since ?? from, until: match.until ?? from + days * day }
      for (const { row } of written.filter(is)) {
        const start = Math.floor(row.time / 7_200_000) * 7_200_000
        const { requests, errors } = steps.get(start) ?? { requests: 0, errors: 0 }
        steps.set(start, { requests: requests + 1, errors: errors + Number(isError(row)) })
      }
      t.same(
        await journal.histogram({ ...match, ...span }, 7_200_000),
        [...steps].map(([start, counts]) => ({ from: start, ...counts })),
      )
    })

  function isError(row: LogRow): boolean {
    return (row.status ?? 0) >= 400 || row.outcome !== 'answered'
  }

  await t.test('a summary is the sum of its rows, for everyone and for one user', async t => {
    const span = { since: from + day, until: from + 3 * day }
    for (const user of [undefined, 'ada', 'nobody']) {
      const own = written.filter(
        ({ row }) =>
          row.time >= span.since &&
          row.time < span.until &&
          (user === undefined || row.user === user) &&
          kindOfRow(row) !== 'lookup',
      )
      const summary = await journal.summary({ ...span, ...(user !== undefined && { user }) })
      const sum = (of: (row: LogRow) => number | null) => own.reduce((all, { row }) => all + (of(row) ?? 0), 0)
      t.match(summary, {
        requests: own.length,
        errors: own.filter(({ row }) => isError(row)).length,
        inputTokens: sum(row => row.inputTokens),
        outputTokens: sum(row => row.outputTokens),
      })
      const durations = own.map(({ row }) => row.durationMs).toSorted((a, b) => a - b)
      for (const [share, approximate] of [
        [0.5, summary.p50Ms],
        [0.95, summary.p95Ms],
      ] as const) {
        const exact = durations[Math.ceil(durations.length * share) - 1] ?? null
        t.ok(
          approximate === exact ||
            (exact !== null && approximate !== null && approximate >= exact && approximate <= exact * 1.1 + 1),
        )
      }
      const spent = countBy(own, ({ row, charge, lines }) =>
        charge?.state === 'settled' ? [[currencyOf(row), sumOf(lines)]] : [],
      )
      t.same(
        summary.spent.map(({ currency, amount }) => [currency, amount]),
        spent,
      )
      t.same(
        summary.images.map(({ tier, count }) => [tier, count]),
        countBy(own, one => images(one).map(image => [image.tier, 1])),
      )
    }
  })

  function currencyOf(row: LogRow): string {
    return written.findIndex(one => one.row.id === row.id) % 6 ? 'USD' : 'EUR'
  }

  await t.test('usage by day, key and model is the sum of its charges, with refunds', async t => {
    for (const match of [{}, { user: 'ada' }, { keyId: owners[0]?.id ?? '' }]) {
      const rows = await journal.usage({ since: from, until: from + days * day, ...match })
      const own = written.filter(
        ({ row, charge }) =>
          charge?.state === 'settled' &&
          (!('user' in match) || row.user === match.user) &&
          (!('keyId' in match) || row.keyId === match.keyId),
      )
      const name = (row: LogRow) =>
        [new Date(row.time).toISOString().slice(0, 10), row.user, row.keyId, row.model, currencyOf(row)].join(' ')
      const count = (of: (one: Written) => number) => countBy(own, one => [[name(one.row), of(one)]])
      const same = (of: (row: (typeof rows)[number]) => number, wanted: readonly (readonly [string, number])[]) =>
        t.same(
          rows
            .map(row => [[row.day, row.user, row.keyId, row.model, row.currency].join(' '), of(row)] as const)
            .toSorted(([a], [b]) => (a < b ? -1 : 1)),
          wanted,
        )
      same(
        row => row.requests,
        count(() => 1),
      )
      same(
        row => row.images,
        count(one => images(one).length),
      )
      same(
        row => row.inputTokens,
        count(({ row }) => row.inputTokens ?? 0),
      )
      same(
        row => row.outputTokens,
        count(({ row }) => row.outputTokens ?? 0),
      )
      same(
        row => row.amount,
        count(({ lines }) => sumOf(lines)),
      )
      same(
        row => row.refunded,
        count(({ row }) => refunded.get(row.id) ?? 0),
      )
      t.same(
        rows.map(row => row.day),
        rows.map(row => row.day).toSorted(),
        'oldest first',
      )
    }
    t.ok(
      [...refunded.values()].some(amount => amount > 0),
      'some was given back',
    )
  })

  await t.test("the spend of each user's keys, and the last use", async t => {
    const all = await keys.list({ sessions: true, limit: 1_000 })
    const users = [...new Set(all.map(({ user }) => user))]
    const uses = await keys.uses([...users, 'nobody'])
    t.same(uses.map(({ user }) => user).toSorted(), users.toSorted())
    t.same(
      (await keys.uses(users.slice(0, 1))).map(({ user }) => user),
      users.slice(0, 1),
      'of the named users only',
    )
    t.same(await keys.uses([]), [])
    for (const { user, spent, lastUsedAt } of uses) {
      const own = all.filter(key => key.user === user)
      t.ok(spent > 0, user)
      t.equal(
        spent,
        own.reduce((sum, key) => sum + key.spent, 0),
        user,
      )
      const last = Math.max(0, ...own.map(key => key.lastUsedAt ?? 0))
      t.equal(lastUsedAt ?? 0, last, user)
    }
  })

  await t.test('a request with charges for images and tokens is one request', async t => {
    clock.set(from + 20 * day)
    const [key] = owners as [Key]
    const own = facts(key, { id: idOf(rows) })
    ledger.post(own, [line(0)], 'confirmed')
    ledger.post({ ...own, id: `${own.id}.u` }, [line(0, { tier: 'input', price: 5, quantity: 5 })], 'confirmed')
    await storage.flush()
    const span = { since: from + 20 * day, until: from + 21 * day }
    t.match(await journal.usage(span), [{ requests: 1, images: 1, amount: 40_005 }])
  })

  await t.test('prunes the oldest rows up to the given number; charges stay, and a restart restores none', async t => {
    const until = from + day
    const old = written.filter(({ row }) => row.time < until).map(({ row }) => row.id)
    t.equal(await journal.prune(until, 10), 10)
    t.same((await idsOf({ limit: 1_000, until })).toReversed(), old.slice(10))
    t.equal(await journal.prune(until, 1_000), old.length - 10)
    t.equal(await journal.prune(until, 1_000), 0)
    const left = await idsOf({ limit: 1_000 })
    t.equal(left.length, written.length - old.length)
    const charged = written.find(({ charge }) => charge?.state === 'settled')
    t.match(await ledger.find(charged?.row.id ?? ''), { state: 'settled' })
    t.same((await books.verify()).problems, [])
    await harness.lapse()
    const next = await harness.open('worker', clock)
    const after = (await next.journal.list({ limit: 1_000, until: from + days * day })).map(({ row }) => row.id)
    await next.close()
    t.same(after, left)
  })
}

/** Sums by name, sorted by name. */
function countBy(
  list: readonly Written[],
  of: (one: Written) => readonly (readonly [name: string, amount: number])[],
): readonly (readonly [string, number])[] {
  const sums = new Map<string, number>()
  for (const one of list) for (const [name, amount] of of(one)) sums.set(name, (sums.get(name) ?? 0) + amount)
  return [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1))
}

function sumOf(lines: readonly ChargeItem[]): number {
  return lines.reduce((sum, { price }) => sum + price, 0)
}
