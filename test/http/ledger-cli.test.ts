import { writeFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import t from 'tap'
import { dropTriggers } from '../harness/drop-triggers.ts'
import { runCli } from '../harness/cli.ts'
import { picture } from '../harness/pictures.ts'
import { billed, openShop, type Shop } from '../harness/shop.ts'

const alpha = { model: 'alpha-image-2', prompt: 'a boat' }

function byHand(shop: Shop): DatabaseSync {
  return new DatabaseSync(join(shop.folder, 'tollgate.db'), { timeout: 5_000 })
}

t.test('ledger verify reports manual changes of the books, and exits with 1 [B18]', async t => {
  const shop = await openShop(t)
  shop.upstreams['alpha']?.answer({ data: [picture(1254, 1254), picture(3000, 10)] })
  for (let i = 0; i < 4; i++) await shop.ask({ ...alpha, n: 2 })
  await shop.settled()
  t.match(await runCli(shop, 'ledger', 'verify'), {
    code: 0,
    stdout: '',
    stderr: /^4 charges, 8 lines, 4 entries: 0 problems/,
  })
  t.match(await runCli(shop, 'ledger', 'replay'), { code: 0, stdout: '', stderr: /^4 charges replayed, 0 differ/ })
  const db = byHand(shop)
  // A process that can write the file can also drop its guards.
  dropTriggers(db)
  const ids = db
    .prepare('SELECT id FROM charge ORDER BY id')
    .all()
    .map(row => String(row['id']))
  const frauds: readonly [string, string, RegExp][] = [
    [
      'a row edited',
      `UPDATE line SET price = 1 WHERE charge_id = '${ids[0]}'`,
      new RegExp(`${ids[0]}: the sum of its lines is`),
    ],
    [
      'a line deleted',
      `DELETE FROM line WHERE charge_id = '${ids[1]}' AND idx = 0`,
      new RegExp(`${ids[1]}: 2 lines were committed, 1 exist`),
    ],
    [
      'entries in another order',
      'UPDATE entry SET position = -1 WHERE position = 3; UPDATE entry SET position = 3 WHERE position = 4; UPDATE entry SET position = 4 WHERE position = -1',
      /entries of gateway: 3 does not follow the one before/,
    ],
  ]
  for (const [name, sql, says] of frauds) {
    t.notMatch((await shop.gateway.storage.books.verify()).problems.join('\n'), says, `${name}: not yet`)
    db.exec(sql)
    t.match(await runCli(shop, 'ledger', 'verify'), { code: 1, stdout: says }, name)
  }
  t.match(
    await runCli(shop, 'ledger', 'replay', '--format', 'json'),
    { code: 1, stdout: new RegExp(`"id":"${ids[0]}"`) },
    'so does a price that its own facts do not give',
  )
  db.close()
})

t.test('[13.2] charges of answers cut off for unknown content are found, and refunded on request', async t => {
  const shop = await openShop(t)
  shop.upstreams['alpha']?.answer({ data: [picture(1254, 1254)] })
  for (let i = 0; i < 3; i++) await shop.ask(alpha)
  await shop.settled()
  const ids = (await shop.charges(3)).map(({ id }) => id)
  const db = byHand(shop)
  const triggers = dropTriggers(db)
  // In the form of earlier versions of the gateway.
  const ended = `delivery = 'partial', reason = 'answer_unrecognised: links.self (a link)'`
  db.exec(`UPDATE charge SET ${ended} WHERE id IN ('${ids[0]}', '${ids[1]}')`)
  for (const sql of triggers) db.exec(sql)
  db.close()
  const listed = await runCli(shop, 'ledger', 'find-withheld')
  t.match(listed, { code: 0, stderr: /2 charges, 0\.08 USD\. .*--refund/ })
  t.match(listed.stdout, /0\.04 USD +answer_unrecognised: links\.self/)
  t.notMatch(listed.stdout, String(ids[2]))
  const { stdout } = await runCli(shop, 'ledger', 'find-withheld', '--refund', '--format', 'json')
  const refunded = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as object)
  t.match(refunded, [
    { amount: '0.04', refunded: '0.04' },
    { amount: '0.04', refunded: '0.04' },
  ])
  t.match(await runCli(shop, 'ledger', 'find-withheld', '--refund'), { code: 0, stdout: '', stderr: /No charge/ })
  t.same(
    (await shop.charges(3)).map(charge => charge.refunded),
    ['0.04', '0.04', '0.00'],
  )
  // Verification finds exactly the manual changes above.
  const { problems } = await shop.gateway.storage.books.verify()
  t.ok(
    problems.every(problem => ids.slice(0, 2).some(id => problem.includes(id))),
    problems.join('; '),
  )
})

