import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { accountOfEndUser, type Key } from '../../src/domain/index.ts'
import { createKey, type Storage } from '../../src/index.ts'
import { copyStorage } from '../../src/storage/index.ts'
import { clockAt, facts, holdOf, line, logRow, newKey } from '../contract/storage.ts'
import { openDatabase } from '../harness/database.ts'
import { caseName } from '../harness/case-name.ts'
import { runCli } from '../harness/cli.ts'
import { makeBooks } from '../harness/random-books.ts'
import { startPostgres } from '../harness/postgres.ts'
import { seed } from '../harness/seed.ts'

const dying = fileURLToPath(new URL('../harness/copy-child.ts', import.meta.url))
const postgres = await startPostgres(['fsync=off'])
t.teardown(() => postgres.close())

type Source = { readonly url: string; readonly path: string; readonly keyId: string; readonly at: number }

/** Purchases of end users with a budget, each the given number of days after the previous one. */
const endUserBuys = [
  ['gil', 90, 0],
  ['hana', 70, 1],
  ['gil', 60, 2],
] as const

/** A charge that was held from the budget of an end user. */
async function buyFor({ labels, ledger }: Storage, key: Key, name: string, price: number): Promise<void> {
  const id = await labels.idOf({ kind: 'end_user', name, keyId: key.id, most: 99, mostPerKey: 99 })
  const level = {
    kind: 'end_user',
    name: accountOfEndUser(id, key.user),
    amount: 900,
    per: '7d',
    called: name,
  } as const
  const request = { ...holdOf(key, 100, { user: key.user, attribution: id }), levels: [level] }
  await ledger.hold(request)
  await ledger.line(request.facts.id, line(0, { price }))
  await ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })
}

/** The spend of end users in the budgets of a storage, at a given time. */
async function endUsersOf(url: string, at: number) {
  const storage = await openDatabase({ url, clock: clockAt(at), role: 'tool' })
  const found = await storage.books.endUsers(['day', '7d'])
  await storage.close()
  return found
    .map(({ called, held, spent }) => ({ called, held, spent }))
    .toSorted((a, b) => (a.called < b.called ? -1 : 1))
}

