import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Key, Storage } from '../../src/domain/index.ts'
import { Connection } from '../../src/storage/sqlite/connect.ts'
import { foldCosts } from '../../src/storage/costs/fold.ts'
import { rollUpCosts } from '../../src/storage/costs/roll-up.ts'
import { facts, line, newKey } from '../contract/storage.ts'
import { systemClock } from '../../src/util/index.ts'
import { openDatabase } from '../harness/database.ts'
import { caseName } from '../harness/case-name.ts'

/** A clock whose repeated work runs when the test calls it. */
function createPacedClock() {
  const chores: (() => void)[] = []
  const clock = {
    ...systemClock,
    every(_ms: number, chore: () => void) {
      chores.push(chore)
      return { cancel() {} }
    },
  }
  return { clock, runChores: () => chores.forEach(chore => chore()) }
}

async function open(t: Test, onCommit?: (change: string) => void) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-cost-steps-'))
  const path = join(folder, 'tollgate.db')
  const { clock, runChores } = createPacedClock()
  const storage = await openDatabase({ url: `sqlite:${path}`, clock, ...(onCommit && { onCommit }) })
  const connection = new Connection(path)
  t.teardown(async () => {
    connection.close()
    await storage.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const key = await storage.keys.create(newKey())
  return { storage, connection, key, runChores }
}

const dayMs = 86_400_000
const tokens = { tier: 'input', width: null, height: null, quantity: 7 }

function post(storage: Storage, key: Key, count: number, nameModel: (i: number) => string): void {
  for (let i = 0; i < count; i++)
    storage.ledger.post(facts(key, { model: nameModel(i) }), [line(0, tokens)], 'confirmed')
}

/** The size of a group of charges: a step ends with the group that reaches its limit. */
const groupMax = 256

const shapes = [
  {
    name: 'charges that share no sum',
    nameModel: (i: number) => `model ${i}`,
    count: 5_000,
    stepMax: 2_000 + groupMax,
  },
  { name: 'charges of one sum', nameModel: () => 'model', count: 24_000, stepMax: 10_000 + groupMax },
]
for (const { name, nameModel, count, stepMax } of shapes)
  t.test(`a step of the cost sums is limited, with ${name}`, async t => {
    const { storage, connection, key } = await open(t)
    post(storage, key, count, nameModel)
    await storage.flush()
    let added = 0
    for (let step = 1; added < count; step++) {
      const charges = connection.transact(() => connection.run(rollUpCosts()))
      t.ok(charges > 0 && charges <= stepMax, caseName({ step, charges }))
      if (charges === 0) return
      added += charges
    }
    t.equal(added, count)
    t.equal(
      connection.transact(() => connection.run(rollUpCosts())),
      0,
    )
    t.same((await storage.books.verify()).sums, [])
  })

t.test('every charge that waits is written before the next step of the cost sums', async t => {
  const steps: { readonly posted: number; readonly written: number }[] = []
  let posted = 0
  const { storage, connection, key, runChores } = await open(t, change => {
    if (change !== 'rollUpCosts' || steps.length > 4) return
    const [row] = connection.all({ sql: 'SELECT coalesce(sum(count), 0) AS written FROM segment', params: [] })
    steps.push({ posted, written: Number(row?.['written']) })
    // While a step runs, more charges arrive than one commit writes.
    post(storage, key, 8 * groupMax, i => `model ${posted + i}`)
    posted += 8 * groupMax
  })
  post(storage, key, 1, () => 'model')
  posted++
  await storage.flush()
  runChores()
  while (steps.length < 5) await new Promise(resolve => setImmediate(resolve))
  for (const [step, { posted, written }] of steps.entries()) t.equal(written, posted, caseName({ step }))
})

t.test('a tool pauses between steps longer than SQLite waits before it looks again for a lock', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-cost-steps-'))
  const url = `sqlite:${join(folder, 'tollgate.db')}`
  const pauses: number[] = []
  const clock = {
    ...systemClock,
    tick: () => 0,
    async sleep(ms: number) {
      pauses.push(ms)
    },
  }
  const tool = await openDatabase({ url, clock, role: 'tool' })
  t.teardown(async () => {
    await tool.close()
    rmSync(folder, { recursive: true, force: true })
  })
  let steps = 1
  for (let state = await tool.books.rebuildCosts(); !state.isDone; steps++) state = await tool.books.rebuildCosts(state)
  t.ok(steps > 2, caseName({ steps }))
  t.equal(pauses.length, steps - 1)
  for (const [i, ms] of pauses.entries()) t.ok(ms > 100 && ms < 200, caseName({ i, ms }))
})

t.test('a sum is written once, for its quarter of an hour, until the longer spans are over', async t => {
  const { storage, connection, key } = await open(t)
  post(storage, key, 200, i => `model ${i}`)
  await storage.flush()
  while (connection.transact(() => connection.run(rollUpCosts())) > 0);
  const [all] = connection.all({ sql: 'SELECT count(*) AS sums FROM cost_place_sum', params: [] })
  const [quarters] = connection.all({
    sql: 'SELECT count(*) AS sums, count(DISTINCT place) AS places FROM cost_place_sum WHERE span % 8 = 0',
    params: [],
  })
  t.ok(Number(quarters?.['places']) >= 600)
  t.equal(all?.['sums'], quarters?.['sums'])
})

t.test('a charge that comes while its long spans are being written is in each of them', async t => {
  const { storage, connection, key } = await open(t)
  const addUp = async (): Promise<void> => {
    post(storage, key, 2, i => `model ${i}`)
    await storage.flush()
    while (connection.transact(() => connection.run(rollUpCosts())) > 0);
  }
  await addUp()
  const fold = (): boolean =>
    connection.transact(() => connection.run(foldCosts(Date.now() + 40 * dayMs, { names: 1, places: 1 })))
  let steps = 0
  for (; fold(); steps++) await addUp()
  t.ok(steps > 40, caseName({ steps }))
  const lengths = connection.all({
    sql: `SELECT span % 8 AS length, sum(firsts) AS charges FROM cost_part_sum WHERE part = '' GROUP BY 1 ORDER BY 1`,
    params: [],
  })
  t.same(
    lengths,
    [0, 1, 2, 3, 4].map(length => ({ length, charges: 2 * (steps + 1) })),
  )
  t.same((await storage.books.verify()).sums, [])
})