t.test('[6.6] an anchor stored elsewhere shows changes that the database alone cannot show', async t => {
  const shop = await openShop(t)
  shop.upstreams['alpha']?.answer({ data: [picture(1254, 1254)] })
  for (let i = 0; i < 3; i++) await shop.ask(alpha)
  await shop.settled()
  const { stdout } = await runCli(shop, 'ledger', 'anchor')
  t.match(JSON.parse(stdout), { chains: [{ chain: 'gateway', position: 3, head: /^[0-9a-f]{64}$/ }] })
  const kept = join(shop.folder, 'anchors.jsonl')
  await writeFile(kept, stdout + stdout)
  t.match(await runCli(shop, 'ledger', 'verify', '--anchor', kept), { code: 0, stderr: /compared with 2 anchors/ })

  const db = byHand(shop)
  dropTriggers(db)
  const last = '(SELECT max(id) FROM charge)'
  const less = 'SET spent = spent - 40000, day_spent = day_spent - 40000, month_spent = month_spent - 40000'
  db.exec(`UPDATE key ${less}; UPDATE account ${less};
    UPDATE chain SET position = 2, head = (SELECT prev_hash FROM entry WHERE position = 3) WHERE id = 'gateway';
    DELETE FROM entry WHERE charge_id = ${last}; DELETE FROM line WHERE charge_id = ${last};
    DELETE FROM charge WHERE id = ${last}`)
  db.close()
  t.match(await runCli(shop, 'ledger', 'verify'), { code: 0, stderr: /: 0 problems/ })
  t.match(await runCli(shop, 'ledger', 'verify', '--anchor', kept), {
    code: 1,
    stdout: /^anchor of \S+: entries of gateway: entry 3 is missing; the last entry is 2$/m,
  })

  await writeFile(kept, stdout.replace(/"database":"\w+"/, '"database":"00000000000001"'))
  t.match(await runCli(shop, 'ledger', 'verify', '--anchor', kept), { code: 1, stdout: /is of another database/ })
  await writeFile(kept, '\n')
  t.match(await runCli(shop, 'ledger', 'verify', '--anchor', kept), { code: 2, stderr: /the file contains no anchor/ })
  await writeFile(kept, 'x')
  t.match(await runCli(shop, 'ledger', 'verify', '--anchor', kept), { code: 2, stderr: /the file contains no anchor/ })
  await writeFile(kept, stdout.slice(0, 40))
  t.match(await runCli(shop, 'ledger', 'verify', '--anchor', kept), { code: 2, stderr: /line 1 is not JSON/ })
})

