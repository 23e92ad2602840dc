import { join } from 'node:path'
import t from 'tap'
import { startPostgres } from '../harness/postgres.ts'
import { seed } from '../harness/seed.ts'
import { chargeSmallUse } from './small-charges.ts'

// The short run of `npm run test:charges`.
const postgres = await startPostgres(['fsync=off'])
t.teardown(() => postgres.close())

t.test('the sum of small charges is exact within one micro-unit for each key', async t => {
  const charges = 3000
  for (const database of [`sqlite:${join(t.testdir(), 'books.db')}`, await postgres.createDatabase()]) {
    const name = new URL(database).protocol
    const { stored, zero, differenceMax, ...faults } = await chargeSmallUse({ database, charges, keys: 12, seed })
    t.strictSame(faults, { wrong: [], replayed: [], problems: 0 }, name)
    t.ok(differenceMax <= 0.5, `${name} the largest difference of a key is ${differenceMax}`)
    t.ok(zero > charges / 10 && zero < stored, `${name} ${zero} of ${stored} charges are 0 micro-units`)
  }
})
