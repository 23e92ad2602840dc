import { readFile } from 'node:fs/promises'
import type { Test } from 'tap'
import type { Key, Level, Storage } from '../../src/domain/index.ts'
import { Ids } from '../../src/util/index.ts'
import { translateSchema } from '../../src/storage/postgres/translate.ts'
import { caseName } from '../harness/case-name.ts'
import { used } from './charge-batches.ts'
import { clockAt, facts, type Harness, holdOf, line, logRow, newKey, type StorageHarness } from './storage.ts'

const ids = new Ids()
const day = 86_400_000
const at = Date.UTC(2026, 10, 17, 12)

/** Values that occur nowhere else, so that a search finds every copy. */
const rare = {
  name: 'qzname.vxw',
  email: 'qzmail@vxw.example',
  ip: '198.51.100.77',
  label: 'qzlabel of a key',
  agent: 'qzagent',
  requestId: 'qzrequest',
  idempotency: 'qzidempotency',
  words: 'qzwords said by an upstream',
  field: 'qzfield',
  hash: 'qzhash',
  note: 'qznote of a change',
} as const

/**
 * Columns that keep the name: those covered by hashes of the ledger's chains, their sums, and rows of the name's new
 * owner.
 */
const kept = [
  'account.name',
  'account_spell.name',
  'charge.user_name',
  'cost_part_sum.what',
  'cost_place.user_name',
  'entry.actor',
  'entry.reason',
  'reversal.actor',
  'reversal.reason',
  'segment.body',
  'segment.user_name',
  'spent_sum.user_name',
  'topup.actor',
  'topup.credit',
  'topup.reason',
  'usage_sum.user_name',
  'user.booked_as',
]
const nothing = { requests: 0, errors: 0, charges: 0, images: 0, sums: [] }

/** Returns a function that finds every column with a word, as `table.column`. */
type Find = (word: string) => readonly string[]

/** Reads all cells of all tables. The list of tables comes from the schema, so that none can be forgotten. */
async function readEverything(harness: StorageHarness): Promise<Find> {
  const tables = await harness.read(
    harness.url.startsWith('postgres')
      ? `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`
      : `SELECT name FROM sqlite_schema WHERE type = 'table'`,
  )
  const cells: (readonly [place: string, written: string])[] = []
  for (const { name } of tables) {
    for (const row of await harness.read(`SELECT * FROM "${String(name)}"`)) {
      for (const [column, cell] of Object.entries(row))
        cells.push([
          `${String(name)}.${column}`,
          cell instanceof Uint8Array ? Buffer.from(cell).toString() : String(cell),
        ])
    }
  }
  return word => [...new Set(cells.flatMap(([place, written]) => (written.includes(word) ? [place] : [])))].toSorted()
}

/** Returns the columns that still hold a word that should be gone, by the kind of word. */
async function findLeft(harness: StorageHarness): Promise<{ readonly [word: string]: readonly string[] }> {
  const find = await readEverything(harness)
  const found = Object.entries(rare).map(([what, word]) => [
    what,
    find(word).filter(place => what !== 'name' || !kept.includes(place)),
  ])
  return Object.fromEntries(found.filter(([, places]) => places?.length !== 0))
}

/** Returns which of the words occur in the bytes of a database file and of its write-ahead log. */
async function findInFile(path: string): Promise<readonly string[]> {
  const files = await Promise.all(['', '-wal'].map(end => readFile(path + end).catch(() => Buffer.alloc(0))))
  const bytes = Buffer.concat(files)
  return Object.entries(rare).flatMap(([what, word]) => (bytes.includes(word) ? [what] : []))
}

type SetClock = ReturnType<typeof clockAt>

/** A clock whose periodic tasks run only on demand. */
function choresOf(now: number) {
  const chores: (() => void)[] = []
  const still = clockAt(now)
  const clock: SetClock = {
    ...still,
    every: (_ms, run) => {
      chores.push(run)
      return { cancel: () => undefined }
    },
  }
  return { clock, chore: () => chores.forEach(run => run()) }
}

