import { readFile } from 'node:fs/promises'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import type { Key, Storage } from '../../src/domain/index.ts'
import { systemClock } from '../../src/util/index.ts'
import { migrations } from '../../src/storage/migrations/list.ts'
import { claimStorage, inspectStorage } from '../../src/storage/index.ts'
import { createPool } from '../../src/storage/postgres/connect.ts'
import { storageFailure } from '../../src/storage/postgres/failure.ts'
import { translateSchema } from '../../src/storage/postgres/translate.ts'
import { holdOf, line, newKey, silentLog } from '../contract/storage.ts'
import { openDatabase } from '../harness/database.ts'
import { startPostgres } from '../harness/postgres.ts'
import { caseName } from '../harness/case-name.ts'

const postgres = await startPostgres(['fsync=off'])
t.teardown(() => postgres.close())
const unavailable = { code: 'storage_unavailable' }

function open(url: string, role: 'gateway' | 'tool' = 'gateway'): Promise<Storage> {
  return openDatabase({ url, role })
}

async function start(t: Test, log = silentLog) {
  const url = await postgres.createDatabase()
  const storage = await openDatabase({ url, log })
  t.teardown(() => storage.close())
  const made = newKey()
  const key = await storage.keys.create(made)
  return { url, storage, ledger: storage.ledger, key, readKey: async () => storage.keys.findByHash(made.hash) }
}

/** The limit only ends tests that hang; the time taken does not matter. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 20_000
  while (!(await holds())) {
    if (performance.now() > end) throw new Error('it has not come about in 20 s')
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

const recovered = ({ ledger }: Storage): Promise<void> => until(() => ledger.healthy())

/**
 * Bills on a key, many charges at a time, until stopped; like the gateway, it always ends each charge that it opened.
 */
function load({ ledger }: Storage, key: Key) {
  const acknowledged: string[] = []
  const errors: unknown[] = []
  const end = new AbortController()
  const bill = async (): Promise<void> => {
    const request = holdOf(key, 100_000)
    const { id } = request.facts
    try {
      await ledger.hold(request)
    } catch (error) {
      errors.push(error)
      // The caller gets a retryable error.
      return void (await new Promise(resolve => setTimeout(resolve, 10)))
    }
    try {
      if (await ledger.line(id, line(0))) acknowledged.push(id)
      await ledger.settle({ id, delivery: 'confirmed', reason: null })
    } catch (error) {
      errors.push(error)
      await ledger.review(id, 'ledger unavailable').catch((cause: unknown) => errors.push(cause))
    }
  }
  const running = Array.from({ length: 32 }, async () => {
    while (!end.signal.aborted) await bill()
  })
  return {
    acknowledged,
    errors,
    async stop() {
      end.abort()
      await Promise.all(running)
    },
  }
}

async function agrees(t: Test, storage: Storage, acknowledged: readonly string[]): Promise<void> {
  const { books, ledger } = storage
  await storage.flush()
  await until(async () => (await books.all(null, 100_000)).every(({ state }) => state !== 'reserved'))
  const { problems } = await books.verify()
  t.same(problems, [])
  for (const id of acknowledged) {
    const charge = await ledger.find(id)
    if (charge?.amount !== 40_000) t.equal(charge?.amount, 40_000, `${id} was acknowledged`)
  }
}

await t.test(
  'a server that crashes under load: only 503, then it recovers by itself, and the books agree [D6]',
  async t => {
    const logged: string[] = []
    const note = (...words: unknown[]): void => void logged.push(inspect(words, { depth: 9 }))
    const { storage, key, readKey } = await start(t, { debug: note, info: note, warn: note, error: note })
    const work = load(storage, key)
    for (let round = 0; round < 3; round++) {
      const before = work.acknowledged.length
      await until(() => work.acknowledged.length > before + 50)
      await postgres.stop('immediate')
      await until(() => !storage.ledger.healthy())
      await t.rejects(storage.ledger.hold(holdOf(key, 1)), unavailable, caseName({ round }))
      await t.rejects(readKey(), unavailable, 'not to know a key is not to refuse it')
      await until(() => /ECONNREFUSED/.test(storage.ledger.trouble?.() ?? ''))
      t.match(storage.ledger.trouble?.(), /^the database does not answer/, caseName({ round }))
      await postgres.start()
      await recovered(storage)
    }
    await work.stop()
    t.same(new Set(work.errors.map(error => (error as { code?: string }).code)), new Set(['storage_unavailable']))
    await agrees(t, storage, work.acknowledged)
    t.match(await readKey(), { held: 0 })
    t.match(logged.join('\n'), /the storage cannot be written.*the storage can be written again/s)
    t.notMatch(logged.join('\n'), /a-password/)
  },
)

