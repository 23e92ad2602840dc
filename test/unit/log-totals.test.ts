import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import t, { type Test } from 'tap'
import type { Charge, Key, LogMatch, LogRow, LogTotals, Storage } from '../../src/domain/index.ts'
import { firstIdAt } from '../../src/util/index.ts'
import { addTotals } from '../../src/console/pages/logs/add-totals.ts'
import { rollUpCosts } from '../../src/storage/costs/roll-up.ts'
import { asksForCharge } from '../../src/storage/journal/charged.ts'
import { dropChanged, writeBatchCharges, sumNextBatch } from '../../src/storage/journal/batch-charges.ts'
import { sumMatching, type TotalsMatch } from '../../src/storage/journal/totals.ts'
import { createPool, Session } from '../../src/storage/postgres/connect.ts'
import { ask as query, type QueryProgram, type Row } from '../../src/storage/query.ts'
import { whole } from '../../src/storage/rows.ts'
import { Connection } from '../../src/storage/sqlite/connect.ts'
import { openDatabase } from '../harness/database.ts'
import { caseName } from '../harness/case-name.ts'
import { startPostgres } from '../harness/postgres.ts'
import { clockAt, facts, line, logRow, newKey } from '../contract/storage.ts'

const from = Date.UTC(2026, 10, 1)
/** About 14 hours of requests. */
const stepMs = 70_000
const pageRows = 48

/** Sells random requests: refused, looked up, of images and of text, charged immediately or late; some are refunded. */
async function sell(storage: Storage, clock: ReturnType<typeof clockAt>, count: number): Promise<readonly LogRow[]> {
  let state = 5
  const draw = (n: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * n)
  }
  await storage.users.create({ name: 'ada', group: 'partner', role: 'user', passwordHash: null })
  const keys: Key[] = []
  for (let i = 0; i < 4; i++)
    keys.push(await storage.keys.create(newKey(i % 2 ? { user: 'ada', group: 'partner' } : {})))
  const rows: LogRow[] = []
  const givenBack: string[] = []
  for (let i = 0; i < count; i++) {
    const begun = from + Math.floor((i * 700 * stepMs) / count) + draw(1_000)
    const key = keys[draw(4)] as Key
    const id = firstIdAt('req_', begun) + String(i).padStart(10, '0')
    const kind = ['refused', 'lookup', 'image', 'image', 'chat', 'chat', 'chat'][draw(7)] ?? ''
    const row = logRow({
      id,
      time: begun,
      keyId: key.id,
      user: key.user,
      group: key.user === 'ada' ? 'partner' : 'default',
      model: kind === 'lookup' ? null : `m${draw(3)}`,
      operation: kind === 'lookup' ? 'models.list' : kind === 'image' ? 'image.generate' : 'chat',
      upstream: kind === 'lookup' || kind === 'refused' ? null : (['alpha', 'beta'][draw(2)] ?? ''),
      status: kind === 'refused' ? 429 : kind === 'chat' && draw(20) === 0 ? 500 : 200,
      outcome: kind === 'refused' ? 'refused' : kind !== 'lookup' && draw(15) === 0 ? 'caller_gone' : 'answered',
    })
    const own = facts(key, {
      id,
      user: key.user,
      group: row.group ?? '',
      model: row.model ?? '',
      operation: row.operation,
      upstream: row.upstream ?? '',
      currency: draw(5) ? 'USD' : 'EUR',
      size: draw(3) ? '1024x1024' : '2048x1152',
    })
    const lines = Array.from({ length: 1 + draw(3) }, (_, at) =>
      line(at, { tier: ['1K', '4K'][draw(2)] ?? '', source: draw(2) ? 'request' : 'output', price: draw(90_000) }),
    )
    const counted = ['input', 'output'].map((tier, at) =>
      line(at, { tier, width: null, height: null, price: draw(900), quantity: 7 }),
    )
    // A body and an answer take time: near the end of a quarter hour many charges fall into the next one.
    clock.set(begun + draw(30_000))
    if (kind === 'image') {
      await storage.ledger.hold({ facts: own, hold: 400_000, idempotency: null })
      clock.set(clock.now() + draw(600_000))
      const fate = draw(9)
      if (fate === 0) await storage.ledger.void(id, 'refused')
      else if (fate === 1) {
        await storage.ledger.review(id, 'unknown')
        // A person decides at once, or after days.
        if (draw(2)) clock.set(clock.now() + 2 * 86_400_000)
        if (draw(2)) await storage.books.resolve(id, 'settle', 'ada', 'x', draw(2) * 777)
      } else {
        for (const each of lines) await storage.ledger.line(id, each)
        await storage.ledger.settle({ id, delivery: 'confirmed', reason: null })
        if (draw(5) === 0) storage.ledger.post({ ...own, id: `${id}.u`, size: null }, counted, 'confirmed')
      }
    }
    if (kind === 'chat') {
      // A request longer than a minute has rows of its own.
      if (draw(6) === 0) clock.set(begun + draw(7_200_000))
      storage.ledger.post({ ...own, size: null }, counted, 'confirmed')
    }
    storage.journal.append(row)
    rows.push(row)
    if (draw(9) === 0) givenBack.push(id)
    if (draw(30) === 0) await storage.flush()
  }
  await storage.flush()
  for (const id of givenBack) await storage.books.refund(id, 'ada', 'x')
  return rows
}

