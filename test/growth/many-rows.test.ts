import { join } from 'node:path'
import t from 'tap'
import type { QueryProgram } from '../../src/storage/query.ts'
import { Connection } from '../../src/storage/sqlite/connect.ts'
import { migrations } from '../../src/storage/migrations/list.ts'
import { admitUser } from '../../src/storage/people/invitations.ts'
import { LabelPlaces } from '../../src/storage/label-places.ts'
import { UncompactedBatches } from '../../src/storage/log-batches/uncompacted.ts'
import { Ids } from '../../src/util/index.ts'
import { addLabel } from '../../src/storage/labels.ts'
import { hasAdmin } from '../../src/storage/people/users.ts'
import { pruneEvents } from '../../src/storage/events/prune.ts'
import { writeNewEvent } from '../../src/storage/events/write-event.ts'
import { eraseLate, hasLate } from '../../src/storage/erase/erase.ts'
import { sweep } from '../../src/storage/ledger/sweep.ts'
import { sizeOfObjects, sweepObjects } from '../../src/storage/stored-objects.ts'

// Work of each minute, and work that requests wait for, on tables with many rows. Its time is compared with that of
// reading the table once, so that the speed of the machine does not matter.

const rows = 100_000
const now = Date.UTC(2027, 4, 16, 12)
const keyId = 'key_1'

const connection = new Connection(join(t.testdir(), 'many.db'))
t.teardown(() => connection.close())
// Nothing is committed, so that the test waits for no disk.
connection.db.exec('BEGIN')
for (const statement of migrations.flat()) connection.db.exec(statement)
const numbers = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})`
connection.db.exec(`${numbers} INSERT INTO stored_object (key_id, kind, id, upstream, model, request_id, bytes,
  created_at, expires_at)
  SELECT '${keyId}', 'response', 'resp_' || i, 'a', 'm', 'req_' || i, 0, 1, ${now} - 86400000 FROM n`)

connection.db.exec(`INSERT INTO "user" (name, group_name, role, status, created_at, password_hash, erased_at, booked_as,
  late_until) VALUES ('boss', 'default', 'admin', 'active', 1, 'x', NULL, NULL, NULL),
  ('erased-1', 'default', 'user', 'disabled', 1, NULL, ${now - 1}, 'ann', ${now + 86_400_000})`)
connection.db.exec(`${numbers} INSERT INTO "user" (name, group_name, role, status, created_at)
  SELECT 'user' || i, 'default', 'user', 'active', 1 FROM n`)
connection.db.exec(`${numbers} INSERT INTO label (id, kind, name, key_id, created_at, seen_at)
  SELECT 'eu_' || i, 'end_user', 'name' || i, '${keyId}', 1, 1 FROM n`)
connection.db.exec(`${numbers} INSERT INTO account (kind, name, part) SELECT 'user', 'user' || i, '' FROM n`)
connection.db.exec(`${numbers} INSERT INTO key (id, name, user_name, hash, hint, status, created_at)
  SELECT 'key_' || i, 'key', 'user' || i, 'h' || i, '', 'active', 1 FROM n`)
connection.db.exec(
  `${numbers} INSERT INTO event (at, kind, data) SELECT 1, 'budget.threshold', '{"level":"key"}' FROM n`,
)

const writer = {
  owner: 'a writer',
  host: 'here',
  epoch: 1,
  chain: 'a chain',
  part: '',
  zone: 'UTC',
  thresholds: [],
  ids: new Ids(),
  uncompacted: new UncompactedBatches(),
  labelPlaces: new LabelPlaces(),
}
let count = 0

type Case = readonly [name: string, table: string, column: string, steps: () => QueryProgram<unknown>]

const cases: readonly Case[] = [
  [
    'the name of a new end user',
    'label',
    'id',
    () => {
      const label = { kind: 'end_user', name: `new${count++}`, keyId, most: 10 * rows, mostPerKey: 5 * rows } as const
      return addLabel(writer, { ...label, at: now })
    },
  ],
  [
    'the admission of a person who chose a name',
    '"user"',
    'group_name',
    () => {
      const user = { name: `guest${count++}`, group: 'default', role: 'user', passwordHash: null } as const
      const newcomer = { user, identity: null, invitation: null }
      return admitUser(writer, { newcomer, alike: { other: null, since: now - 1 }, by: user.name, at: now })
    },
  ],
  ['the sweep of accounts', 'account', 'name', () => sweep(writer, now)],
  ['the search for erased people', '"user"', 'group_name', () => hasLate()],
  ['the erasure of late rows', 'event', 'data', () => eraseLate(now)],
  ['the search for an administrator', '"user"', 'group_name', () => hasAdmin({ passwords: true, issuers: ['i'] })],
  ['the deletion of old events', 'event', 'data', () => pruneEvents({ until: 1, limit: 512, webhooks: [], at: now })],
  [
    'an event of a rare kind',
    'event',
    'data',
    () => writeNewEvent({ kind: 'ledger.differs', data: { problems: 1 } }, now, 'ledger.differs'),
  ],
  ['the sweep of expired objects', 'stored_object', 'key_id', () => sweepObjects(now)],
  ["the size of a key's files", 'stored_object', 'key_id', () => sizeOfObjects(keyId, now)],
]

for (const [name, table, column, steps] of cases)
  t.test(`[9.7] ${name} does not read all rows`, async t => {
    connection.run(steps())
    const reading = connection.db.prepare(`SELECT sum(length(${column})) FROM ${table} NOT INDEXED`)
    const wholeMs = shortestMs(() => reading.get())
    const ms = shortestMs(() => connection.run(steps()))
    t.ok(ms < wholeMs / 4, `${ms} ms, all rows ${wholeMs} ms`)
  })

function shortestMs(work: () => unknown): number {
  const times = Array.from({ length: 5 }, () => {
    const from = performance.now()
    work()
    return performance.now() - from
  })
  return Math.min(...times)
}