/** A database with rows in all tables that a gateway fills, with no gateway running on it. */
async function fill(t: Test, count = 150): Promise<Source> {
  const path = join(t.testdir(), 'tollgate.db')
  const url = `sqlite:${path}`
  const clock = clockAt(Date.UTC(2026, 9, 30, 20))
  const storage = await openDatabase({ url, clock, logPageRows: 40 })
  await makeBooks(storage, clock, { seed, count, stepMs: 14 * 60_000 })
  const { users, sessions, keys, ledger, trail, configs, journal } = storage
  await users.topUp('ada', 90_071_992_547, 'a transfer', 'boss')
  await users.setPassword('ada', 'scrypt$…')
  await keys.adopt({ users: [], groups: [{ name: 'partner', per: 'day', spentBefore: 3_000_000 }] }, 'import litellm')
  const times = { createdAt: clock.now(), seenAt: clock.now(), expiresAt: clock.now() + 9_000_000 }
  await sessions.create({ hash: 'of-a-token', user: 'ada', agent: 'a\0 browser', remote: '192.0.2.7', ...times })
  await users.offerSetup('of-an-offer', clock.now() + 9_000_000)
  const { key } = await createKey(storage, { name: 'ключ 🗝', user: 'ada', budget: 9_000_000 })
  const request = { ...holdOf(key, 100_000), idempotency: { key: 'again', fingerprint: 'f' } }
  await ledger.hold(request)
  await ledger.line(request.facts.id, line(0))
  await ledger.settle({
    id: request.facts.id,
    delivery: 'confirmed',
    reason: null,
    answer: { status: 200, headers: { a: 'b' }, body: Buffer.from([0, 255, 1, 254]) },
  })
  await ledger.hold(holdOf(key, 70_000))
  for (const [name, price, days] of endUserBuys) {
    clock.set(clock.now() + days * 86_400_000)
    await buyFor(storage, key, name, price)
  }
  await keys.rotate(key.id, { hash: 'another', hint: 'sk-…', overlapMs: 1_000 }, 'ada')
  await trail.note({ actor: 'ada', action: 'session.login', subject: 'ada', before: null, after: null, reason: null })
  const taken = {
    at: 1,
    how: 'edit',
    by: 'ada',
    revision: 'r',
    version: '1',
    mark: 'm',
    changes: [],
    changeCount: 0,
  } as const
  await configs.keep(
    { ...taken, files: [{ file: 'gateway.yaml', text: 'version: 1\n' }], settings: { currency: 'USD' } },
    0,
  )
  for (let i = 0; i < 100; i++)
    journal.append(logRow({ time: clock.now(), keyId: key.id, clientRequestId: `a\0b ${i}` }))
  await storage.flush()
  await storage.close()
  const db = new DatabaseSync(path)
  db.exec(`INSERT INTO event (at, kind, data) VALUES (1, 'key.created', '{}'), (2, 'key.created', '{}');
    DELETE FROM event WHERE id = (SELECT max(id) FROM event);
    INSERT INTO usage_sum VALUES (1, 1, 'ada', 'k', 'm', 'USD', 1, 2, 3, 4);
    INSERT INTO spent_sum VALUES (1, 'ada', 'USD', 2);
    INSERT INTO cost_progress VALUES (0, 'gateway', 0, 1);
    INSERT INTO webhook VALUES ('a', 'evt_', 'gone', 1);
    INSERT INTO vendor_key VALUES ('alpha', 'one', '', 'h', 'cooling', 'rate', '429', 5, 6, 1, 5);
    INSERT INTO stored_object VALUES ('k', 'file', 'f', 'alpha', NULL, 'm', NULL, 'req_1', 9007199254740991, '{}', 5, 6, NULL);
    INSERT INTO live_session VALUES ('req_s', 'gone', 'k', 'realtime', 'm', NULL, 5, NULL);
    INSERT INTO answer_purge VALUES ('m', '', 5);
    INSERT INTO job (id, key_id, operation, model, upstream, n, told, state, owner, epoch, created_at, deadline_at, body)
      VALUES ('req_job', '${key.id}', 'image.generate', 'm', 'alpha', 1, '{}', 'done', 'gone', 1, 1, 2, x'00ff00')`)
  db.close()
  return { url, path, keyId: key.id, at: clock.now() }
}

async function readRows(url: string, sql: string): Promise<readonly { readonly [column: string]: unknown }[]> {
  if (url.startsWith('sqlite:')) {
    const db = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true })
    try {
      return db.prepare(sql).all()
    } finally {
      db.close()
    }
  }
  const client = await postgres.connect(url)
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

async function isRefused(t: Test, url: string, sql: string): Promise<void> {
  if (url.startsWith('sqlite:')) {
    const db = new DatabaseSync(url.slice('sqlite:'.length))
    t.throws(() => db.exec(sql), caseName({ url, sql }))
    db.close()
    return
  }
  const client = await postgres.connect(url)
  await t.rejects(client.query(sql), caseName({ url, sql }))
  await client.end()
}

const open = (url: string): Promise<Storage> => openDatabase({ url })

/** A gateway continues on a copy: charges, log, events and keys; and the books are valid. */
async function workOn(t: Test, url: string, keyId: string): Promise<void> {
  const [before] = await readRows(url, 'SELECT max(id) AS id FROM event')
  const storage = await open(url)
  try {
    const key = await storage.keys.find(keyId)
    t.match(key, { name: 'ключ 🗝', budget: 9_000_000, held: 0 }, caseName({ url, what: 'what was reserved is ended' }))
    if (!key) return
    const request = holdOf(key, 50_000)
    await storage.ledger.hold(request)
    await storage.ledger.line(request.facts.id, line(0))
    await storage.ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })
    storage.ledger.post(facts(key), [line(0, { tier: 'input', width: null, height: null, quantity: 3 })], 'confirmed')
    storage.journal.append(logRow({ keyId }))
    await storage.keys.create(newKey({ name: 'new' }), 'ada')
    await storage.flush()
    const audit = await storage.books.verify()
    t.strictSame(audit.problems, [], caseName({ url }))
    const [after] = await readRows(url, 'SELECT max(id) AS id FROM event')
    t.ok(Number(after?.['id']) > Number(before?.['id']) + 1, caseName({ url, what: 'a number is given once' }))
  } finally {
    await storage.close()
  }
  await isRefused(t, url, `UPDATE entry SET amount = 1`)
  await isRefused(t, url, `DELETE FROM trail`)
}

