import { join } from 'node:path'
import t from 'tap'
import { commitMissing, unpackVersion } from '../harness/old-version.ts'
import { everyCommand, sqlitePlace, tryBesideOlder, tryRepair } from './migration.ts'

// `npm run test:migration` runs every command next to gateways of three commits, on both databases.

/** A version of schema 4, which has no accounts. */
const commit = 'aa3935b'
const skip = await commitMissing(commit)
/** Versions that migrated a database under a running gateway, and versions that work on an older schema. */
const tried = [
  'logs',
  'usage',
  'keys list',
  'keys create',
  'budgets',
  'events list',
  'ledger verify',
  'backup',
  'storage copy',
  'doctor',
]

await t.test('the migration matrix runs every command', async t => {
  const names = everyCommand().map(([name]) => name)
  for (const name of tried) t.ok(names.includes(name), name)
})

await t.test(
  'a command that reads the books of an older gateway keeps its schema, and its books balance',
  { skip },
  async t => {
    const folder = t.testdir()
    const old = await unpackVersion(commit, join(folder, 'old'))
    const commands = everyCommand().filter(([name]) => tried.includes(name))
    const found = await tryBesideOlder(old, sqlitePlace(join(folder, 'beside.db')), join(folder, 'beside'), commands)
    t.same(found.violations, [])
    t.same(found.worked, ['doctor', 'backup'], 'commands that do not need the schema work')
    t.equal(found.refused.length, tried.length - 3, 'all others say what to do; a copy is refused while a gateway runs')
    t.ok(found.requests > 20, `${found.requests} requests`)
    t.same(
      await tryRepair(old, sqlitePlace(join(folder, 'repair.db')), join(folder, 'repair')),
      [],
      'books that the fault has unbalanced are repaired',
    )
  },
)
