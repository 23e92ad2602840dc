import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { Connection } from '../../src/storage/sqlite/connect.ts'
import { migrate } from '../../src/storage/sqlite/migrate.ts'
import { layDatabase } from '../harness/database.ts'

/** The content of a file without what differs between any two: the identity, and the time of its first user. */
function read(path: string) {
  const database = new DatabaseSync(path, { readOnly: true })
  const schema = database.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY rowid').all()
  const tables = schema.filter(({ type }) => type === 'table').map(({ name }) => String(name))
  const rows = tables.map(name => [name, database.prepare(`SELECT * FROM "${name}"`).all()] as const)
  const pragmas = ['user_version', 'journal_mode', 'page_size'].map(name => database.prepare(`PRAGMA ${name}`).get())
  const [identity] = database.prepare(`SELECT value FROM meta WHERE name = 'identity'`).all()
  database.close()
  const same = JSON.stringify(rows, (key, value: unknown) => (key === 'created_at' ? 0 : value))
  return {
    content: { schema, pragmas, rows: same.replace(`"value":${String(identity?.['value'])}`, '') },
    identity: identity?.['value'],
  }
}

t.test("a test's database equals a migrated one", async t => {
  const folder = t.testdir()
  const [laid, another, migrated] = [`${folder}/laid.db`, `${folder}/another.db`, `${folder}/migrated.db`]
  layDatabase(laid)
  layDatabase(another)
  const connection = new Connection(migrated)
  migrate(connection)
  connection.close()
  t.strictSame(read(laid).content, read(migrated).content)
  t.not(read(laid).identity, read(another).identity, 'no two are the same one')
})

t.test('an existing file stays unchanged', async t => {
  const path = `${t.testdir({ 'kept.db': '' })}/kept.db`
  layDatabase(path)
  t.equal(statSync(path).size, 0)
})