t.test(`everything is copied between SQLite and PostgreSQL and back (seed ${seed})`, async t => {
  const source = await fill(t)
  const folder = t.testdirName
  const first = await postgres.createDatabase()
  const second = await postgres.createDatabase()
  const ways = [
    [source.url, first],
    [first, second],
    [second, `sqlite:${folder}/back.db`],
    [`sqlite:${folder}/back.db`, `sqlite:${folder}/again.db`],
  ] as const
  const spent = [
    { called: 'gil', held: 0, spent: { total: 150, day: 60, '7d': 150 } },
    { called: 'hana', held: 0, spent: { total: 70, day: 0, '7d': 70 } },
  ]
  t.match(await endUsersOf(source.url, source.at), spent)
  const progress: string[] = []
  let tables: readonly { readonly table: string; readonly rows: number; readonly digest: string }[] | undefined
  for (const [from, to] of ways) {
    const copied = await copyStorage({ from, to, onProgress: text => progress.push(text) })
    t.strictSame(copied.audit.problems, [], caseName({ from, to }))
    t.ok(copied.audit.charges > 100 && copied.audit.left > 0, caseName({ from, to }))
    t.ok(copied.sums.charged > 0 && copied.sums.refunded > 0, caseName({ from, to }))
    t.match(copied.sums, { toppedUp: 90_071_992_547, spentBefore: 3_000_000 }, caseName({ from, to }))
    t.strictSame(copied.tables, tables ?? copied.tables, caseName({ from, to }))
    t.match(await endUsersOf(to, source.at), spent, caseName({ to, what: 'budgets of end users' }))
    tables = copied.tables
  }
  const empty = tables?.filter(({ rows }) => rows === 0).map(({ table }) => table)
  t.strictSame(
    empty?.toSorted(),
    [
      'admin_token',
      'alert_done',
      'cost_image_sum',
      'cost_key_sum',
      'cost_kind',
      'cost_label_model',
      'cost_label_part',
      'cost_label_place',
      'cost_label_sum',
      'cost_part_sum',
      'cost_place',
      'cost_place_sum',
      'event_chain',
      'event_slice',
      'invitation',
      'log',
      'log_page_chain',
      'log_page_charge',
      'refused_sign_in',
      'saved_view',
      'sign_in_link',
      'sign_in_trip',
      'usage_chain',
      'vendor_key_spending',
      'webhook_retry',
    ],
    'all other tables had rows to copy',
  )
  t.ok(progress.some(text => /^[\d,]+ of [\d,]+ rows copied \(segment\)$/.test(text)))
  t.ok(progress.includes('verifying the ledger of the copy'))
  t.strictSame(
    readdirSync(folder).filter(name => name.includes('copying')),
    [],
    'nothing is left beside',
  )
  for (const url of [first, `sqlite:${folder}/back.db`]) await workOn(t, url, source.keyId)
})