async function ledgerOf(storage: Storage): Promise<readonly Charge[]> {
  const all: Charge[] = []
  for (let after: string | null = null; ; after = all.at(-1)?.id ?? null) {
    const some = await storage.books.all(after, 500)
    all.push(...some)
    if (some.length < 500) return all
  }
}

type Sums = Omit<LogTotals, 'since' | 'next'>

/** The sum of the ledger, computed charge by charge. */
function countAll(rows: readonly LogRow[], ledger: readonly Charge[], match: LogMatch): Sums {
  const own = new Map(ledger.map(charge => [charge.id, charge]))
  const meant = rows.filter(row => isMeant(row, own, match))
  // A charge settled at 0 has no line.
  const charged = meant
    .flatMap(({ id }) => [own.get(id), own.get(`${id}.u`)])
    .filter(charge => charge?.state === 'settled' && charge.lines.length > 0) as Charge[]
  const currencies = [...new Set(charged.map(({ currency }) => currency))].toSorted()
  return {
    requests: meant.length,
    errors: meant.filter(({ status, outcome }) => (status ?? 0) >= 400 || outcome !== 'answered').length,
    charges: charged.length,
    images: charged.flatMap(({ lines }) => lines).filter(({ quantity }) => quantity === null).length,
    sums: currencies.map(currency => {
      const some = charged.filter(charge => charge.currency === currency)
      return {
        currency,
        amount: some.reduce((sum, { amount }) => sum + amount, 0),
        refunded: some.reduce((sum, { refunded }) => sum + refunded, 0),
      }
    }),
  }
}

function isMeant(row: LogRow, ledger: ReadonlyMap<string, Charge>, match: LogMatch): boolean {
  const { since = 0, until = Infinity, status, tier, size, source, otherSize, unit, refunded } = match
  const charge = ledger.get(row.id)
  const charges = [charge, ledger.get(`${row.id}.u`)].filter(one => one !== undefined)
  const images = charge?.lines.filter(({ quantity }) => quantity === null) ?? []
  return (
    row.time >= since &&
    row.time < until &&
    (match.lookups !== false || row.operation !== 'models.list') &&
    (['user', 'group', 'keyId', 'model', 'operation', 'upstream', 'outcome'] as const).every(
      name => match[name] === undefined || match[name] === row[name],
    ) &&
    (status === undefined || status === row.status || status === `${Math.floor((row.status ?? 0) / 100)}xx`) &&
    (match.charge === undefined || charge?.state === match.charge) &&
    (unit === undefined ||
      charges.some(({ lines }) => lines.some(line => line.quantity !== null && line.tier === unit))) &&
    (refunded === undefined || charges.some(one => one.refunded > 0) === refunded) &&
    ((tier === undefined && source === undefined && size === undefined && otherSize === undefined) ||
      images.some(
        image =>
          (otherSize === undefined || (charge?.size !== null && charge?.size !== `${image.width}x${image.height}`)) &&
          (tier === undefined || image.tier === tier) &&
          (source === undefined || image.source === source) &&
          (size === undefined || charge?.size === size),
      ))
  )
}