await t.test('a gateway that closes while the database restarts writes the charges that wait', async t => {
  const logged: string[] = []
  const note = (...words: unknown[]): void => void logged.push(inspect(words, { depth: 9 }))
  const { url, storage, ledger, key } = await start(t, { debug: note, info: note, warn: note, error: note })
  const { facts } = holdOf(key, 100)
  await postgres.stop('immediate')
  ledger.post(facts, [line(0)], 'confirmed')
  await until(() => !ledger.healthy())
  const closing = storage.close()
  await postgres.start()
  await closing
  const reader = await open(url, 'tool')
  t.match(await reader.ledger.find(facts.id), { state: 'settled', amount: 40_000 })
  await reader.close()
  t.notMatch(logged.join('\n'), /not known to be written/)
})

await t.test('connections cut at any moment, also during commits: nothing is written twice or lost', async t => {
  const { url, storage, key, readKey } = await start(t)
  const work = load(storage, key)
  const knife = await postgres.connect(url)
  for (let round = 0; round < 8; round++) {
    const before = work.acknowledged.length
    await until(() => work.acknowledged.length > before + 5)
    await knife.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    )
    await recovered(storage)
  }
  await knife.end()
  await work.stop()
  await agrees(t, storage, work.acknowledged)
  t.match(await readKey(), { held: 0 })
})

await t.test(
  'a row that stays locked: its key is refused, others continue, and late charges are ended [D10]',
  async t => {
    const { url, storage, ledger, key, readKey } = await start(t)
    const other = await storage.keys.create(newKey())
    const foreign = await postgres.connect(url)
    await foreign.query('BEGIN')
    await foreign.query('SELECT * FROM key WHERE id = $1 FOR UPDATE', [key.id])
    const late = holdOf(key, 100)
    await Promise.all([
      t.rejects(ledger.hold(late), unavailable),
      t.rejects(ledger.hold(holdOf(key, 100)), unavailable),
      ledger.hold(holdOf(other, 100)).then(result => t.same(result, { kind: 'held' })),
    ])
    t.match(await readKey(), { id: key.id }, 'keys are looked up meanwhile')
    await foreign.query('ROLLBACK')
    await foreign.end()
    t.same(await ledger.hold(holdOf(key, 100)), { kind: 'held' })
    await until(async () => (await ledger.find(late.facts.id))?.state !== 'reserved')
    t.match(await readKey(), { held: 100 })
    t.same((await storage.books.verify()).problems, [])
  },
)

