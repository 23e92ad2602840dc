import { DatabaseSync } from 'node:sqlite'
import { inspect } from 'node:util'
import type { Client } from 'pg'
import { createSecret, hashSecret, hintOfSecret } from '../src/index.ts'
import { type Log, systemClock } from '../src/kit/index.ts'
import { openStorage } from '../src/storage/index.ts'

// Rows by the million, past the gateway: through it they would take hours.

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

/** So many keys of the user `local`; their secrets. */
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
     SELECT printf('req_%020d', n), ${firstTime} + n, printf('key_%020d', n % 1000), 'local', 'default',
       'bench-chat-' || (n % 10), 'chat', CASE WHEN n % 50 = 0 THEN 429 ELSE 200 END,
       CASE WHEN n % 50 = 0 THEN 'refused' ELSE 'answered' END, CASE WHEN n % 50 = 0 THEN 'rate_limited' END, 812,
       'fake', '0123456789ab', '["model","stream","messages"]', '[]', NULL, 230, 180 FROM number`,
  ).run(count)
  for (const { sql } of indexes) db.exec(sql)
  db.close()
}

export async function fillLogsOfPostgres(client: Client, count: number): Promise<void> {
  await client.query(
    `INSERT INTO log (id, time, key_id, user_name, group_name, model, operation, status, outcome, error_code, duration_ms,
       upstream, config_revision, forwarded, dropped, input_tokens, output_tokens)
     SELECT 'req_' || lpad(n::text, 20, '0'), ${firstTime} + n, 'key_' || lpad((n % 1000)::text, 20, '0'), 'local', 'default',
       'bench-chat-' || (n % 10), 'chat', CASE WHEN n % 50 = 0 THEN 429 ELSE 200 END,
       CASE WHEN n % 50 = 0 THEN 'refused' ELSE 'answered' END, CASE WHEN n % 50 = 0 THEN 'rate_limited' END, 812,
       'fake', '0123456789ab', '["model","stream","messages"]', '[]', 230, 180 FROM generate_series(0, $1 - 1) AS n`,
    [count],
  )
  await client.query('VACUUM ANALYZE')
}

/** A connection that does not care for crashes. From the write-ahead log there is no way to no log but by the other one. */
function openLoose(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false })
  db.exec(
    'PRAGMA journal_mode = DELETE; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -524288; PRAGMA temp_store = MEMORY',
  )
  return db
}