t.test('a storage that is not empty accepts no copy, and stays unchanged', async t => {
  const source = await fill(t, 10)
  const used = await postgres.createDatabase()
  await (await open(used)).close()
  await t.rejects(copyStorage({ from: source.url, to: used }), { code: 'copy_taken' })
  await (await open(used)).close()

  const others = await postgres.createDatabase()
  const client = await postgres.connect(others)
  await client.query('CREATE TABLE of_another_program (a int)')
  await client.end()
  await t.rejects(copyStorage({ from: source.url, to: others }), {
    code: 'copy_taken',
    message: /of_another_program/,
  })
  await t.rejects(copyStorage({ from: source.url, to: source.url }), { code: /copy_taken|storage_in_use/ })
  await t.rejects(copyStorage({ from: used, to: source.url }), { code: 'copy_taken' })
  await t.rejects(copyStorage({ from: source.url, to: 'sqlite::memory:' }), { code: 'storage_url' })
  await t.rejects(copyStorage({ from: `sqlite:${t.testdirName}/none.db`, to: others }), {
    message: /none\.db is not there/,
  })
  t.notOk(existsSync(`${t.testdirName}/none.db`))
})

t.test('while a gateway uses it, only a snapshot of one moment is copied', async t => {
  const source = await fill(t, 10)
  const shared = await postgres.createDatabase()
  await copyStorage({ from: source.url, to: shared })
  for (const [i, url] of [source.url, shared].entries()) {
    const gateway = await open(url)
    try {
      const to = await postgres.createDatabase()
      await t.rejects(copyStorage({ from: url, to }), { code: 'copy_in_use', message: /--snapshot/ }, caseName({ url }))
      let isLate = false
      const copied = await copyStorage({
        from: url,
        to,
        isSnapshot: true,
        onProgress() {
          if (isLate) return
          isLate = true
          void gateway.users.create({ name: `late-${i}`, group: 'default', role: 'user', passwordHash: null })
        },
      })
      t.strictSame(copied.audit.problems, [], caseName({ url }))
      await gateway.flush()
      const late = `SELECT name FROM "user" WHERE name = 'late-${i}'`
      t.equal((await readRows(url, late)).length, 1, caseName({ url }))
      t.equal((await readRows(to, late)).length, 0, caseName({ url }))
    } finally {
      await gateway.close()
    }
  }
})

/** Revokes a key synchronously. */
function changeAtOnce(url: string): void {
  const sql = `UPDATE key SET status = 'revoked' WHERE id = (SELECT min(id) FROM key)`
  if (url.startsWith('sqlite:')) {
    const db = new DatabaseSync(url.slice('sqlite:'.length))
    db.exec(sql)
    db.close()
    return
  }
  const script = `const { Client } = await import('pg'); const c = new Client({ connectionString: process.argv[1] })
    await c.connect(); await c.query(process.argv[2]); await c.end()`
  const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', script, url, sql])
  if (status !== 0) throw new Error('the change was not made')
}

t.test('a write to the source during the copy is not lost silently: the copy is discarded', async t => {
  const source = await fill(t, 10)
  const shared = await postgres.createDatabase()
  await copyStorage({ from: source.url, to: shared })
  for (const url of [source.url, shared]) {
    const to = await postgres.createDatabase()
    let isChanged = false
    await t.rejects(
      copyStorage({
        from: url,
        to,
        onProgress() {
          if (!isChanged) changeAtOnce(url)
          isChanged = true
        },
      }),
      { code: 'copy_outdated' },
      caseName({ url }),
    )
    t.strictSame(
      await readRows(to, `SELECT relname FROM pg_class WHERE relname LIKE 'tollgate%'`),
      [],
      caseName({ url }),
    )
    t.ok((await copyStorage({ from: url, to })).rows > 0, caseName({ url }))
  }
})