await t.test('a row that stays locked for longer than a statement may take refuses no other key', async t => {
  const logged: string[] = []
  const note = (...words: unknown[]): void => void logged.push(inspect(words, { depth: 9 }))
  const { url, storage, ledger, key, readKey } = await start(t, { debug: note, info: note, warn: note, error: note })
  const other = await storage.keys.create(newKey())
  const open = holdOf(key, 100)
  t.same(await ledger.hold(open), { kind: 'held' })
  const foreign = await postgres.connect(url)
  await foreign.query('BEGIN')
  await foreign.query('SELECT * FROM key WHERE id = $1 FOR UPDATE', [key.id])
  const posted = holdOf(key, 0)
  ledger.post(posted.facts, [line(0)], 'confirmed')
  const ends = ledger.void(open.facts.id, 'not_sent').then(
    () => undefined,
    (error: unknown) => error,
  )
  const over = new AbortController()
  void ends.finally(() => over.abort())
  const held: unknown[] = []
  while (!over.signal.aborted) held.push(await ledger.hold(holdOf(other, 1)).catch((error: unknown) => error))
  t.match(await ends, { code: 'storage_unavailable', message: /the server stopped the statement/ })
  for (let i = 0; i < 50; i++) held.push(await ledger.hold(holdOf(other, 1)).catch((error: unknown) => error))
  t.same(new Set(held.map(result => inspect(result))), new Set([inspect({ kind: 'held' })]))
  t.ok(ledger.healthy())
  t.match(logged.join('\n'), /stopped the statement.*a write waited too long for another transaction/s)
  await foreign.query('ROLLBACK')
  await foreign.end()
  await storage.flush()
  t.match(await ledger.find(posted.facts.id), { state: 'settled', amount: 40_000 })
  t.equal(await ledger.void(open.facts.id, 'not_sent'), true, 'its end can be written now')
  t.match(await readKey(), { held: 0 })
  t.same((await storage.books.verify()).problems, [])
})

await t.test('a gateway that is lost in a transaction blocks its rows for less time than an image waits', async t => {
  const { url, ledger, key } = await start(t)
  const pool = createPool(url, 1)
  const lost = await pool.connect()
  t.teardown(async () => {
    lost.release(true)
    await pool.end()
  })
  await lost.query('BEGIN')
  await lost.query('SELECT * FROM key WHERE id = $1 FOR UPDATE', [key.id])
  const lostAt = performance.now()
  await until(() =>
    ledger.hold(holdOf(key, 1)).then(
      () => true,
      () => false,
    ),
  )
  const blockedMs = Math.round(performance.now() - lostAt)
  t.ok(blockedMs < 9_000, `${blockedMs} ms of the 10 s in which an image waits`)
})

await t.test(
  'a table that stays locked: nothing is opened, keys are looked up, and it recovers by itself [D10]',
  async t => {
    const { url, storage, ledger, key, readKey } = await start(t)
    const keys = await Promise.all(Array.from({ length: 12 }, async () => storage.keys.create(newKey())))
    const foreign = await postgres.connect(url)
    await foreign.query('BEGIN')
    await foreign.query('LOCK TABLE charge IN ACCESS EXCLUSIVE MODE')
    await Promise.all(keys.map(key => t.rejects(ledger.hold(holdOf(key, 100)), unavailable)))
    t.match(await readKey(), { id: key.id })
    await foreign.query('ROLLBACK')
    await foreign.end()
    await recovered(storage)
    t.same(await ledger.hold(holdOf(key, 100)), { kind: 'held' })
    await until(async () => (await storage.keys.list({ limit: 1_000 })).every(({ held }) => held === 0 || held === 100))
    await until(async () => (await storage.keys.list({ limit: 1_000 })).filter(({ held }) => held === 100).length === 1)
    t.same((await storage.books.verify()).problems, [])
  },
)

await t.test('a frozen server: holds and look-ups are refused at once, and recover when it thaws [D10]', async t => {
  const { storage, ledger, key, readKey } = await start(t)
  postgres.signal('SIGSTOP')
  try {
    await Promise.all([t.rejects(ledger.hold(holdOf(key, 100)), unavailable), t.rejects(readKey(), unavailable)])
  } finally {
    postgres.signal('SIGCONT')
  }
  await recovered(storage)
  await until(async () => (await readKey())?.held === 0)
  t.same(await ledger.hold(holdOf(key, 100)), { kind: 'held' })
  t.same((await storage.books.verify()).problems, [])
})

/** The time in seconds after which each open connection to a port sends something if it is idle, as Linux lists it. */
async function keepAlivesTo(port: number): Promise<readonly number[]> {
  const to = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const lines = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map(line => line.trim().split(/\s+/))
  return lines.flatMap(([, , remote = '', state, , timer = '']) => {
    const [kind, when = ''] = timer.split(':')
    return state === '01' && remote.endsWith(to)
      ? [kind === '02' ? Number.parseInt(when, 16) / 100 : Number.POSITIVE_INFINITY]
      : []
  })
}