const word = <T extends string | number>(...values: readonly T[]) => fc.constantFrom(...values)
/** Each filter alone, with some of its values. */
const alone: readonly LogMatch[] = [
  { user: 'ada' },
  { user: 'local' },
  { group: 'partner' },
  { model: 'm1' },
  { operation: 'chat' },
  { operation: 'image.generate' },
  { upstream: 'alpha' },
  { status: 200 },
  { status: '4xx' },
  { outcome: 'answered' },
  { tier: '4K' },
  { source: 'request' },
  { source: 'output' },
  { size: '1024x1024' },
  { size: '2048x1152' },
  { otherSize: true },
  { unit: 'input' },
  { unit: 'decided' },
  { refunded: true },
  { refunded: false },
  { charge: 'settled' },
  { charge: 'voided' },
  { charge: 'needs_review' },
  { since: from + 7 * 900_000 + 1 },
  { until: from + 40 * 900_000 },
]

/** Each pair of filters: a list and its total match a plain check of each request. */
async function comparePairs(
  t: Test,
  storage: Storage,
  rows: readonly LogRow[],
  filters: readonly LogMatch[],
): Promise<void> {
  const own = new Map((await ledgerOf(storage)).map(charge => [charge.id, charge]))
  let some = 0
  for (const [i, one] of filters.entries())
    for (const other of filters.slice(i + 1)) {
      const match: LogMatch = { ...one, ...other }
      const meant = rows.filter(row => isMeant(row, own, match)).map(({ id }) => id)
      const found = await storage.journal.list({ ...match, limit: rows.length })
      const ids = found.map(({ row }) => row.id).toSorted()
      if (JSON.stringify(ids) !== JSON.stringify(meant.toSorted()))
        t.same(ids, meant.toSorted(), caseName({ match: JSON.stringify(match) }))
      const { requests } = await addAll(match, part => storage.journal.totals(part))
      if (requests !== meant.length)
        t.equal(requests, meant.length, caseName({ match: JSON.stringify(match), total: '' }))
      if (meant.length > 0) some++
    }
  t.ok(some > filters.length, caseName({ some }))
}

/**
 * Generates filters: some that the sums of the ledger can answer alone, and some that need requests and their charges.
 */
const filters = (rows: readonly LogRow[]): fc.Arbitrary<LogMatch> => {
  const shared = {
    user: word('ada', 'local', 'nobody'),
    group: word('default', 'partner'),
    keyId: fc.constantFrom(...new Set(rows.map(({ keyId }) => keyId ?? ''))),
    model: word('m0', 'm1', 'm9'),
    operation: word('chat', 'image.generate', 'models.list'),
  }
  const others = {
    upstream: word('alpha', 'beta'),
    status: word<200 | 429 | '2xx' | '4xx' | '5xx'>(200, 429, '2xx', '4xx', '5xx'),
    outcome: word<LogRow['outcome']>('answered', 'refused', 'caller_gone'),
    tier: word('1K', '4K'),
    source: word<'request' | 'output'>('request', 'output'),
    size: word('1024x1024', '2048x1152'),
    unit: word('input', 'output', 'decided'),
    refunded: fc.boolean(),
    charge: word<Charge['state']>('settled', 'voided', 'needs_review'),
  }
  const moment = fc.oneof(
    fc.nat(60 * 14 * 60_000),
    fc.nat(60).map(quarter => quarter * 900_000),
  )
  const time = fc.tuple(fc.option(moment), fc.option(moment)).map(([since, until]) => ({
    ...(since !== null && { since: from + since }),
    ...(until !== null && { until: from + until }),
  }))
  const few = { requiredKeys: [] } satisfies { requiredKeys: [] }
  return fc
    .tuple(fc.oneof(fc.record(shared, few), fc.record({ ...shared, ...others }, few)), time)
    .chain(([parts, span]) => {
      const names = Object.keys(parts) as (keyof typeof parts)[]
      // More than three filters together match almost nothing.
      return fc.shuffledSubarray(names, { maxLength: Math.min(names.length, 3) }).map(some => ({
        ...Object.fromEntries(some.map(name => [name, parts[name]])),
        ...span,
        ...(!some.includes('operation') && { lookups: false as const }),
      }))
    })
}

type Answer = LogTotals | Promise<LogTotals>

