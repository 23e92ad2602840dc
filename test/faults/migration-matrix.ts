import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commitMissing, unpackVersion } from '../harness/old-version.ts'
import { startPostgres } from '../harness/postgres.ts'
import { postgresPlace, sqlitePlace, tryBesideOlder, tryFrozen, tryRepair } from './migration.ts'
import { runScript } from './run-script.ts'

// `npm run test:migration [-- COMMIT …]`: runs every command, a migration and a newer gateway next to a writing gateway
// of each commit, on SQLite and on PostgreSQL; repairs the fault unbalanced; and checks that a migration waits for a
// gateway that was frozen for longer than its lease. The figures as one line of JSON; a broken promise is exit 1.

/** Schemas 4, 11 and 25. */
const usual = ['aa3935b', '1bed2399', '534a16c5']
/** Earlier schemas have no accounts that could be unbalanced. */
const accountsSince = 15
let placed = 0

await runScript(async t => {
  const named = process.argv.slice(2)
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-migration-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  const figures: { [name: string]: unknown } = {}
  const violations: string[] = []
  for (const commit of named.length > 0 ? named : usual) {
    const missing = await commitMissing(commit)
    if (missing !== false) throw new Error(missing)
    const old = await unpackVersion(commit, join(folder, commit))
    for (const [database, place] of [
      ['SQLite', async () => sqlitePlace(join(folder, `${commit}-${placed++}.db`))],
      ['PostgreSQL', () => postgresPlace(postgres)],
    ] as const) {
      const name = `${commit} ${database}`
      const own = join(folder, name)
      const found = await tryBesideOlder(old, await place(), own)
      const wrong = [...found.violations]
      const repaired = await place()
      const { key } = await old.createKey(repaired.url, 'first')
      if (key !== '' && (await repaired.schema()) < accountsSince) wrong.push(...(await tryRepair(old, repaired, own)))
      if (database === 'PostgreSQL' && found.refused.length > 0)
        wrong.push(...(await tryFrozen(old, await postgresPlace(postgres), own)))
      violations.push(...wrong.map(one => `${name}: ${one}`))
      const { requests, commands, worked, refused } = found
      figures[name] = { requests, commands, worked: worked.length, refused: refused.length, violations: wrong.length }
      process.stderr.write(`${name}: ${JSON.stringify(figures[name])}\n`)
      for (const one of wrong) process.stderr.write(`  ${one}\n`)
    }
  }
  return { ...figures, violations }
})