t.test('[6.2] a person settles a charge at an amount up to its hold', async t => {
  const shop = await openShop(t)
  const { key, id } = await shop.newKey({ budget: 1_000_000 })
  shop.upstreams['alpha']?.answer((_res, _got, req) => void req.socket.resetAndDestroy())
  const doubtful = await shop.ask(alpha, { key })
  await shop.settled()
  const settle = (...more: string[]) => runCli(shop, 'ledger', 'resolve', doubtful.id, ...more)
  t.match(await settle('--as', 'void', '--amount', '0.04'), { code: 2, stderr: /--as settle/ })
  t.match(await settle('--as', 'settle', '--amount', 'x'), { code: 2, stderr: /an amount such as 0\.04/ })
  t.match(await settle('--as', 'settle', '--amount', '99'), { code: 1, stderr: /it cannot be settled for more/ })
  t.match(await settle('--as', 'settle', '--amount', '0.03', '--reason', 'it came'), {
    code: 0,
    stderr: /at 0\.03 USD/,
  })
  t.match(await shop.charges(1), [{ state: 'settled', amount: '0.03', held: '0.00', flags: ['decided'] }])
  t.match(
    (await shop.gateway.storage.keys.list({ limit: 1_000 })).find(one => one.id === id),
    { spent: 30_000, held: 0 },
  )
  t.match(await runCli(shop, 'ledger', 'verify'), { code: 0 })
  t.match(await runCli(shop, 'ledger', 'replay'), { code: 0, stderr: /1 charges replayed, 0 differ/ })
})

billed(
  'the command line refunds and resolves next to the running gateway, once each, and the books remain valid',
  {},
  async (t, shop) => {
    const { key, id } = await shop.newKey({ budget: 1_000_000 })
    shop.upstreams['alpha']?.answer({ data: [picture(1254, 1254)] })
    const charged = await shop.ask(alpha, { key })
    shop.upstreams['alpha']?.answer((_res, _got, req) => void req.socket.resetAndDestroy())
    const doubtful = await shop.ask(alpha, { key })
    await shop.settled()
    t.match(await shop.charges(1), [{ id: doubtful.id, state: 'needs_review', amount: '0.00' }])

    const refund = (...more: readonly string[]) => runCli(shop, 'ledger', 'refund', charged.id, ...more)
    t.match(await refund('--amount', '0.050'), { code: 1, stderr: /0\.04 USD of charge \S+ is left.*Nothing was/ })
    t.match(await refund('--amount', '1e3'), { code: 2, stderr: /--amount 1e3: expected an amount/ })
    t.match(await refund('--amount', '0.00'), { code: 2, stderr: /expected an amount over 0/ })
    t.match(await refund('--amount', '0.01', '--refunded', '0'), { code: 0, stderr: /0\.01 USD .*; 0\.03 USD is left/ })
    t.match(await refund('--amount', '0.01', '--refunded', '0'), {
      code: 1,
      stderr: /0\.01 USD .* was refunded before/,
    })
    t.match(await refund('--reason', 'wrong boat'), { code: 0, stderr: /0\.03 USD of charge/ })
    t.match(await runCli(shop, 'ledger', 'refund', charged.id), { code: 1, stderr: /nothing left to refund/ })
    t.match((await runCli(shop, 'logs')).stdout, /0\.04 USD \(settled, 0\.04 refunded\)/, 'the log shows the refund')
    t.match(await runCli(shop, 'ledger', 'resolve', doubtful.id, '--as', 'void', '--reason', 'never came'), {
      code: 0,
      stderr: /is voided/,
    })
    t.match(await runCli(shop, 'ledger', 'resolve', doubtful.id), {
      code: 1,
      stderr: /not a charge waiting for review/,
    })
    t.match(await runCli(shop, 'ledger', 'verify'), { code: 0, stderr: /2 charges, 1 lines, 4 entries: 0 problems/ })

    t.match(
      (await shop.gateway.storage.keys.list({ limit: 1_000 })).find(one => one.id === id),
      { spent: 0, held: 0 },
    )
    t.match(await shop.charges(2), [
      { id: doubtful.id, state: 'voided', reason: 'never came', amount: '0.00' },
      { id: charged.id, state: 'settled', amount: '0.04', refunded: '0.04' },
    ])
    t.match(await (await shop.get(`/v1/charges/${charged.id}`, { authorization: `Bearer ${key}` })).json(), {
      refunded: '0.04',
    })
  },
)