t.test('a killed copy never counts as complete, and can be repeated', async t => {
  const source = await fill(t, 60)
  const die = async (to: string, steps: number): Promise<void> => {
    const child = spawn(process.execPath, [dying, source.url, to, String(steps)], { stdio: 'ignore' })
    const [, signal] = await once(child, 'exit')
    t.equal(signal, 'SIGKILL', caseName({ to, steps }))
  }
  const shared = await postgres.createDatabase()
  const file = `${t.testdirName}/copy.db`
  // Early, in the middle of the rows, and during the comparison.
  for (const steps of [1, 14, 45]) {
    await die(shared, steps)
    await t.rejects(open(shared), { code: 'copy_unfinished' }, caseName({ steps }))
    const served = await runCli({ folder: t.testdirName, storage: shared }, 'serve')
    t.equal(served.code, 1, caseName({ steps }))
    t.match(served.stderr, /a copy to .* is running, or was interrupted/, caseName({ steps }))
    await die(`sqlite:${file}`, steps)
    t.notOk(existsSync(file), caseName({ steps }))
    await t.rejects(open(`sqlite:${file}.copying`), { code: 'copy_unfinished' }, caseName({ steps }))
  }
  for (const to of [shared, `sqlite:${file}`]) {
    const copied = await copyStorage({ from: source.url, to })
    t.strictSame(copied.audit.problems, [], caseName({ to }))
    await workOn(t, to, source.keyId)
  }
})

t.test('during a copy into a database no other copy and no gateway starts', async t => {
  const source = await fill(t, 200)
  const to = await postgres.createDatabase()
  const refused: Promise<unknown>[] = []
  await copyStorage({
    from: source.url,
    to,
    isSnapshot: true,
    onProgress() {
      if (refused.length > 0) return
      refused.push(
        t.rejects(copyStorage({ from: source.url, to, isSnapshot: true }), { code: 'copy_unfinished' }),
        t.rejects(open(to), { code: 'copy_unfinished' }),
      )
    },
  })
  await Promise.all(refused)
  await (await open(to)).close()
})

t.test('invalid books are not copied, and nothing is left at the target', async t => {
  const source = await fill(t, 20)
  const db = new DatabaseSync(source.path)
  db.exec(
    'DROP TRIGGER entry_same; UPDATE entry SET amount = amount + 1 WHERE position = (SELECT MIN(position) FROM entry)',
  )
  db.close()
  const shared = await postgres.createDatabase()
  const file = `${t.testdirName}/copy.db`
  for (const to of [shared, `sqlite:${file}`])
    await t.rejects(
      copyStorage({ from: source.url, to }),
      { code: 'copy_unsound', message: /ledger of the copy does not hold/ },
      caseName({ to }),
    )
  t.strictSame(
    readdirSync(t.testdirName).filter(name => name.startsWith('copy.db') && !name.endsWith('.lock')),
    [],
  )
  await (await open(shared)).close()
})

t.test('an older schema is not copied', async t => {
  const source = await fill(t, 3)
  const db = new DatabaseSync(source.path)
  db.exec('PRAGMA user_version = 16')
  db.close()
  await t.rejects(copyStorage({ from: source.url, to: await postgres.createDatabase() }), { code: 'copy_older' })
})

t.test('the command copies the configured storage, and reports how it was verified', async t => {
  const source = await fill(t, 20)
  const to = await postgres.createDatabase()
  const folder = t.testdirName
  const ran = await runCli({ folder, storage: source.url }, 'storage', 'copy', '--to', to)
  t.equal(ran.code, 0, ran.stderr)
  t.match(ran.stderr, /Copied .* to .*: \d+ rows of \d+ tables, with equal digests on both sides/)
  t.match(ran.stderr, /Its ledger is valid: \d+ charges, \d+ entries, 0 problems\. Charged .*: the same on both sides/)
  t.match(ran.stderr, /NUL character/)
  t.notMatch(ran.stderr, /a-password/)
  const verified = await runCli({ folder, storage: to }, 'ledger', 'verify')
  t.equal(verified.code, 0, verified.stderr)

  const back = await runCli(
    { folder },
    'storage',
    'copy',
    '--from',
    to,
    '--to',
    `sqlite:${folder}/b.db`,
    '--format',
    'json',
  )
  t.equal(back.code, 0, back.stderr)
  const report = JSON.parse(back.stdout) as { readonly tables: readonly { readonly digest: string }[] }
  t.ok(report.tables.every(({ digest }) => /^[0-9a-f]{64}$/.test(digest)))
  t.notMatch(back.stdout, /a-password/)
  t.equal((await runCli({ folder, storage: source.url }, 'storage', 'copy')).code, 2)
})
