import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { readMonth, type showAccount } from '../../src/domain/index.ts'
import type { showStatementTotal } from '../../src/domain/statement-total.ts'
import { parseMoney } from '../../src/util/index.ts'
import { clockAt } from '../contract/storage.ts'
import { openDatabase } from '../harness/database.ts'
import { caseName } from '../harness/case-name.ts'
import { runMany } from '../harness/many-commands.ts'
import { type Made, makeBooks } from '../harness/random-books.ts'
import { seed } from '../harness/seed.ts'

type Account = ReturnType<typeof showAccount>
const micros = (text: string): number => parseMoney(text) ?? Number.NaN
const sum = (all: readonly Made[]): number => all.reduce((total, { amount }) => total + amount, 0)

t.test(`statements of random charges with refunds equal the charges and the ledger (seed ${seed})`, async t => {
  const folder = t.testdir()
  const clock = clockAt(Date.UTC(2026, 9, 30, 20))
  const storage = await openDatabase({ url: `sqlite:${folder}/tollgate.db`, clock })
  t.teardown(() => storage.close())
  const made = (await makeBooks(storage, clock, { seed, count: 400, stepMs: 14 * 60_000 })).filter(
    one => one.amount > 0,
  )
  t.ok(
    new Date(clock.now()).getUTCMonth() === 10 &&
      made.some(one => (one.refundedAt ?? 0) > Date.UTC(2026, 10) && one.at < Date.UTC(2026, 10)),
  )

  const periods = ['2026-09', '2026-10', '2026-11'].flatMap(month =>
    ['UTC', 'Pacific/Auckland'].map(zone => [month, zone] as const),
  )
  const command = (month: string, ...more: readonly string[]) => [
    'statement',
    '--month',
    month,
    '-c',
    'CONFIG',
    ...more,
  ]
  const ran = await runMany(
    { folder },
    periods.map(([month, zone]) => command(month, '--zone', zone, '--format', 'json')),
  )
  let differ = 0
  for (const [i, [month, zone]] of periods.entries()) {
    const { from, until } = readMonth(month, zone) as { from: number; until: number }
    const statement = JSON.parse(ran[i]?.stdout ?? '') as {
      reconciled: boolean
      totals: readonly ReturnType<typeof showStatementTotal>[]
      accounts: readonly Account[]
    }
    const question = { since: from, until, bars: [from], by: null, where: {} }
    for (const { currency, ...costs } of (await storage.journal.costs(question)).rows) {
      const total = statement.totals.find(one => one.currency === currency)
      t.equal(total && micros(total.costs), costs.amount - costs.refunded, caseName({ month, zone, currency }))
      if (total && micros(total.costs) !== micros(total.net)) differ++
    }
    for (const total of statement.totals) {
      const of = (name: 'opening' | 'charged' | 'refunded' | 'closing' | 'refunded_earlier' | 'refunded_later') =>
        statement.accounts.reduce((all, one) => all + (one.currency === total.currency ? micros(one[name]) : 0), 0)
      for (const name of ['opening', 'charged', 'refunded', 'closing', 'refunded_earlier', 'refunded_later'] as const)
        t.equal(micros(total[name]), of(name), caseName({ month, zone, currency: total.currency, name }))
      t.equal(
        micros(total.costs),
        micros(total.net) + micros(total.refunded_earlier) - micros(total.refunded_later),
        caseName({ month, zone, currency: total.currency }),
      )
    }
    t.equal(ran[i]?.code, 0, caseName({ i, month, zone }))
    t.ok(statement.reconciled, caseName({ i, month, zone }))
    const within = (at: number | undefined): boolean => at !== undefined && at >= from && at < until
    t.match(
      ran[i]?.stderr,
      new RegExp(`reconciled: ${made.filter(one => within(one.at)).length} charges?"`),
      caseName({ i, month, zone }),
    )
    const names = new Set(made.filter(one => one.at < until).map(one => `${one.user}\n${one.group}\n${one.currency}`))
    t.ok(statement.accounts.length <= names.size, caseName({ i, month, zone }))
    for (const name of names) {
      const own = made.filter(one => `${one.user}\n${one.group}\n${one.currency}` === name)
      const before = own.filter(one => one.at < from)
      const opening = sum(before) - sum(before.filter(one => (one.refundedAt ?? Infinity) < from))
      const charged = sum(own.filter(one => within(one.at)))
      const refunded = sum(own.filter(one => within(one.refundedAt)))
      const account = statement.accounts.find(one => `${one.user}\n${one.group}\n${one.currency}` === name)
      if (opening + charged + refunded === 0) continue
      const found = account && [account.opening, account.charged, account.refunded, account.closing].map(micros)
      t.strictSame(found, [opening, charged, refunded, opening + charged - refunded], caseName({ month, zone, name }))
      const lines = account?.lines ?? []
      t.equal(
        lines.reduce((all, one) => all + micros(one.charged), 0),
        charged,
        caseName({ name }),
      )
      t.equal(
        lines.reduce((all, one) => all + micros(one.refunded), 0),
        refunded,
        caseName({ name }),
      )
    }
  }

  await t.test('split by tag or end user, the rows add up to the costs of the whole month', async t => {
    const november = (...more: readonly string[]) => command('2026-11', ...more)
    const [json, ofUser, table, sheet, page, byEndUser, refused] = await runMany({ folder }, [
      november('--by', 'tag', '--format', 'json'),
      november('--by', 'tag', '--format', 'json', '--user', 'ada', '--group', 'default'),
      november('--by', 'tag'),
      november('--by', 'tag', '--format', 'csv'),
      november('--by', 'tag', '--format', 'html'),
      november('--by', 'end_user', '--format', 'json'),
      november('--by', 'tag', '--balances'),
    ])
    type Told = {
      readonly by: string
      readonly totals: readonly ReturnType<typeof showStatementTotal>[]
      readonly labels: readonly { label: string | null; currency: string; charges: number; costs: string }[]
    }
    for (const [what, ran] of Object.entries({ json, ofUser, byEndUser })) {
      const { totals, labels } = JSON.parse(ran?.stdout ?? '') as Told
      t.ok(totals.length > 0, caseName({ what }))
      for (const { currency, costs, charges } of totals) {
        // Each of these charges has at most one tag.
        const own = labels.filter(one => one.currency === currency)
        const add = (of: (one: (typeof own)[number]) => number) => own.reduce((all, one) => all + of(one), 0)
        t.equal(
          add(one => micros(one.costs)),
          micros(costs),
          caseName({ what, currency }),
        )
        t.ok(add(one => one.charges) >= charges, caseName({ what, currency, charges }))
        t.equal(own.at(-1)?.label, null, 'charges without a label are last')
      }
    }
    const { labels, by } = JSON.parse(json?.stdout ?? '') as Told
    t.equal(by, 'tag')
    t.same(new Set(labels.map(({ label }) => label)), new Set(['web', 'batch', null]))
    t.match(table?.stdout, /2026-11 {2}by tag\n\nTAG +CURRENCY +CHARGES[^]*\n\(without label\) +USD/)
    t.match(sheet?.stdout, /^month,tag,currency,charges,charged,refunded,costs\n2026-11,/)
    t.match(page?.stdout, /<h2>By tag<\/h2>[^]*<em>without label<\/em>/)
    t.match(refused, { code: 2, stderr: /--by splits charges, not --balances/ })
  })

  await t.test('a statement of one end user or tag has exactly the charges and refunds with that label', async t => {
    const cases = [
      { tag: 'web' },
      { endUser: 'gil' },
      { tag: 'batch', endUser: 'hana' },
      { endUser: 'gil', user: 'ada' },
      { tag: 'nobody' },
    ] as const
    const flags = { tag: '--tag', endUser: '--end-user', user: '--user' }
    const ran = await runMany({ folder }, [
      ...cases.map(of =>
        command(
          '2026-11',
          '--format',
          'json',
          ...Object.entries(of).flatMap(([name, value]) => [flags[name as keyof typeof flags], value]),
        ),
      ),
      command('2026-11', '--tag', 'web'),
      command('2026-11', '--tag', 'web', '--end-user', 'gil', '--format', 'html'),
      command('2026-11', '--tag', 'web', '--by', 'end_user'),
      command('2026-11', '--end-user', 'gil', '--balances'),
    ])
    const { from, until } = readMonth('2026-11', 'UTC') as { from: number; until: number }
    const within = (at: number | undefined): boolean => at !== undefined && at >= from && at < until
    for (const [i, of] of cases.entries()) {
      const statement = JSON.parse(ran[i]?.stdout ?? '') as {
        reconciled: boolean
        tag: string | null
        end_user: string | null
        totals: readonly ReturnType<typeof showStatementTotal>[]
        accounts: readonly Account[]
        balances: readonly unknown[]
      }
      const { tag, endUser, user }: { tag?: string; endUser?: string; user?: string } = of
      const at = caseName(of)
      t.match(statement, { reconciled: true, tag: tag ?? null, end_user: endUser ?? null, balances: [] }, at)
      const own = made.filter(
        one =>
          (tag ?? one.tag) === one.tag && (endUser ?? one.endUser) === one.endUser && (user ?? one.user) === one.user,
      )
      t.equal(own.length > 0, tag !== 'nobody', at)
      for (const currency of ['USD', 'EUR']) {
        const all = own.filter(one => one.currency === currency)
        const before = all.filter(one => one.at < from)
        const opening = sum(before) - sum(before.filter(one => (one.refundedAt ?? Infinity) < from))
        const charged = sum(all.filter(one => within(one.at)))
        const refunded = sum(all.filter(one => within(one.refundedAt)))
        const accounts = statement.accounts.filter(one => one.currency === currency)
        const add = (amount: (one: Account) => number) => accounts.reduce((total, one) => total + amount(one), 0)
        t.strictSame(
          [add(one => micros(one.opening)), add(one => micros(one.charged)), add(one => micros(one.refunded))],
          [opening, charged, refunded],
          caseName({ ...of, currency }),
        )
        t.equal(
          add(({ lines }) => lines.reduce((total, line) => total + micros(line.charged) - micros(line.refunded), 0)),
          charged - refunded,
          caseName({ ...of, currency, what: 'lines' }),
        )
        if (tag !== undefined && endUser !== undefined) continue
        const where = {
          ...(tag !== undefined && { tag }),
          ...(endUser !== undefined && { end_user: endUser }),
          ...(user !== undefined && { user }),
        }
        const costs = await storage.journal.costs({ since: from, until, bars: [from], by: null, where })
        const row = costs.rows.find(one => one.currency === currency)
        const total = statement.totals.find(one => one.currency === currency)
        t.equal(
          total ? micros(total.costs) : 0,
          row ? row.amount - row.refunded : 0,
          caseName({ ...of, currency, what: 'costs' }),
        )
      }
    }
    const [table, page, split, balances] = ran.slice(cases.length)
    t.match(table?.stdout, /^Only charges with tag web\n\n2026-11 /)
    t.match(page?.stdout, /<p>Only charges of end user gil and with tag web<\/p>/)
    t.match(split, { code: 2, stderr: /has no --by: omit one/ })
    t.match(balances, { code: 2, stderr: /has no --balances: omit one/ })
  })

  t.ok(differ > 0, 'some refunds are in another month than their charge')

  await t.test('as a table, as CSV, as a page: names are text everywhere', async t => {
    const [table, sheet, page, own] = await runMany({ folder }, [
      command('2026-11'),
      command('2026-11', '--format', 'csv'),
      command('2026-11', '--format', 'html'),
      command('2026-11', '--format', 'csv', '--user', 'ada', '--group', 'default'),
    ])
    t.match(
      table?.stdout,
      /^2026-11 {2}<b>eve<\/b> in group \S+: opening \S+, charged \S+, refunded \S+, closing \S+ (?:USD|EUR)\n\nMODEL +TIER/,
    )
    const rows = sheet?.stdout.trim().split('\n') ?? []
    t.equal(
      rows[0],
      'month,user,group,currency,model,tier,images,quantity,opening,charged,refunded,closing,refunded_earlier,refunded_later,costs',
    )
    t.ok(
      rows.some(row => /^2026-11,,,USD,,,,,\S+$/.test(row)),
      'and a grand total',
    )
    t.match(table?.stdout, /total\n\nCURRENCY +OPENING +CHARGED/)
    t.match(page?.stdout, /<h2>Total<\/h2>[^]*Costs of the month/)
    t.ok(rows.some(row => row.startsWith("2026-11,'=cmd|calc,")))
    t.notOk(rows.some(row => /(?:^|,)=/.test(row)))
    t.match(page?.stdout, /^<!doctype html>[^]*&lt;b&gt;eve&lt;\/b&gt;[^]*@media print|@media print[^]*&lt;b&gt;eve/)
    t.notMatch(page?.stdout, /<script|<b>eve|src=|href=/)
    t.match(page?.stdout, /<p>reconciled: \d+ charges<\/p>/)
    const others = own?.stdout
      .trim()
      .split('\n')
      .slice(1)
      .filter(row => !row.startsWith('2026-11,ada,default,'))
    t.strictSame(others, [])
    t.ok((own?.stdout.split('\n').length ?? 0) > 5)
  })

  await t.test('prepaid balances come last, or alone, as a table, as CSV, on the page and as JSON', async t => {
    await storage.users.topUp('=cmd|calc', 2_500_000, 'cash', 'boss')
    await storage.users.topUp('ada', 1_000_001, null, 'boss')
    const month = new Date(clock.now()).toISOString().slice(0, 7)
    const [table, alone, sheet, page, json, own] = await runMany({ folder }, [
      command(month),
      command(month, '--balances'),
      command(month, '--balances', '--format', 'csv'),
      command(month, '--format', 'html'),
      command(month, '--balances', '--format', 'json', '--group', 'default'),
      command(month, '--balances', '--user', 'bob'),
    ])
    t.match(table?.stdout, /MODEL +TIER[^]*prepaid balances in USD\n\nUSER +GROUP +OPENING +PAID IN/)
    t.match(
      alone?.stdout,
      /^\n?\S+ {2}prepaid balances in USD\n\nUSER[^]*\nada +default +0\.00 +1\.000001 +0\.00 +0\.00 +1\.000001/,
    )
    t.notMatch(alone?.stdout, 'MODEL')
    t.strictSame(sheet?.stdout.trim().split('\n'), [
      'month,user,group,currency,opening,topups,topped_up,charged,refunded,closing',
      `${month},'=cmd|calc,default,USD,0.00,1,2.50,0.00,0.00,2.50`,
      `${month},ada,default,USD,0.00,1,1.000001,0.00,0.00,1.000001`,
    ])
    t.match(page?.stdout, /<h2>Prepaid balances<\/h2>[^]*<td>ada<\/td><td>default<\/td>.*1\.000001/)
    t.match(JSON.parse(json?.stdout ?? ''), {
      reconciled: true,
      accounts: [],
      currency: 'USD',
      balances: [
        { user: '=cmd|calc', topups: 1, topped_up: '2.50' },
        { user: 'ada', closing: '1.000001' },
      ],
    })
    t.match(own, { code: 0, stdout: '', stderr: /there are no prepaid balances/ })
  })

  await t.test('an invalid month is refused, and disagreeing books are reported with the difference', async t => {
    await storage.flush()
    const db = new DatabaseSync(`${folder}/tollgate.db`, { timeout: 5_000 })
    db.exec('DROP TRIGGER entry_stays')
    const row = db.prepare(
      `SELECT charge_id, amount FROM entry WHERE kind = 'settle' AND created_at >= ? ORDER BY position LIMIT 1`,
    )
    const gone = row.get(Date.UTC(2026, 10)) as { charge_id: string; amount: number }
    db.prepare('DELETE FROM entry WHERE charge_id = ?').run(gone.charge_id)
    db.close()
    const [wrong, left, differs] = await runMany({ folder }, [
      command('2026-13'),
      command('2026-11', '--zone', 'Mars'),
      command('2026-11'),
    ])
    t.match(wrong, { code: 2, stderr: /--month 2026-13: expected a month such as 2026-11/ })
    t.match(left, { code: 2, stderr: /--zone Mars/ })
    t.match(differs, {
      code: 1,
      stderr:
        /^NOT reconciled\ncharges: the sum of the charges is \d+, the sum of the ledger's entries is \d+\ncharged: /m,
    })
  })
})
