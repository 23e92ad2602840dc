import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openDatabase } from '../harness/database.ts'
import { prepareSite, type Site } from '../harness/child.ts'
import { picture } from '../harness/pictures.ts'
import { askOnce } from '../harness/ask.ts'
import { startUpstream } from '../harness/upstream.ts'
import { seed, seeded } from '../harness/seed.ts'

const plugin = fileURLToPath(new URL('failpoints.ts', import.meta.url))
const alpha = { model: 'alpha-image-2', prompt: 'a boat' }

/** A database with one open charge with its line, left by a gateway, and a configuration without a failpoint. */
async function openSite(t: Test): Promise<Site> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-recovery-'))
  const upstream = await startUpstream({ data: [picture(1254, 1254)] })
  t.teardown(async () => {
    await upstream.close()
    await rm(folder, { recursive: true, force: true })
  })
  const site = await prepareSite(folder, {
    upstreams: { alpha: upstream.url, beta: upstream.url },
    edit: [['[auth, ratelimit,', `[auth, { "${plugin}": { point: after-line-0 } }, ratelimit,`]],
  })
  const dying = site.start()
  await askOnce(await dying.ready, alpha, { key: site.key })
  await dying.gone
  const file = join(folder, 'gateway.yaml')
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replace(/\{ "[^"]*failpoints\.ts".*?\} \}, /, ''))
  return site
}

const rows = Number(process.env['RECOVERY_ROWS'] ?? 5_000)
t.test(`ends ${rows} open charges in seconds, also when recovery is killed three times [B4] [B5] [B19]`, async t => {
  t.comment(`SEED=${seed}`)
  const random = seeded(seed)
  const site = await openSite(t)
  leaveOpen(site, rows)
  for (let kill = 0; kill < 3; kill++) {
    const child = site.start()
    // At random on purpose: its progress is not visible from outside.
    await sleep(100 + random() * 600)
    await child.kill()
  }
  const recoveringMs = await timeStart(site)
  const plainMs = await timeStart(site)
  t.comment(`ready ${recoveringMs} ms after its start, ${plainMs} ms when there is nothing to recover`)
  t.ok(recoveringMs - plainMs < 30_000, `recovery itself took ${Math.round(recoveringMs - plainMs)} ms`)
  const storage = await openDatabase({ url: `sqlite:${site.database}`, role: 'tool' })
  const audit = await storage.books.verify()
  t.match(
    { ...audit, problems: audit.problems.slice(0, 3) },
    { charges: rows + 1, lines: Math.floor(rows / 2) + 1, problems: [] },
  )
  t.match(await storage.keys.list({ limit: 1_000 }), [{ held: 0, spent: (Math.floor(rows / 2) + 1) * 40_000 }])
  await storage.close()
  const db = new DatabaseSync(site.database, { readOnly: true })
  const states = db
    .prepare('SELECT state, reason, count(*) AS n FROM charge GROUP BY state, reason ORDER BY state')
    .all()
  db.close()
  t.match(states, [
    { state: 'needs_review', reason: 'gateway_stopped', n: Math.ceil(rows / 2) },
    { state: 'settled', reason: 'gateway_stopped', n: Math.floor(rows / 2) + 1 },
  ])
})

/** Milliseconds from the start of a gateway to its first readiness; stops it again. */
async function timeStart(site: Site): Promise<number> {
  const before = performance.now()
  const child = site.start()
  await child.ready
  const took = Math.round(performance.now() - before)
  await child.stop()
  return took
}

/** Copies the one open charge, every second copy with its line. */
function leaveOpen({ database }: Site, count: number): void {
  const db = new DatabaseSync(database)
  const columns = db
    .prepare(`SELECT name FROM pragma_table_info('charge')`)
    .all()
    .map(row => String(row['name']))
  const change: { [column: string]: string } = {
    id: `id || printf('_%06d', copy)`,
    line_count: 'CASE WHEN copy % 2 = 0 THEN 1 ELSE 0 END',
    amount: 'CASE WHEN copy % 2 = 0 THEN amount ELSE 0 END',
  }
  const from = `(WITH RECURSIVE up(copy) AS (SELECT 1 UNION ALL SELECT copy + 1 FROM up WHERE copy < ${count}) SELECT copy FROM up)`
  db.exec(`BEGIN;
    CREATE TEMP TABLE pattern AS SELECT * FROM charge;
    CREATE TEMP TABLE pattern_line AS SELECT * FROM line;
    INSERT INTO charge (${columns.join(', ')})
      SELECT ${columns.map(name => change[name] ?? name).join(', ')} FROM pattern, ${from};
    INSERT INTO line (charge_id, idx, tier, source, width, height, price, flags)
      SELECT charge_id || printf('_%06d', copy), idx, tier, source, width, height, price, flags FROM pattern_line, ${from} WHERE copy % 2 = 0;
    UPDATE key SET held = held + (SELECT hold FROM pattern) * ${count};
    COMMIT`)
  db.close()
}
