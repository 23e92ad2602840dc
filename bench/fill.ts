import { DatabaseSync } from 'node:sqlite'
import { inspect } from 'node:util'
import type { Client } from 'pg'
import { createSecret, hashSecret, hintOfSecret } from '../src/index.ts'
import { type LogRow, unknownOfLogRow } from '../src/domain/index.ts'
import type { Log } from '../src/plugin-api/index.ts'
import { Ids, systemClock } from '../src/util/index.ts'
import { openStorage } from '../src/storage/index.ts'

// Writes millions of rows without the gateway: through it they would take hours. Keys bypass the storage too.

export const onlyErrors: Log = {
  debug() {},
  info() {},
  warn() {},
  error: (facts, text) => void process.stderr.write(`bench: ${text}: ${inspect(facts)}\n`),
}
const firstTime = 1_700_000_000_000
const keyId = (n: number): string => `key_${String(n).padStart(20, '0')}`

/** Makes the tables. */
export async function prepareDatabase(url: string): Promise<void> {
  const storage = await openStorage({ url, clock: systemClock, log: onlyErrors, role: 'tool' })
  await storage.close()
}

/** Creates this many keys of the user `local`; returns their secrets. */
export function fillKeys(path: string, count: number): readonly string[] {
  const db = openLoose(path)
  const insert = db.prepare(
    `INSERT INTO key (id, name, user_name, hash, hint, status, created_at) VALUES (?, ?, 'local', ?, ?, 'active', ?)`,
  )
  const secrets = createSecrets(count)
  db.exec('BEGIN')
  for (const [i, secret] of secrets.entries())
    insert.run(keyId(i), `key ${i}`, hashSecret(secret), hintOfSecret(secret), firstTime + i)
  db.exec('COMMIT')
  db.close()
  return secrets
}

export async function fillKeysOfPostgres(client: Client, count: number): Promise<readonly string[]> {
  const secrets = createSecrets(count)
  for (let from = 0; from < count; from += 10_000) {
    const some = secrets.slice(from, from + 10_000)
    await client.query(
      `INSERT INTO key (id, name, user_name, hash, hint, status, created_at)
       SELECT 'key_' || lpad((n + $1 - 1)::text, 20, '0'), 'key', 'local', hash, hint, 'active', ${firstTime} + n
       FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS made (hash, hint, n)`,
      [from, some.map(hashSecret), some.map(hintOfSecret)],
    )
  }
  return secrets
}

const createSecrets = (count: number): readonly string[] => Array.from({ length: count }, createSecret)

/** The number of days before today over which the rows of the log are spread. */
const logDays = 30
/** The log's queue holds 50,000 rows and drops older ones. */
const rowsAtOnce = 20_000

/**
 * Writes this many rows of the log, older than any later ones, of 1,000 keys and 10 models, through the storage's own
 * code in its current format.
 */
export async function fillLogs(url: string, count: number): Promise<void> {
  if (count === 0) return
  const storage = await openStorage({ url, clock: systemClock, log: onlyErrors, role: 'gateway' })
  try {
    const ids = new Ids()
    const spread = logDays * 86_400_000
    const first = Date.now() - spread - 60_000
    for (let n = 0; n < count; n++) {
      const time = first + Math.floor((n * spread) / count)
      storage.journal.append(logRow(n, time, ids.next('req_', time)))
      if (n % rowsAtOnce === rowsAtOnce - 1) await storage.flush()
    }
    await storage.flush()
  } finally {
    await storage.close()
  }
}

function logRow(n: number, time: number, id: string): LogRow {
  const refused = { status: 429, outcome: 'refused', errorCode: 'rate_limited' } as const
  return {
    ...sampleLogRow({
      id,
      time,
      keyId: keyId(n % 1000),
      user: 'local',
      group: 'default',
      model: `bench-chat-${n % 10}`,
    }),
    ...(n % 50 === 0 && refused),
  }
}

/** The row of an answered chat. */
export function sampleLogRow(own: Pick<LogRow, 'id' | 'time' | 'keyId' | 'user' | 'group' | 'model'>): LogRow {
  return {
    ...unknownOfLogRow,
    ...own,
    operation: 'chat',
    status: 200,
    outcome: 'answered',
    errorCode: null,
    durationMs: 812,
    upstream: 'fake',
    configRevision: '0123456789ab',
    forwarded: ['model', 'stream', 'messages'],
    dropped: [],
    clientRequestId: null,
    inputTokens: 230,
    outputTokens: 180,
  }
}

/**
 * A connection without crash safety. SQLite cannot switch from a write-ahead log to no log except through a rollback
 * journal.
 */
function openLoose(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false })
  db.exec(
    'PRAGMA journal_mode = DELETE; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -524288; PRAGMA temp_store = MEMORY',
  )
  return db
}
