import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { DatabaseSync } from 'node:sqlite'
import { type CostQuery, labelKinds, quarterMs } from '../src/domain/index.ts'
import { readCosts } from '../src/storage/costs/read.ts'
import { dayLength, spansAround } from '../src/storage/costs/spans.ts'
import { openStorage } from '../src/storage/index.ts'
import { Connection } from '../src/storage/sqlite/connect.ts'
import { systemClock } from '../src/util/index.ts'
import { onlyErrors } from './fill.ts'
import { median } from './measure.ts'

// `node bench/label-costs.ts`: fills an SQLite file with the maximum number of sums of 1,000,000 charges over 30 days,
// for 1,000 end users and 50 tags (every end user with every model, every tag with every key and model, each day),
// and times Costs by each. Days are those of UTC: spans of less than a day are omitted.

const [endUsers, tags, keys, models, days] = [1_000, 50, 100, 4, 30]
const charges = 1_000_000
const runs = 9
const dayMs = 86_400_000
const from = Date.UTC(2026, 9, 1)
/** The end of long spans, in quarters of an hour: after all charges. */
const folded = 1_536 * 10_000

const series = (name: string, count: number): string =>
  `${name}(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM ${name} WHERE n + 1 < ${count})`
const facts = `key_id, user_name, group_name, model, operation, upstream, currency, tier`
const counts = 'charges, firsts, images, amount, refunded, quantity, tokens'

/** The days, and the longer spans that they are part of. */
function spansOfDays(): readonly number[] {
  const spans = new Set<number>()
  for (let day = 0; day < days; day++)
    for (const span of spansAround((from + day * dayMs) / quarterMs, { number: 0, folded }))
      if (span % 8 >= dayLength) spans.add(span)
  return [...spans]
}

function fill(db: DatabaseSync): void {
  const spans = spansOfDays()
    .map(span => `(${span})`)
    .join(', ')
  const perRow = (rows: number): string => {
    const each = Math.max(1, Math.round(charges / rows))
    return `${each}, ${each}, 0, ${each} * (1 + abs(random() % 900)), 0, ${each * 10}, ${each * 10}`
  }
  const ofEndUsers = endUsers * models * 2
  const ofTags = tags * keys * models * 2
  db.exec(`BEGIN; UPDATE cost_fold SET folded = ${folded}, target = ${folded};
    WITH RECURSIVE ${series('l', endUsers)} INSERT INTO label (id, kind, name, created_at, seen_at)
      SELECT 'eu_' || n, 'end_user', 'end user ' || n, 0, 0 FROM l;
    WITH RECURSIVE ${series('l', tags)} INSERT INTO label (id, kind, name, created_at, seen_at)
      SELECT 'tag_' || n, 'tag', 'tag ' || n, 0, 0 FROM l;
    CREATE TEMP TABLE tiers (tier); INSERT INTO tiers VALUES ('input'), ('output');
    CREATE TEMP TABLE spans (span); INSERT INTO spans VALUES ${spans};
    WITH RECURSIVE ${series('l', endUsers)}, ${series('m', models)} INSERT INTO cost_label_place (kind, label, ${facts})
      SELECT 'end_user', 'eu_' || l.n, 'key_' || (l.n % ${keys}), 'user ' || (l.n % 20), 'default', 'model ' || m.n, 'chat', 'text', 'USD', tier
      FROM l, m, tiers;
    WITH RECURSIVE ${series('l', tags)}, ${series('k', keys)}, ${series('m', models)} INSERT INTO cost_label_place (kind, label, ${facts})
      SELECT 'tag', 'tag_' || l.n, 'key_' || k.n, 'user ' || (k.n % 20), 'default', 'model ' || m.n, 'chat', 'text', 'USD', tier
      FROM l, k, m, tiers;
    INSERT INTO cost_label_place (kind, label, ${facts}) SELECT DISTINCT kind, '*', ${facts} FROM cost_label_place;
    INSERT INTO cost_label_sum (place, span, ${counts}) SELECT id, span, ${perRow((ofEndUsers + ofTags) * days)}
      FROM cost_label_place, spans ORDER BY id, span;
    INSERT INTO cost_label_part (kind, span, label, currency, ${counts})
      SELECT p.kind, s.span, p.label, p.currency, sum(s.firsts), sum(s.firsts), 0, sum(s.amount), 0, sum(s.quantity), sum(s.tokens)
      FROM cost_label_sum s JOIN cost_label_place p ON p.id = s.place GROUP BY 1, 2, 3, 4;
    INSERT INTO cost_label_model (kind, model, span, label, currency, ${counts})
      SELECT p.kind, p.model, s.span, p.label, p.currency, sum(s.firsts), sum(s.firsts), 0, sum(s.amount), 0, sum(s.quantity), sum(s.tokens)
      FROM cost_label_sum s JOIN cost_label_place p ON p.id = s.place GROUP BY 1, 2, 3, 4, 5;
    INSERT INTO cost_part_sum (part, span, what, currency, ${counts})
      SELECT '', span, '', currency, ${counts} FROM cost_label_part WHERE kind = 'tag' AND label = '*';
    INSERT INTO cost_place (detail, ${facts}) SELECT DISTINCT 'key', ${facts} FROM cost_label_place WHERE kind = 'tag';
    INSERT INTO cost_place (detail, ${facts}) SELECT DISTINCT 'user', '', user_name, group_name, model, operation, upstream, currency, tier
      FROM cost_label_place WHERE kind = 'tag';
    INSERT INTO cost_place (detail, ${facts}) SELECT DISTINCT 'all', '', '', group_name, model, operation, upstream, currency, tier
      FROM cost_label_place WHERE kind = 'tag';
    INSERT INTO cost_place_sum (place, span, ${counts}) SELECT id, span, ${perRow(keys * models * 2 * days)} FROM cost_place, spans;
    COMMIT; ANALYZE`)
}

const folder = mkdtempSync(join(tmpdir(), 'tollgate-labels-'))
const path = join(folder, 'tollgate.db')
await (await openStorage({ url: `sqlite:${path}`, clock: systemClock, log: onlyErrors, role: 'gateway' })).close()
const connection = new Connection(path)
try {
  const begun = performance.now()
  fill(connection.db)
  const [rows] = connection.db.prepare('SELECT count(*) AS count FROM cost_label_sum').all()
  console.log(`${Number(rows?.['count'])} sums in ${Math.round((performance.now() - begun) / 1000)} s`)
  const bars = Array.from({ length: days }, (_, day) => from + day * dayMs)
  const questions: readonly Pick<CostQuery, 'by' | 'where'>[] = [
    ...labelKinds.map(by => ({ by, where: {} })),
    ...labelKinds.map(by => ({ by, where: { model: 'model 2' } })),
    ...labelKinds.map(by => ({ by, where: { user: 'user 3' } })),
    { by: 'model', where: { end_user: 'end user 3' } },
    { by: 'key', where: { tag: 'tag 3' } },
  ]
  for (const question of questions) {
    const asked = { since: from, until: from + days * dayMs, bars, apart: 20, ...question }
    const times = Array.from({ length: runs }, () => {
      const start = performance.now()
      connection.snapshot(readCosts(asked))
      return performance.now() - start
    })
    console.log(`${median(times).toFixed(1).padStart(8)} ms  ${JSON.stringify(question)}`)
  }
} finally {
  connection.close()
  rmSync(folder, { recursive: true, force: true })
}
