import * as fc from 'fast-check'
import t from 'tap'
import { usageSorts } from '../../src/cli/program.ts'
import { parseMoney, timeOfId } from '../../src/util/index.ts'
import { splitAmount } from '../../src/storage/ledger/split-amount.ts'
import { clockAt } from '../contract/storage.ts'
import { openDatabase } from '../harness/database.ts'
import { caseName } from '../harness/case-name.ts'
import { runMany } from '../harness/many-commands.ts'
import { makeBooks } from '../harness/random-books.ts'
import { seed } from '../harness/seed.ts'

const from = Date.UTC(2026, 9, 30, 20)

t.test('parts of an amount are whole, and add up to it', async t => {
  fc.assert(
    fc.property(fc.nat(), fc.array(fc.nat(10 ** 12), { minLength: 1, maxLength: 9 }), (amount, weights) => {
      const parts = splitAmount(amount, weights)
      t.equal(
        parts.reduce((all, one) => all + one, 0),
        amount,
      )
      t.ok(parts.every(part => Number.isSafeInteger(part) && part >= 0))
    }),
    { numRuns: 50, seed },
  )
  t.strictSame(splitAmount(70_000, [30_000, 40_000]), [30_000, 40_000])
  t.strictSame(splitAmount(5, [0, 0]), [0, 5])
})

t.test(`every sum of random charges with refunds equals the ledger's, to the micro-unit (seed ${seed})`, async t => {
  const folder = t.testdir()
  const clock = clockAt(from)
  const storage = await openDatabase({ url: `sqlite:${folder}/tollgate.db`, clock })
  t.teardown(() => storage.close())
  const made = (await makeBooks(storage, clock, { seed, count: 400, stepMs: 20 * 60_000 })).filter(
    ({ amount }) => amount > 0,
  )
  t.strictSame((await storage.books.verify()).problems, [])
  t.ok(made.some(one => one.refundedAt !== undefined) && made.length > 300)

  const totals = (some: typeof made, currency: string) => {
    const own = some.filter(one => one.currency === currency)
    const back = own.filter(one => one.refundedAt !== undefined)
    const sum = (all: typeof made): number => all.reduce((total, { amount }) => total + amount, 0)
    return { requests: own.length, amount: sum(own), refunded: sum(back) }
  }
  const spans = [
    { since: from, until: clock.now() + 1 },
    { since: from + 86_400_000, until: from + 3 * 86_400_000 },
  ]
  const words = spans.flatMap(({ since, until }) =>
    usageSorts.map(by => [
      '--by',
      by,
      '--since',
      new Date(since).toISOString(),
      '--until',
      new Date(until).toISOString(),
    ]),
  )
  const ran = await runMany(
    { folder },
    words.map(some => ['usage', '--format', 'json', '-c', 'CONFIG', ...some]),
  )
  for (const [i, { stdout, code }] of ran.entries()) {
    const by = usageSorts[i % usageSorts.length] ?? 'day'
    const { since, until } = spans[Math.floor(i / usageSorts.length)] as (typeof spans)[number]
    const rows = stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as { [name: string]: string | number })
    const meant = made.filter(({ id }) => {
      const begun = timeOfId('req_', id)
      return begun >= since && begun < until
    })
    t.equal(code, 0, caseName({ i, stdout, code }))
    for (const currency of ['USD', 'EUR']) {
      const own = rows.filter(row => row['currency'] === currency)
      const sum = (name: string): number =>
        own.reduce((all, row) => all + (parseMoney(String(row[name])) ?? Number.NaN), 0)
      const wanted = totals(meant, currency)
      t.strictSame(
        { amount: sum('amount'), refunded: sum('refunded') },
        { amount: wanted.amount, refunded: wanted.refunded },
        caseName({ by, currency, since }),
      )
      const requests = own.reduce((all, row) => all + Number(row['requests']), 0)
      // Costs by end user and by tag count charges.
      if (by === 'end_user' || by === 'tag') t.ok(own.length > 0, caseName({ by, currency }))
      else if (by === 'tier') t.ok(requests >= wanted.requests, caseName({ currency }))
      else t.equal(requests, wanted.requests, caseName({ by, currency }))
    }
  }
  const of = (by: string): string => ran[usageSorts.indexOf(by as 'day')]?.stdout ?? ''
  t.match(of('upstream'), /"upstream":"alpha","currency":"USD","requests":\d+,"images":[1-9]/)
  t.match(of('group'), /"group":"partner"/)
  t.match(of('tier'), /"tier":"2K","currency":"USD","requests":\d+,"images":[1-9]\d*,"quantity":0/)
  t.match(of('tier'), /"tier":"output","currency":"USD","requests":\d+,"images":0,"quantity":[1-9]/)
})