await t.test(
  'idle connections stay known to firewalls, and a lost server is noticed on them',
  { skip: process.platform === 'linux' ? false : 'only Linux lists the timers of connections' },
  async t => {
    const { url, ledger, key } = await start(t)
    t.same(await ledger.hold(holdOf(key, 100)), { kind: 'held' })
    await until(async () => {
      const timers = await keepAlivesTo(Number(new URL(url).port))
      return timers.length > 0 && timers.every(seconds => seconds <= 60)
    })
  },
)

await t.test('a conflicting transaction is repeated [D11]', async t => {
  const { url, storage, ledger, key } = await start(t)
  const foreign = await postgres.connect(url)
  for (const table of ['charge', 'line', 'entry']) {
    await foreign.query(`CREATE SEQUENCE ${table}_tries`)
    await foreign.query(`CREATE FUNCTION ${table}_flaky() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF nextval('${table}_tries') % 7 = 0 THEN RAISE EXCEPTION 'injected' USING ERRCODE = '${table === 'line' ? '40P01' : '40001'}'; END IF;
      RETURN NEW; END $$`)
    await foreign.query(
      `CREATE TRIGGER ${table}_flaky BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION ${table}_flaky()`,
    )
  }
  await foreign.end()
  const settled = await Promise.all(
    Array.from({ length: 100 }, async () => {
      const request = holdOf(key, 100_000)
      await ledger.hold(request)
      await ledger.line(request.facts.id, line(0))
      return ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })
    }),
  )
  t.equal(settled.filter(Boolean).length, 100)
  t.same(await storage.books.verify(), {
    charges: 100,
    lines: 100,
    entries: 100,
    left: 0,
    problems: [],
    sums: [],
    budgets: 0,
  })
})

await t.test('bursts of conflicts are waited out: no awaited operation fails', async t => {
  const { url, storage, ledger, key } = await start(t)
  const foreign = await postgres.connect(url)
  t.teardown(() => foreign.end())
  await foreign.query('CREATE SEQUENCE tries')
  // The conflict hits six of every 26 writes, in a row, with a different error code each time.
  await foreign.query(`CREATE FUNCTION flaky() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE n BIGINT := nextval('tries'); BEGIN
    IF n % 26 < 6 THEN RAISE EXCEPTION 'injected'
      USING ERRCODE = CASE n % 3 WHEN 0 THEN '40001' WHEN 1 THEN '40P01' ELSE '55P03' END; END IF; RETURN NEW; END $$`)
  await foreign.query('CREATE TRIGGER flaky BEFORE INSERT ON line FOR EACH ROW EXECUTE FUNCTION flaky()')
  const lines = await Promise.allSettled(
    Array.from({ length: 60 }, async () => {
      const request = holdOf(key, 100_000)
      await ledger.hold(request)
      return ledger.line(request.facts.id, line(0))
    }),
  )
  t.same(
    lines.filter(({ status }) => status === 'rejected'),
    [],
  )
  t.ok(ledger.healthy())
  t.match(await storage.books.verify(), { charges: 60, lines: 60, problems: [] })
})

await t.test('[7.6] a charge with repeated conflicts is written when they end', async t => {
  const { url, storage, ledger, key } = await start(t)
  const foreign = await postgres.connect(url)
  t.teardown(() => foreign.end())
  await foreign.query('CREATE SEQUENCE tries')
  // More often than a transaction is retried automatically.
  await foreign.query(`CREATE FUNCTION flaky() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF nextval('tries') < 20 THEN RAISE EXCEPTION 'injected' USING ERRCODE = '40001'; END IF; RETURN NEW; END $$`)
  await foreign.query('CREATE TRIGGER flaky BEFORE INSERT ON charge FOR EACH ROW EXECUTE FUNCTION flaky()')
  const { facts } = holdOf(key, 0)
  ledger.post(facts, [line(0)], 'confirmed')
  await storage.flush()
  t.match(await storage.books.verify(), { charges: 1, lines: 1, entries: 1, problems: [] })
})

