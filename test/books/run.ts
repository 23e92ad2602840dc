import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../harness/postgres.ts'
import { newSeed } from '../harness/seed.ts'
import { chargeSmallUse } from './small-charges.ts'

/**
 * A million small charges on each database: `CHARGES=1000000 KEYS=100 SEED=… npm run test:charges`. Exits 1 on a fault.
 */
const charges = Number(process.env['CHARGES'] ?? 1_000_000)
const keys = Number(process.env['KEYS'] ?? 100)
const seed = Number(process.env['SEED'] ?? newSeed())
const folder = mkdtempSync(join(tmpdir(), 'tollgate-charges-'))
const postgres = await startPostgres(['fsync=off'])
try {
  for (const [name, database] of [
    ['SQLite', `sqlite:${join(folder, 'books.db')}`],
    ['PostgreSQL', await postgres.createDatabase()],
  ] as const) {
    const begun = performance.now()
    const { wrong, replayed, problems, ...sums } = await chargeSmallUse({ database, charges, keys, seed })
    const seconds = Math.round((performance.now() - begun) / 1000)
    console.log(`${name}, seed ${seed}, ${seconds} s: ${JSON.stringify({ ...sums, problems })}`)
    for (const fault of [...wrong, ...replayed].slice(0, 20)) console.log(`  ${fault}`)
    if (wrong.length + replayed.length + problems > 0) process.exitCode = 1
  }
} finally {
  await postgres.close()
  rmSync(folder, { recursive: true, force: true })
}