/** All pages of a filter together. */
async function addAll(
  match: LogMatch,
  ask: (match: TotalsMatch) => Answer,
): Promise<Sums & { readonly answers: number }> {
  const all = { requests: 0, errors: 0, charges: 0, images: 0, answers: 0 }
  const sums = new Map<string, { readonly currency: string; amount: number; refunded: number }>()
  for (let next: string | null | undefined; next !== null; ) {
    const answer = await ask({ ...match, ...(next !== undefined && { before: next }) })
    for (const name of ['requests', 'errors', 'charges', 'images'] as const) all[name] += answer[name]
    for (const { currency, amount, refunded } of answer.sums) {
      const sum = sums.get(currency) ?? { currency, amount: 0, refunded: 0 }
      sums.set(currency, { currency, amount: sum.amount + amount, refunded: sum.refunded + refunded })
    }
    all.answers++
    next = answer.next
  }
  return { ...all, sums: [...sums.values()].toSorted((a, b) => (a.currency < b.currency ? -1 : 1)) }
}

async function compare(
  t: Test,
  stage: string,
  wanted: ReadonlyMap<LogMatch, Sums>,
  ask: (match: TotalsMatch, most?: number) => Answer,
): Promise<void> {
  let answers = 0
  for (const [match, sums] of wanted) {
    const { answers: _, ...once } = await addAll(match, match => ask(match))
    t.same(once, sums, caseName({ stage, match }))
    const { answers: counted, ...inParts } = await addAll(match, match => ask(match, 40))
    t.same(inParts, sums, caseName({ stage, match, most: 40 }))
    answers += counted
  }
  t.ok(answers > wanted.size, caseName({ stage, answers }))
  t.ok(
    wanted
      .values()
      .filter(({ charges }) => charges > 0)
      .toArray().length >
      wanted.size / 3,
    'most find something',
  )
}

type Books = {
  read<T>(this: void, steps: QueryProgram<T>): T | Promise<T>
  write<T>(this: void, steps: QueryProgram<T>): T | Promise<T>
}

const later = from + 30 * 86_400_000

/** Stores the charged amounts of each page. @returns the number of pages */
async function keepAll({ read, write }: Books): Promise<number> {
  let kept = 0
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const found = await read(sumNextBatch({ at: later, before }))
    if (!found) return kept
    before = found.lastMs
    if (await write(writeBatchCharges(found))) kept++
  }
}

async function lookThrough({ write }: Books): Promise<void> {
  while ((await write(dropChanged(later))).places > 0);
}

/** The same with the amounts stored next to pages, and with charges of those pages that change. */
async function compareKept(
  t: Test,
  storage: Storage,
  own: Books,
  rows: readonly LogRow[],
  wanted: ReadonlyMap<LogMatch, Sums>,
  ask: (match: TotalsMatch, most?: number) => Answer,
): Promise<void> {
  const count = async (): Promise<number> =>
    whole((await own.read(oneRow('SELECT count(*) AS n FROM log_page_charge'))) ?? {}, 'n')
  await lookThrough(own)
  const pages = await keepAll(own)
  t.ok(pages > 3 && pages === (await count()), caseName({ pages }))
  await compare(t, 'kept beside pages', wanted, ask)
  // One page holds the whole result.
  t.equal((await ask({ status: '2xx' }, 400)).next, null)

  const givenBack: LogRow[] = []
  for (const row of rows.filter((_, at) => at % 9 === 0 && at < rows.length / 3))
    if ((await storage.books.refund(row.id, 'ada', 'late')) > 0) givenBack.push(row)
  t.ok(givenBack.length > 0, 'some were given back')
  const ledger = await ledgerOf(storage)
  const changed = new Map([...wanted.keys()].map(match => [match, countAll(rows, ledger, match)]))
  await compare(t, 'given back since', changed, ask)
  const before = await own.read(sumNextBatch({ at: later, before: Number.MAX_SAFE_INTEGER }))
  t.equal(before, null, 'all pages are kept')
  await lookThrough(own)
  const left = await count()
  t.ok(left < pages && left > 0, caseName({ left, pages }))
  await compare(t, 'what changed is gone', changed, ask)

  const found = await own.read(sumNextBatch({ at: later, before: Number.MAX_SAFE_INTEGER }))
  const id = ledger.find(({ state, refunded, amount }) => state === 'settled' && refunded === 0 && amount > 0)?.id ?? ''
  t.ok((await storage.books.refund(id, 'ada', 'meanwhile')) > 0)
  await lookThrough(own)
  t.equal(found && (await own.write(writeBatchCharges(found))), false, 'something changed since it was read')
  t.ok((await keepAll(own)) > 0)
  const again = await ledgerOf(storage)
  await compare(t, 'made anew', new Map([...wanted.keys()].map(match => [match, countAll(rows, again, match)])), ask)
}