await t.test('the database keeps history unchanged, whoever writes', async t => {
  const { url, storage, ledger, key } = await start(t)
  const [settled, open] = [holdOf(key, 100), holdOf(key, 100)]
  for (const request of [settled, open]) {
    await ledger.hold(request)
    await ledger.line(request.facts.id, line(0))
  }
  await ledger.settle({ id: settled.facts.id, delivery: 'confirmed', reason: null })
  const foreign = await postgres.connect(url)
  const { id } = settled.facts
  for (const [sql, refusal] of [
    [`UPDATE charge SET amount = 1 WHERE id = '${id}'`, 'a settled or voided charge does not change'],
    [`UPDATE charge SET state = 'reserved' WHERE id = '${id}'`, 'is not reserved again'],
    [`DELETE FROM charge WHERE id = '${id}'`, 'charges are not deleted'],
    [`UPDATE line SET price = 1 WHERE charge_id = '${id}'`, 'lines do not change'],
    [`DELETE FROM line WHERE charge_id = '${id}'`, 'lines are not deleted'],
    [
      `INSERT INTO line SELECT charge_id, 9, tier, source, width, height, price, flags, quantity FROM line WHERE charge_id = '${id}'`,
      'takes no more lines',
    ],
    [`UPDATE entry SET amount = 1`, 'entries do not change'],
    [`DELETE FROM entry`, 'entries are not deleted'],
    [`DELETE FROM trail`, 'the trail is not deleted'],
  ] as const)
    await t.rejects(foreign.query(sql), { message: new RegExp(refusal) }, sql)
  await foreign.end()
  t.same((await storage.books.verify()).problems, [])
})

await t.test('several processes open an empty database at once; it is created once', async t => {
  const url = await postgres.createDatabase()
  const storages = await Promise.all([open(url), open(url), open(url, 'tool'), open(url)])
  t.same(await Promise.all(storages.map(async one => (await one.users.list()).length)), [1, 1, 1, 1])
  for (const one of storages) await one.close()
})

