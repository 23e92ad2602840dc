import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import t from 'tap'
import { apiRoutes } from '../../src/admin/index.ts'
import { start } from '../harness/start.ts'
import { enterAsAdmin, enterAsUser } from '../harness/visitor.ts'

// With a million keys, an endpoint that loads all of them takes minutes and gigabytes: each loads some, and the
// storage counts the rest.

const rowsEach = 3_000
const rowsMax = 1_000

/** Lists without pages: `GET /api/users`, and budgets, which depend on the settings of each user. */
const whole: ReadonlySet<string> = new Set(['users.list', 'keys.uses'])

const numbers = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rowsEach})`
const rows = [
  `INSERT INTO "user" (name, group_name, role, status, created_at) ${numbers}
    SELECT 'user ' || i, 'default', 'user', 'active', 1 FROM n`,
  `INSERT INTO key (id, name, user_name, hash, hint, status, created_at) ${numbers}
    SELECT 'key_' || i, 'key ' || i, 'user ' || i, 'hash ' || i, '', 'active', 1 FROM n`,
  `INSERT INTO label (id, kind, name, created_at, seen_at) ${numbers}
    SELECT 'label ' || i, CASE i % 2 WHEN 0 THEN 'tag' ELSE 'end_user' END, 'label ' || i, 1, 1 FROM n`,
  `INSERT INTO account (kind, name, part, spent) ${numbers} SELECT 'end_user', 'user ' || i || ' label ' || i, '', 5 FROM n`,
  `INSERT INTO trail (id, at, actor, action, subject) ${numbers} SELECT 'trail_' || i, i, 'ada', 'key.create', 'k' FROM n`,
  `INSERT INTO event (at, kind, data) ${numbers} SELECT i, 'ledger.differs', '{"count":1,"first":""}' FROM n`,
  `INSERT INTO stored_object (key_id, kind, id, upstream, model, request_id, bytes, created_at) ${numbers}
    SELECT 'key_' || i, 'file', 'file ' || i, 'text', 'm', 'req_1', 1, i FROM n`,
]

/** Reports the longest list that each method of a storage returns. */
function watchLists(storage: object, report: (method: string, length: number) => void): void {
  for (const [part, methods] of Object.entries(storage)) {
    if (typeof methods !== 'object' || methods === null) continue
    for (const [name, method] of Object.entries(methods as { [name: string]: unknown })) {
      if (typeof method !== 'function') continue
      Object.assign(methods, {
        [name]: async (...given: readonly unknown[]) => {
          const value: unknown = await method.apply(methods, given)
          const lists = typeof value === 'object' && value !== null ? [value, ...Object.values(value)] : []
          for (const list of lists) if (Array.isArray(list)) report(`${part}.${name}`, list.length)
          return value
        },
      })
    }
  }
}

t.test('no endpoint of the console loads rows without limit', async t => {
  const started = await start(t)
  const admin = await enterAsAdmin(started)
  const user = await enterAsUser(started, admin, 'ann')
  const database = new DatabaseSync(join(started.folder, 'tollgate.db'))
  for (const sql of rows) database.exec(sql)
  database.close()
  let longest = new Map<string, number>()
  watchLists(started.gateway.storage, (method, length) =>
    longest.set(method, Math.max(length, longest.get(method) ?? 0)),
  )
  const plain = apiRoutes.filter(
    ({ method, url, contentType }) => method === 'GET' && !url.includes(':') && contentType !== 'text/event-stream',
  )
  t.ok(plain.length > 20)
  for (const visitor of [admin, user])
    for (const { url } of plain) {
      longest = new Map()
      await visitor.get(url)
      const long = [...longest].filter(([method, length]) => length > rowsMax && !whole.has(method))
      t.same(long, [], `${url} of ${visitor === admin ? 'an administrator' : 'a user'}`)
      if (visitor !== admin) t.notOk(longest.has('users.list'), `${url} lists no users for a user`)
    }
})