/** A storage, and functions that run its sums and sweeps. */
async function start(t: Test, make: Harness) {
  const harness = await make()
  const { clock, chore } = choresOf(at - day)
  const storage = await harness.open('gateway', clock, 4)
  const end = async () => {
    await storage.close()
  }
  t.teardown(async () => {
    await end()
    await harness.close()
  })
  await storage.users.create({ name: 'boss', group: 'default', role: 'admin', passwordHash: 'x' })
  const problems = async () => (await storage.books.verify()).problems
  const sweep = async () => {
    chore()
    await storage.flush()
    // Writes run in order: once this change is written, the sweep and its sums are too.
    await storage.users.change('boss', { keysMax: null }, 'boss')
    await storage.flush()
  }
  return { harness, storage, clock, chore, sweep, problems, end }
}

/** Writes every kind of data that the gateway can hold about a person. */
async function live(
  storage: Storage,
  clock: SetClock,
): Promise<{ readonly key: Key; readonly charges: readonly string[] }> {
  const { users, keys, sessions, views, signIn, adminTokens, ledger, jobs, books, journal, trail, watch } = storage
  const { name } = rare
  const invitation = { name, role: 'admin', group: 'default', expiresAt: at + 2 * day, hash: 'an invitation' } as const
  await signIn.invite(invitation, 'boss')
  const identity = { issuer: 'https://id.example', subject: rare.email }
  const user = { name, group: 'default', role: 'admin', passwordHash: 'argon' } as const
  await signIn.admit({ user, identity, invitation: 'an invitation' }, name)
  await signIn.saveLogin({
    hash: 'a trip',
    state: JSON.stringify({ user: name, next: rare.email }),
    expiresAt: at + 60_000,
  })
  await sessions.create({
    hash: 'a session',
    user: name,
    createdAt: at,
    seenAt: at,
    expiresAt: at + 2 * day,
    agent: rare.agent,
    remote: rare.ip,
  })
  await views.put(name, { page: '/console', name: `of ${rare.email}`, query: `?user=${rare.email}` })
  const entered = { actor: name, action: 'session.begin', subject: name, before: null, reason: null }
  await trail.note({ ...entered, after: { remote: rare.ip } })
  await watch.refused({ name, remote: rare.ip, way: 'password' })
  // Data that the person caused about others as an administrator: bounds, invitations, alerts and notes.
  const other = await keys.create(newKey({ user: 'boss' }), 'boss')
  await keys.change(other.id, { budget: 5_000_000, models: ['image-1'] }, name)
  const most = { budget: { to: { amount: 9, per: 'total' }, by: name }, models: { to: ['m'], by: name } } as const
  await users.change('boss', { keyBounds: most }, name)
  const token = { name: 'a program', role: 'viewer', scopes: ['read'], ips: null, expiresAt: null } as const
  await adminTokens.create({ ...token, hash: 'a token', hint: '' }, name)
  await signIn.invite({ ...invitation, name: null, hash: 'another', role: 'user' }, name)
  await users.topUp('boss', 10, `as ${name} said`, name)
  await watch.deal('event/1', true, name)
  const taken = {
    at,
    how: 'edit',
    by: name,
    revision: 'r',
    version: '1',
    mark: 'm',
    changes: [],
    changeCount: 0,
  } as const
  await storage.configs.keep({ ...taken, files: [], settings: {} }, 0)
  // The person's own data.
  await users.topUp(name, 900_000, `for ${name}`, 'boss')
  await users.change(name, { budget: 100_000, keysMax: 7 }, 'boss')
  const secret = newKey({ user: name, name: rare.label, ips: [rare.ip], hash: rare.hash, hint: 'qzhash' })
  const key = await keys.create(secret, 'boss')
  await keys.change(key.id, { name: `${rare.label} 2`, limits: { rpm: 4 } }, name)
  await keys.rotate(key.id, { hash: `${rare.hash}2`, hint: 'qzhash2', overlapMs: 60_000 }, name)
  await trail.note({
    actor: 'boss',
    action: 'key.change',
    subject: key.id,
    before: null,
    after: null,
    reason: rare.note,
  })

  const own = { user: name }
  const chat = () => facts(key, { ...own, operation: 'chat', id: ids.next('req_', clock.now()) })
  // A charge of an earlier day, alone on it, so that SQL computes its sum.
  ledger.post(chat(), used, 'confirmed')
  await storage.flush()
  clock.set(at)
  const levels: Level[] = [
    { kind: 'user', name, amount: 100_000, per: 'day' },
    { kind: 'balance', name, amount: 900_000, per: 'total' },
  ]
  const image = { ...holdOf(key, 90_000, own), levels, idempotency: { key: rare.idempotency, fingerprint: 'f' } }
  await ledger.hold(image)
  await ledger.line(image.facts.id, line(0, { price: 90_000 }))
  const answer = { status: 200, headers: { 'x-of': rare.words }, body: Buffer.from(rare.words) }
  await ledger.settle({ id: image.facts.id, delivery: 'confirmed', reason: null, answer })
  const chats = Array.from({ length: 7 }, chat)
  for (const chat of chats) ledger.post(chat, used, 'confirmed')
  await storage.flush()
  for (const [i, { id }] of chats.entries()) {
    journal.append(
      logRow({
        id,
        time: clock.now(),
        keyId: key.id,
        user: i % 2 === 0 ? name : 'boss',
        clientRequestId: i % 2 === 0 ? rare.requestId : 'theirs',
        upstreamSaid: i % 2 === 0 ? rare.words : null,
        dropped: i % 2 === 0 ? [rare.field] : [],
      }),
    )
    // Some pages are bound, and the last one is not.
    await storage.flush()
  }
  await books.refund(image.facts.id, name, `asked by ${name}`)
  await books.refund(chats[0]?.id ?? '', name, `asked by ${name}`)
  const job = holdOf(key, 10, own)
  await ledger.hold(job)
  await ledger.line(job.facts.id, line(0, { price: 10 }))
  const jobFacts = {
    keyId: key.id,
    operation: 'image.generate',
    model: 'm',
    upstream: 'alpha',
    n: 1,
    told: [{ id: rare.words }],
  }
  await jobs.open({ ...jobFacts, id: job.facts.id, deadlineAt: at + day }, 'detached')
  await jobs.end(job.facts.id, 'done', answer)
  await ledger.settle({ id: job.facts.id, delivery: 'confirmed', reason: null })
  const place = { upstream: 'alpha', vendorKey: null, model: 'm', parent: null, requestId: rare.requestId, bytes: 1 }
  const times = { createdAt: at, expiresAt: null, deletedAt: null }
  await storage.objects.put([{ id: rare.words, kind: 'file', keyId: key.id, ...place, shown: rare.words, ...times }])
  const session = { id: rare.requestId, operation: 'realtime', model: null, upstream: null, openedAt: at }
  await storage.liveSessions.opened({ ...session, keyId: key.id })
  return { key, charges: [image.facts.id, chats[1]?.id ?? ''] }
}

