import { DatabaseSync } from 'node:sqlite'
import { createSecret, hashSecret, hintOfSecret } from '../plugins/auth/index.ts'
import { type Log, systemClock } from '../src/kit/index.ts'
import { openStorage } from '../src/storage/index.ts'

// Rows by the million, past the gateway: through it they would take hours.

const quiet: Log = { debug() {}, info() {}, warn() {}, error() {} }
const keyId = (n: number): string => `key_${String(n).padStart(20, '0')}`

/** Makes the tables. */
export async function prepareDatabase(url: string): Promise<void> {
  const storage = await openStorage({ url, clock: systemClock, log: quiet, role: 'tool' })
  await storage.close()
}

/** So many keys of the user `local`; their secrets. */
export function fillKeys(path: string, count: number): readonly string[] {
  const db = openLoose(path)
  const insert = db.prepare(
    `INSERT INTO key (id, name, user_name, hash, hint, status, created_at) VALUES (?, ?, 'local', ?, ?, 'active', ?)`,
  )
  const secrets: string[] = []
  db.exec('BEGIN')
  for (let i = 0; i < count; i++) {
    const secret = createSecret()
    insert.run(keyId(i), `key ${i}`, hashSecret(secret), hintOfSecret(secret), 1_700_000_000_000 + i)
    secrets.push(secret)
  }
  db.exec('COMMIT')
  db.close()
  return secrets
}

/**
 * So many rows of the log, older than any that will come, of 1,000 keys and 10 models. The indexes are taken away
 * meanwhile: built at the end they cost a quarter.
 */
export function fillLogs(path: string, count: number): void {
  if (count === 0) return
  const db = openLoose(path)
  const indexes = db
    .prepare(`SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'log' AND sql IS NOT NULL`)
    .all() as { name: string; sql: string }[]
  for (const { name } of indexes) db.exec(`DROP INDEX ${name}`)
  db.prepare(
    `WITH RECURSIVE number (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n + 1 < ?)
     INSERT INTO log (id, time, key_id, user_name, group_name, model, operation, status, outcome, error_code, duration_ms,
       upstream, config_revision, forwarded, dropped, client_request_id, input_tokens, output_tokens)
     SELECT printf('req_%020d', n), 1700000000000 + n, printf('key_%020d', n % 1000), 'local', 'default',
       'bench-chat-' || (n % 10), 'chat', CASE WHEN n % 50 = 0 THEN 429 ELSE 200 END,
       CASE WHEN n % 50 = 0 THEN 'refused' ELSE 'answered' END, CASE WHEN n % 50 = 0 THEN 'rate_limited' END, 812,
       'fake', '0123456789ab', '["model","stream","messages"]', '[]', NULL, 230, 180 FROM number`,
  ).run(count)
  for (const { sql } of indexes) db.exec(sql)
  db.close()
}

/** A connection that does not care for crashes. */
function openLoose(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false })
  db.exec(
    'PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -524288; PRAGMA temp_store = MEMORY',
  )
  return db
}
