import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { apiRoutes } from '../../src/admin/index.ts'
import { caseName } from '../harness/case-name.ts'
import { start } from '../harness/start.ts'
import { enterAsAdmin, enterAsUser } from '../harness/visitor.ts'

// With a million keys, an endpoint that loads all of them takes minutes and gigabytes: each loads some, and the
// storage counts the rest.

const rowsEach = 3_000
const rowsMax = 1_000

const numbers = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rowsEach})`
const rows = [
  `INSERT INTO "user" (name, group_name, role, status, budget, budget_period, created_at) ${numbers}
    SELECT 'user ' || i, 'default', 'user', 'active', 10000000, 'total', 1 FROM n`,
  `INSERT INTO key (id, name, user_name, hash, hint, status, budget, budget_period, created_at) ${numbers}
    SELECT 'key_' || i, 'key ' || i, 'user ' || i, 'hash ' || i, '', 'active', 20000000, 'total', 1 FROM n`,
  `INSERT INTO label (id, kind, name, created_at, seen_at) ${numbers}
    SELECT 'label ' || i, CASE i % 2 WHEN 0 THEN 'tag' ELSE 'end_user' END, 'label ' || i, 1, 1 FROM n`,
  `INSERT INTO account (kind, name, part, spent) ${numbers} SELECT 'end_user', 'user ' || i || ' label ' || i, '', 5 FROM n`,
  `INSERT INTO account (kind, name, part, spent) ${numbers} SELECT 'user', 'user ' || i, '', i * 1000 FROM n`,
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

/** A gateway with very many rows of each kind. */
async function startFilled(t: Test) {
  const started = await start(t)
  const admin = await enterAsAdmin(started)
  const user = await enterAsUser(started, admin, 'ann')
  const database = new DatabaseSync(join(started.folder, 'tollgate.db'))
  for (const sql of rows) database.exec(sql)
  database.close()
  return { started, admin, user }
}

t.test('no endpoint of the console loads rows without limit', async t => {
  const { started, admin, user } = await startFilled(t)
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
      const long = [...longest].filter(([, length]) => length > rowsMax)
      t.same(long, [], `${url} of ${visitor === admin ? 'an administrator' : 'a user'}`)
      if (visitor !== admin) t.notOk(longest.has('users.list'), `${url} lists no users for a user`)
    }
})

type UserPage = {
  readonly users: readonly { readonly name: string; readonly spent: string }[]
  readonly count: number
  readonly active: number
  readonly next: string | null
}
type BudgetPage = {
  readonly budgets: readonly { readonly level: string; readonly name: string; readonly called: string | null }[]
  readonly count: number
}

t.test('a list of users and of budgets has pages, and without a limit all rows', async t => {
  const { started, admin } = await startFilled(t)
  const { storage } = started.gateway
  const wanted = (await storage.users.list()).map(({ name }) => name)
  t.equal(wanted.length, rowsEach + 3)

  const all = (await admin.get('/api/users')).body as UserPage
  t.same(
    all.users.map(({ name }) => name),
    wanted,
  )
  t.match(all, { count: wanted.length, active: wanted.length, next: null })
  const paged: string[] = []
  for (let after: string | null = ''; after !== null; ) {
    const page: UserPage = (await admin.get(`/api/users?limit=200${after && `&after=${encodeURIComponent(after)}`}`))
      .body as UserPage
    paged.push(...page.users.map(({ name }) => name))
    after = page.next
  }
  t.same(paged, wanted, 'pages have each user once')
  const found = (await admin.get('/api/users?limit=5&search=USER%20123')).body as UserPage
  t.same(
    found.users.map(({ name }) => name),
    ['user 123', 'user 1230', 'user 1231', 'user 1232', 'user 1233'],
  )
  t.match(found, { count: wanted.length, next: 'user 1233' })
  t.same((await admin.get('/api/users?limit=5&search=100%25')).body, { ...found, users: [], next: null })
  for (const [query, field] of [
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['before=key_1', 'before'],
    ['search=', 'search'],
  ] as const)
    t.match(await admin.get(`/api/users?${query}`), { status: 400, body: { error: { field } } }, caseName({ query }))
  t.match((await admin.get('/api/users/user%20123')).body, { name: 'user 123', budget: '10.00' })
  t.match(await admin.get('/api/users/nobody'), { status: 404 })

  const budgets = (await admin.get('/api/budgets')).body as BudgetPage
  t.equal(budgets.budgets.length, 2 * rowsEach)
  t.equal(budgets.count, 2 * rowsEach)
  t.match(budgets.budgets[0], { level: 'user', name: 'user 1', called: null })
  t.match(budgets.budgets.at(-1), { level: 'key', name: 'key_1', called: 'key 1' })
  const nearest = (await admin.get('/api/budgets?limit=2')).body as BudgetPage
  t.equal(nearest.count, 2 * rowsEach)
  t.same(
    nearest.budgets.map(({ name }) => name),
    ['user 3000', 'user 2999'],
    'those nearest to exhaustion',
  )
  const { month } = (await admin.get('/api/budgets')).body as { readonly month: object }
  t.same((await admin.get('/api/budgets/month')).body, { currency: 'USD', month })
})