await t.test('a migration may take any time, and other processes wait for it [D12]', async t => {
  const url = await postgres.createDatabase()
  const migrating = await postgres.connect(url)
  await migrating.query('SELECT pg_advisory_lock($1)', [0x74_6f_6c_6c])
  t.teardown(() => migrating.end())
  const opening = open(url)
  opening.catch(() => undefined)
  // PostgreSQL shows that the migration waits longer than any other statement may take.
  await until(async () => {
    const { rows } = await migrating.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'
         AND now() - query_start > interval '8 seconds'`,
    )
    return rows.length === 1
  })
  await migrating.query('SELECT pg_advisory_unlock_all()')
  const storage = await opening
  t.equal((await storage.users.list()).length, 1)
  await storage.close()
})

await t.test('a migration killed half-way starts again [D12]', async t => {
  const url = await postgres.createDatabase()
  const killed = await postgres.connect(url)
  await killed.query('BEGIN')
  await killed.query('CREATE FUNCTION now_ms() RETURNS BIGINT LANGUAGE sql AS $$ SELECT 0::bigint $$')
  for (const statement of migrations[0]?.slice(0, 8) ?? []) await killed.query(translateSchema(statement))
  const opening = open(url)
  await killed.end()
  const storage = await opening
  t.equal((await storage.users.list()).length, 1)
  await storage.close()
})

await t.test('a database of a newer version is refused, with its address but without the password [D12]', async t => {
  const { url } = await start(t)
  const foreign = await postgres.connect(url)
  await foreign.query('UPDATE tollgate_schema SET version = 99')
  await foreign.end()
  for (const role of ['gateway', 'tool'] as const)
    await t.rejects(
      open(url, role),
      {
        code: 'storage_newer',
        message: /^postgres:\/\/127\.0\.0\.1:\d+\/test\d+ was written/,
      },
      caseName({ role }),
    )
})

await t.test('a missing database is reported at the start, without the password', async t => {
  const url = await postgres.createDatabase()
  const none = url.replace(/test\d+$/, 'none')
  const failure = { code: 'storage_unavailable', message: /^(?!.*a-password).*\/none: there is no such database/ }
  await t.rejects(open(none), failure)
  const nowhere = open(url.replace(/:\d+\//, ':1/'))
  await t.rejects(nowhere, {
    code: 'storage_unavailable',
    message: /^(?!.*a-password).*127\.0\.0\.1:1\/test\d+: .*ECONNREFUSED/,
  })
})

await t.test(
  'an address that cannot be used is reported with its remedy, and without any part of the password',
  async t => {
    const [, place = ''] = /@(.+)$/.exec(await postgres.createDatabase()) ?? []
    const passwords = ['se?cret', 'se#cret', 'se/cret', 's@e:c/r#e?t', '%ff']
    for (const password of passwords) {
      const url = `postgres://tollgate:${password}@${place}`
      const refused = (await open(url).catch((error: unknown) => error)) as Error
      t.match(
        refused,
        { code: 'storage_unavailable', message: /percent codes, such as %40 for @/ },
        caseName({ password }),
      )
      t.notMatch(inspect(refused, { depth: 9 }), /[:/](?:se|s@|e:c|r#e)|cret|%ff/, caseName({ password }))
    }
    const noFile = `postgres://tollgate@${place}?sslrootcert=/nope/ca.pem`
    await t.rejects(open(noFile), {
      message: /: a file that the address names cannot be read \(ENOENT: .*\/nope\/ca\.pem/,
    })
    const noSchema = `postgres://tollgate@${place}?options=-csearch_path%3Dnowhere`
    await t.rejects(open(noSchema), {
      code: 'storage_unavailable',
      message: /: no schema of the search path exists; create one, or set another search path for the role/,
    })
  },
)

await t.test('a database that cannot store every text is refused before its tables are created', async t => {
  const url = await postgres.createDatabase()
  const { pathname } = new URL(url)
  const owner = await postgres.connect(url)
  t.teardown(() => owner.end())
  await owner.query(`CREATE DATABASE ${pathname.slice(1)}_latin ENCODING 'LATIN1' TEMPLATE template0`)
  const latin = `${url}_latin`
  const message =
    /its encoding LATIN1 lacks characters of other languages; create one with ENCODING 'UTF8' TEMPLATE template0/
  await t.rejects(open(latin), { code: 'storage_unavailable', message })
  t.match(await inspectStorage(latin), { exists: false, encodingFault: message })

  const earlier = await postgres.connect(latin)
  t.teardown(() => earlier.end())
  await earlier.query('CREATE TABLE tollgate_schema (version BIGINT NOT NULL)')
  const used = await inspectStorage(latin)
  t.match(used, { exists: true, encodingFault: message }, 'one in use is reported')
  t.equal(used.unwritable, undefined, 'and goes on')
})

await t.test('settings of the database that change how SQL is read, or end sessions, do not matter', async t => {
  const url = await postgres.createDatabase()
  const { pathname } = new URL(url)
  const owner = await postgres.connect(url)
  t.teardown(() => owner.end())
  const settings = {
    standard_conforming_strings: 'off',
    bytea_output: 'escape',
    datestyle: 'SQL, DMY',
    timezone: 'Asia/Kathmandu',
    default_transaction_isolation: 'serializable',
    idle_session_timeout: '60s',
    transaction_timeout: '60s',
  }
  for (const [name, value] of Object.entries(settings))
    await owner.query(`ALTER DATABASE ${pathname.slice(1)} SET ${name} = '${value}'`)
  const pool = createPool(url, 1)
  for (const name of ['idle_session_timeout', 'transaction_timeout'])
    t.same((await pool.query(`SHOW ${name}`)).rows, [{ [name]: '0' }], caseName({ name }))
  await pool.end()
  const storage = await open(url)
  const key = await storage.keys.create(newKey())
  const { facts } = holdOf(key, 100)
  storage.ledger.post(facts, [line(0)], 'confirmed')
  await storage.flush()
  t.match(await storage.ledger.find(facts.id), { state: 'settled', amount: 40_000 })
  t.same((await storage.books.verify()).problems, [])
  await storage.close()
})

await t.test('statements that a pooler mixes up are reported with the remedy', t => {
  for (const code of ['26000', '42P05']) {
    const error = Object.assign(new Error('prepared statement "q1" …'), { severity: 'ERROR', code })
    t.match(storageFailure(error), /^a pooler shares .*; use session pooling \(prepared statement/, caseName({ code }))
  }
  t.end()
})

await t.test(
  'a server that requires a missing password: reported with its remedy, and the connection is closed',
  async t => {
    const sockets: Socket[] = []
    const server = createServer(socket => {
      sockets.push(socket)
      // AuthenticationSASL, then AuthenticationSASLContinue.
      const answers = ['R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0', 'R\0\0\0\x09\0\0\0\x0bx']
      socket.on('data', () => socket.write(answers.shift() ?? '', 'latin1')).on('error', () => undefined)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    await t.rejects(open(`postgres://tollgate@127.0.0.1:${port}/x`), {
      code: 'storage_unavailable',
      message: /^the storage cannot be written: postgres:\/\/127\.0\.0\.1:\d+\/x: the server requires a password: /,
    })
    await until(() => sockets.every(({ closed, readableEnded }) => closed || readableEnded))
    t.equal(sockets.length, 1, 'there is no second attempt')
  },
)

await t.test(
  'a role without rights and a database without writes are reported at the start, and by doctor',
  async t => {
    const url = new URL(await postgres.createDatabase())
    const owner = await postgres.connect(url.href)
    t.teardown(() => owner.end())
    const name = `weak_${url.pathname.slice(1)}`
    await owner.query(`CREATE ROLE ${name} LOGIN`)
    const weak = new URL(url)
    weak.username = name
    const place = `${url.host}${url.pathname}`
    const refused = (reason: RegExp) => ({
      code: 'storage_unavailable',
      message: new RegExp(`^the storage cannot be written: postgres://${place}: ${reason.source}`),
    })
    const mayNot = /the role may not do this; grant it .*/
    await t.rejects(open(weak.href), refused(/the role may not do this; grant it .*schema public/))
    t.match(await inspectStorage(weak.href), { exists: false, unwritable: /may not create tables/ })
    await (await open(url.href)).close()
    t.equal((await inspectStorage(url.href)).unwritable, undefined)
    await owner.query(`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${name}`)
    await t.rejects(open(weak.href), refused(mayNot))
    t.match(await inspectStorage(weak.href), { exists: true, unwritable: /may not write account, .* and \d+ others/ })
    await owner.query(`GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${name}`)
    t.equal((await inspectStorage(weak.href)).unwritable, undefined)
    await (await open(weak.href)).close()
    await owner.query(`ALTER ROLE ${name} SET default_transaction_read_only = on`)
    await t.rejects(open(weak.href), refused(/the database takes no writes \(cannot execute DELETE/))
  },
)

await t.test('the process that started a worker ends its lease when it dies', async t => {
  const url = await postgres.createDatabase()
  const claim = await claimStorage({ url, clock: systemClock, log: silentLog })
  const [dead, other] = await Promise.all(
    ['worker_a', 'worker_b'].map(owner => openDatabase({ url, role: 'worker', owner })),
  )
  const key = await dead?.keys.create(newKey())
  if (!dead || !other || !key) throw new Error('they did not open')
  const request = holdOf(key, 10)
  await dead.ledger.hold(request)
  await claim.forget('worker_a')
  await until(async () => (await other.ledger.find(request.facts.id))?.state === 'needs_review')
  t.equal(await dead.ledger.line(request.facts.id, line(0)), false, 'had it lived it would be fenced off')
  for (const one of [dead, other]) await one.close()
  await claim.release()
})