function* oneRow(sql: string): QueryProgram<Row | undefined> {
  const [row] = yield query(sql)
  return row
}

function draw(rows: readonly LogRow[], ledger: readonly Charge[], numRuns: number): ReadonlyMap<LogMatch, Sums> {
  const drawn = [{ lookups: false }, {}, ...fc.sample(filters(rows), { numRuns, seed: 3 })] as readonly LogMatch[]
  return new Map(drawn.map(match => [match, countAll(rows, ledger, match)]))
}

t.test('totals of a filter equal the charges of its requests, in any number of answers', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-totals-'))
  const path = join(folder, 'tollgate.db')
  const clock = clockAt(from)
  const storage = await openDatabase({
    url: `sqlite:${path}`,
    clock,
    logPageRows: pageRows,
  })
  const connection = new Connection(path)
  t.teardown(async () => {
    connection.close()
    await storage.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const rows = await sell(storage, clock, 500)
  const wanted = draw(rows, await ledgerOf(storage), 70)
  const ask = (match: TotalsMatch, most?: number) => connection.snapshot(sumMatching(match, most))
  const addUp = (): number => connection.transact(() => connection.run(rollUpCosts()))

  await compare(t, 'nothing added up', wanted, ask)
  addUp()
  await compare(t, 'some of it', wanted, ask)
  while (addUp() > 0);
  await compare(t, 'all of it', wanted, ask)
  const own: Books = {
    read: steps => connection.snapshot(steps),
    write: steps => connection.transact(() => connection.run(steps)),
  }
  await compareKept(t, storage, own, rows, wanted, ask)
  await comparePairs(t, storage, rows, alone)
  for (const match of [...wanted.keys()].slice(0, 9))
    t.same(await storage.journal.totals(match), ask(match), caseName({ match, asked: 'of the storage' }))
  t.same(
    await storage.journal.totals({ model: 'none' }),
    { requests: 0, errors: 0, charges: 0, images: 0, sums: [], since: null, next: null },
    'nothing',
  )
})

t.test('the same on PostgreSQL', async t => {
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  const url = await postgres.createDatabase()
  const clock = clockAt(from)
  const storage = await openDatabase({ url, clock, logPageRows: pageRows })
  t.teardown(() => storage.close())
  const pool = createPool(url, 1)
  t.teardown(() => pool.end())
  const rows = await sell(storage, clock, 220)
  const wanted = draw(rows, await ledgerOf(storage), 24)
  const client = await pool.connect()
  t.teardown(() => client.release())
  const ask = (match: TotalsMatch, most?: number) => new Session(client).run(sumMatching(match, most))

  await compare(t, 'nothing added up', wanted, ask)
  await client.query('BEGIN')
  while ((await new Session(client).run(rollUpCosts())) > 0);
  await client.query('COMMIT')
  await compare(t, 'all of it', wanted, ask)
  const read: Books['read'] = steps => new Session(client).run(steps)
  const write: Books['write'] = async steps => {
    await client.query('BEGIN')
    const value = await new Session(client).run(steps)
    await client.query('COMMIT')
    return value
  }
  await compareKept(t, storage, { read, write }, rows, wanted, ask)
  await comparePairs(
    t,
    storage,
    rows,
    alone.filter(one => asksForCharge(one) || one.model !== undefined),
  )
  t.same(await storage.journal.totals({ user: 'ada' }), await ask({ user: 'ada' }), 'as the storage answers')
})

t.test('a page adds up totals from several answers', async t => {
  const sum = (currency: string, amount: string, refunded: string, net: string) => ({ currency, amount, refunded, net })
  const counts = { requests: 3, errors: 1, charges: 2, images: 0 }
  const newer = { ...counts, sums: [sum('USD', '0.300001', '0.10', '0.200001')], since: 'b', next: 'req_b' }
  const older = {
    ...counts,
    sums: [sum('EUR', '1.00', '0.00', '1.00'), sum('USD', '9007199254.740993', '0.00', '9007199254.740993')],
    since: null,
    next: null,
  }
  t.same(addTotals(newer, older), {
    requests: 6,
    errors: 2,
    charges: 4,
    images: 0,
    sums: [sum('EUR', '1.00', '0.00', '1.00'), sum('USD', '9007199255.040994', '0.10', '9007199254.940994')],
    since: null,
    next: null,
  })
})