/** Tests what is kept of an erased person, on both databases. */
export async function erasureContract(t: Test, make: Harness): Promise<void> {
  await t.test('an erased person leaves only what the ledger has to prove', async t => {
    const { harness, storage, clock, sweep, problems, end } = await start(t, make)
    const { users, keys, trail, events } = storage
    const { key, charges } = await live(storage, clock)
    const early = await users.traces(rare.name)
    await sweep()
    const find = await readEverything(harness)
    for (const [what, word] of Object.entries(rare)) t.not(find(word).length, 0, `${what} is somewhere before`)
    t.same(
      kept.filter(place => !find(rare.name).includes(place)),
      ['user.booked_as'],
      'what is kept was there',
    )

    const anchor = await storage.books.anchor()
    const revision = await keys.revision()
    const traces = await users.traces(rare.name)
    t.same(traces?.running, 0)
    t.equal(traces?.kept.charges, 10)
    t.same(early?.kept, traces?.kept, 'charges of a moment ago are counted, too')
    t.same(await problems(), [])
    const erasure = await users.erase(rare.name, 'boss')
    const pseudonym = erasure?.pseudonym ?? ''
    t.match(pseudonym, /^erased-[0-9a-z]{20}$/)
    t.same(await users.traces(rare.name), undefined)
    const counted = (table: string) => traces?.tables.find(one => one.table === table)?.rows
    for (const { table, rows } of erasure?.tables ?? []) {
      // Disabling the person and revoking their keys writes rows to these tables as well.
      if (['trail', 'event', 'key_change'].includes(table)) t.ok(rows >= (counted(table) ?? NaN), table)
      else t.equal(rows, counted(table), table)
      t.not(rows, 0, `${table} had something`)
    }

    t.same(await findLeft(harness), {}, 'the name is only at the documented places, and everything else is gone')
    t.same((await storage.books.verify([anchor])).problems, [], 'the books are proved, against an anchor of before too')

    // Processes with cached keys have to drop them.
    t.same(await keys.changesSince(revision), undefined)
    t.match(await keys.find(key.id), { status: 'revoked', user: pseudonym, name: 'erased', ips: null })
    t.same(await keys.findByHash(rare.hash), undefined)
    t.same(await users.find(pseudonym), undefined, 'the pseudonym finds no user, and nothing changed')
    t.same(await users.change(pseudonym, { status: 'active' }, 'boss'), undefined)
    t.same(await users.topUp(pseudonym, 1, null, 'boss'), undefined)
    await t.rejects(Promise.resolve(keys.create(newKey({ user: pseudonym }))), { code: 'user_unknown' })
    t.notOk((await users.list()).some(({ name }) => name === pseudonym))
    const actions = (await trail.list({ limit: 200 })).filter(({ action }) => action === 'user.erase')
    t.match(actions, [{ actor: 'boss', subject: pseudonym }])
    t.match((await events.after(0, 1_000)).at(-1), { kind: 'user.erased', data: { user: pseudonym, by: 'boss' } })

    // Totals cover the remaining rows: the pseudonym has all of them, and an empty log has none.
    t.match(await storage.journal.totals({ user: pseudonym }), {
      requests: 4,
      charges: 4,
      sums: [{ amount: 400, refunded: 100 }],
    })
    t.same(await storage.journal.totals({ user: rare.name }), { ...nothing, since: null, next: null })

    // No way of creating a user accepts the erased name.
    const refused = { code: 'name_erased' }
    const again = { name: rare.name, group: 'default', role: 'user', passwordHash: null } as const
    await t.rejects(Promise.resolve(users.create(again)), refused)
    const invitation = { name: rare.name, role: 'user', group: 'default', expiresAt: at + 2 * day, hash: 'h' } as const
    await t.rejects(Promise.resolve(storage.signIn.invite(invitation, 'boss')), refused)
    const adoption = {
      users: [{ name: rare.name, group: 'default', status: 'active', balance: null, budget: null, keys: [] }],
    }
    t.match(await keys.adopt(adoption as never, 'import'), { users: 0, others: [rare.name] })

    // Charges of the erased person can still be refunded.
    t.equal(await storage.books.refund(charges[1] ?? '', 'boss', 'after all'), 100)
    t.same(await problems(), [])

    // Rows of requests in progress arrive later and go with the next sweeps; the ledger keeps the name.
    storage.journal.append(logRow({ keyId: key.id, user: rare.name, clientRequestId: rare.requestId }))
    const late = facts(key, { user: rare.name, operation: 'chat', id: ids.next('req_', clock.now()) })
    storage.ledger.post(late, used, 'confirmed')
    await storage.flush()
    await trail.note({
      actor: rare.name,
      action: 'config.reload',
      subject: 'gateway',
      before: null,
      after: null,
      reason: null,
    })
    await events.add({ kind: 'budget.exhausted', data: { level: 'user', name: rare.name, user: rare.name } })
    await users.change('boss', { keyBounds: { models: { to: ['m'], by: rare.name } } }, rare.name)
    await keys.change((await keys.create(newKey({ user: 'boss' }), rare.name)).id, { expiresAt: at + day }, rare.name)
    await sweep()
    await sweep()
    t.same(await findLeft(harness), {})
    clock.set(at + 2 * day + 1)
    await sweep()
    t.same(await problems(), [])
    t.same(await harness.read(`SELECT count(*) AS count FROM "user" WHERE late_until IS NOT NULL`), [{ count: 0 }])
    await t.rejects(Promise.resolve(users.create(again)), refused)
    await end()
    if (!harness.url.startsWith('sqlite:')) return
    const path = harness.url.slice('sqlite:'.length)
    // Pages of the log are freed over time, as they are bound.
    const atRest = (await findInFile(path)).filter(what => what !== 'requestId')
    t.same(atRest, ['name'], 'erased data is overwritten')
    await harness.edit('VACUUM')
    t.same(await findInFile(path), ['name'], 'pages freed earlier are gone after the next VACUUM')
  })

  await t.test('the name of an erased person without ledger entries is forgotten a day later', async t => {
    const { harness, storage, clock, sweep } = await start(t, make)
    const user = { name: rare.name, group: 'default', role: 'user', passwordHash: null } as const
    await storage.users.create(user, 'boss')
    const key = await storage.keys.create(newKey({ user: rare.name, name: rare.label }), 'boss')
    storage.journal.append(logRow({ keyId: key.id, user: rare.name, status: 403 }))
    await storage.users.erase(rare.name, 'boss')
    await sweep()
    t.same((await readEverything(harness))(rare.name), ['user.booked_as'])
    clock.set(at + day + 1)
    await sweep()
    t.same((await readEverything(harness))(rare.name), [])
    await storage.users.create(user, 'boss')
  })

  await t.test('the name of a person who topped up for another is not shown', async t => {
    const { storage, clock, sweep } = await start(t, make)
    const user = { name: rare.name, group: 'default', role: 'admin', passwordHash: 'y' } as const
    await storage.users.create(user, 'boss')
    await storage.users.topUp('boss', 10, null, rare.name)
    await storage.users.erase(rare.name, 'boss')
    clock.set(at + day + 1)
    await sweep()
    await t.rejects(Promise.resolve(storage.users.create(user, 'boss')), { code: 'name_erased' })
  })

  await t.test("other things with the person's name stay unchanged", async t => {
    const { harness, storage } = await start(t, make)
    const { users, keys, trail, events } = storage
    const name = 'admin'
    await users.create({ name, group: 'default', role: 'admin', passwordHash: 'y' }, 'boss')
    const key = await keys.create(newKey({ user: 'boss', name }), 'boss')
    await users.change('boss', { keyBounds: { models: { to: [name], by: name } } }, name)
    const of = { actor: 'boss', action: 'config.reload', before: null, after: null }
    await trail.note({ ...of, subject: name, reason: 'asked by @admin, in haste' })
    await trail.note({ ...of, subject: name, reason: 'asked by administrators' })
    await events.add({ kind: 'budget.exhausted', data: { level: 'group', name, user: name, per: name } })
    const { pseudonym } = (await users.erase(name, 'boss')) ?? { pseudonym: '' }
    t.match(await users.find('boss'), { role: 'admin', keyBounds: { models: { to: [name], by: pseudonym } } })
    t.match(await keys.find(key.id), { name })
    const left = await trail.list({ limit: 200 })
    t.match(
      left.filter(({ action }) => action === 'config.reload'),
      [
        { subject: name, reason: 'asked by administrators' },
        { subject: name, reason: null },
      ],
    )
    t.match(
      left.find(({ action, subject }) => action === 'key.create' && subject === key.id),
      { after: { name, user: 'boss' } },
    )
    const role = left.find(({ action, subject }) => action === 'user.create' && subject === 'boss')
    t.match(role, { after: { role: 'admin' } })
    const exhausted = (await events.after(0, 1_000)).filter(({ kind }) => kind === 'budget.exhausted')
    t.match(exhausted, [{ data: { level: 'group', name, user: pseudonym, per: name } }])
    t.same(await harness.read(`SELECT value FROM meta WHERE name = 'erasing'`), [{ value: 0 }])
  })

  await t.test('no person is erased while one of their requests runs, and none begins', async t => {
    const { storage, problems } = await start(t, make)
    const { users, keys, ledger } = storage
    await users.create({ name: rare.name, group: 'default', role: 'user', passwordHash: null })
    const key = await keys.create(newKey({ user: rare.name, name: rare.label }))
    const hold = holdOf(key, 40_000, { user: rare.name })
    await ledger.hold(hold)
    await t.rejects(Promise.resolve(users.erase(rare.name, 'boss')), {
      code: 'erase_busy',
      message: / 1 requests or jobs /,
    })
    t.match(await keys.find(key.id), { status: 'revoked', name: rare.label })
    t.match(await users.find(rare.name), { status: 'disabled' })
    t.match(await users.traces(rare.name), { running: 1 })
    await ledger.line(hold.facts.id, line(0))
    await ledger.settle({ id: hold.facts.id, delivery: 'confirmed', reason: null })
    t.match(await users.erase(rare.name, 'boss'), { pseudonym: /^erased-/ })
    t.same(await problems(), [])
  })

  await t.test('the last administrator and oneself cannot be erased', async t => {
    const { storage } = await start(t, make)
    const { users } = storage
    await t.rejects(Promise.resolve(users.erase('boss', 'command line')), { code: 'last_admin' })
    t.match(await users.find('boss'), { status: 'active', role: 'admin' })
    await t.rejects(Promise.resolve(users.erase('boss', 'boss')), { code: 'erases_self' })
    await t.rejects(Promise.resolve(users.erase('local', 'boss')), { code: 'erases_local' })
    t.equal(await users.erase('ghost', 'boss'), undefined)
    t.equal(await users.traces('ghost'), undefined)
    await users.create({ name: 'two', group: 'default', role: 'admin', passwordHash: 'y' })
    t.match(await users.erase('boss', 'two'), { pseudonym: /^erased-/ })
  })

  await t.test('after an interrupted erasure the books are valid, and a second run completes it', async t => {
    const { harness, storage, clock, sweep, problems } = await start(t, make)
    await live(storage, clock)
    await sweep()
    const stops = [
      ['key', 'UPDATE'],
      ['session', 'DELETE'],
      ['answer', 'DELETE'],
      ['job', 'DELETE'],
      ['trail', 'UPDATE'],
      ['event', 'UPDATE'],
      ['user', 'DELETE'],
      ['log_page', 'UPDATE'],
    ] as const
    for (const [table, verb] of stops) {
      const name = caseName({ table, verb })
      const planted = `CREATE TRIGGER planted BEFORE ${verb} ON "${table}" BEGIN SELECT RAISE(ABORT, 'planted'); END`
      const isPostgres = harness.url.startsWith('postgres')
      await harness.edit(isPostgres ? translateSchema(planted) : planted)
      await t.rejects(Promise.resolve(storage.users.erase(rare.name, 'boss')), /planted/, name)
      await harness.edit(isPostgres ? 'DROP FUNCTION planted() CASCADE' : 'DROP TRIGGER planted')
      t.same(await problems(), [], name)
      // Everything but the log is erased at once.
      t.equal((await storage.users.find(rare.name)) === undefined, table === 'log_page', name)
    }
    t.match(await findLeft(harness), { requestId: ['log_page.body'] })
    t.match(await storage.users.erase(rare.name, 'boss'), { tables: [{ table: 'log', rows: 4 }], kept: null })
    t.same(await findLeft(harness), {})
    t.same(await problems(), [])
  })
}
