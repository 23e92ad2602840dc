import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStorage } from '../../../src/index.ts'
import { startPostgres } from '../../harness/postgres.ts'
import { startRedis } from '../../harness/redis.ts'

/** The addresses of the servers that all seeds of a run share, each with databases of its own. */
export type Servers = {
  readonly postgresPort: number
  readonly redisPort: number
  /** A folder with one file for each database: its time, and its faults. */
  readonly clocks: string
}

export const template = 'world'
/** Concurrent seeds use different databases of Redis. */
export const redisDatabases = 64

/** Real servers for the duration of the run. */
export async function startServers(): Promise<Servers & { close(): Promise<void> }> {
  const ends: (() => unknown)[] = []
  const end = async (): Promise<void> => {
    for (const one of ends.splice(0).toReversed()) await one()
  }
  const clocks = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'tollgate-clocks-'))
  chmodSync(clocks, 0o755)
  ends.push(() => rmSync(clocks, { recursive: true, force: true }))
  try {
    const settings = [
      'fsync=off',
      'full_page_writes=off',
      'autovacuum=off',
      'max_connections=300',
      'shared_buffers=64MB',
    ]
    // Deadlocks must be detected before the world's time advances.
    const postgres = await startPostgres([...settings, 'deadlock_timeout=5ms', 'max_parallel_workers_per_gather=0'])
    ends.push(() => postgres.close())
    const redis = await startRedis({ teardown: run => void ends.push(run) }, '--databases', String(redisDatabases))
    const url = new URL(await postgres.createDatabase())
    const storage = await openStorage({ url: url.href, role: 'tool' })
    await storage.close()
    const client = await postgres.connect(url.href)
    await client.query(clockOf(clocks))
    for (const table of ['charge', 'line', 'key', 'entry'])
      await client.query(
        `CREATE TRIGGER world_fault BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION world_fault()`,
      )
    await client.end()
    const admin = await postgres.connect(url.href.replace(url.pathname, '/postgres'))
    await admin.query(`ALTER DATABASE ${url.pathname.slice(1)} RENAME TO ${template}`)
    await admin.end()
    return { postgresPort: Number(url.port), redisPort: Number(new URL(redis.url).port), clocks, close: end }
  } catch (error) {
    await end()
    throw error
  }
}

/** A database uses the world's clock, and every n-th row that is written fails as a file next to it says. */
function clockOf(folder: string): string {
  return `CREATE OR REPLACE FUNCTION now_ms() RETURNS BIGINT LANGUAGE sql VOLATILE AS
      $$ SELECT pg_read_file('${folder}/' || current_database())::bigint $$;
    CREATE SEQUENCE world_writes;
    CREATE FUNCTION world_fault() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE fault text := pg_read_file('${folder}/' || current_database() || '.fault');
      BEGIN
        IF fault LIKE '- %' THEN RETURN NEW; END IF;
        IF nextval('world_writes') % split_part(fault, ' ', 2)::bigint = 0 THEN
          RAISE EXCEPTION 'planted by the world' USING ERRCODE = split_part(fault, ' ', 1);
        END IF;
        RETURN NEW;
      END $$`
}
