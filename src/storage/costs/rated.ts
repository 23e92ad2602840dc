import type { ChargeRule } from '../../kit/charge.ts'
import { costParts, type CostQuestion, type Rated, type RatedImages } from '../../kit/costs.ts'
import { firstIdAt } from '../../kit/ids.ts'
import { ask, type QueryProgram, type Rows, type Value } from '../query.ts'
import { text, toLine, whole } from '../rows.ts'
import { begunAt } from '../segments/reach.ts'
import { columnOf } from './sums.ts'

export type RatedQuestion = Pick<CostQuestion, 'since' | 'until' | 'where'>

/** Images that are looked at, of each source: what comes back within a second. */
const imagesMost = 50_000
/** A charge is opened after its request has begun; by an upload, long after. */
const openedMs = 86_400_000

/** The sources of which what came back says nothing: by an index of each. */
const sources = ['request', 'default'] as const

const facts = 'c.model, c.size, c.rule, c.currency, l.tier, l.source, l.width, l.height, l.price, l.flags, l.told'
const names = facts.replaceAll(/\b[cl]\./g, '')

/** Settled images whose tier did not come from what came back, the newest first, those that are charged alike together. */
export function* readRated(question: RatedQuestion, most = imagesMost): QueryProgram<Rated> {
  const { sql, params } = statementOf(question)
  const rows: RatedImages[] = []
  let since: number | null = null
  for (const source of sources) {
    const found = yield ask(sql, source, ...params, most)
    let images = 0
    for (const row of found) {
      images += whole(row, 'images')
      rows.push({
        model: text(row, 'model'),
        size: row['size'] === null ? null : text(row, 'size'),
        currency: text(row, 'currency'),
        rule: JSON.parse(text(row, 'rule')) as ChargeRule,
        line: toLine({ ...row, idx: 0, quantity: null }),
        images: whole(row, 'images'),
      })
    }
    if (images === most) since = Math.max(since ?? 0, oldestOf(found))
  }
  return { rows, since }
}

function oldestOf(found: Rows): number {
  return found.reduce((oldest, row) => Math.min(oldest, begunAt(text(row, 'first'))), Number.POSITIVE_INFINITY)
}

function statementOf({ since, until, where }: RatedQuestion): { sql: string; params: readonly Value[] } {
  const asked = costParts.filter(part => where[part] !== undefined)
  const conditions = asked.map(part => `AND ${part === 'tier' ? 'l.tier' : `c.${columnOf[part]}`} = ?`).join(' ')
  const sql = `SELECT ${names}, count(*) AS images, min(first) AS first FROM (
    SELECT l.charge_id AS first, ${facts} FROM line l JOIN charge c ON c.id = l.charge_id
    WHERE l.source = ? AND l.quantity IS NULL AND l.charge_id >= ? AND l.charge_id < ? AND l.price > 0
      AND c.state = 'settled' AND c.created_at >= ? AND c.created_at < ? ${conditions}
      AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.charge_id = c.id AND e.kind = 'refund')
    ORDER BY l.charge_id DESC LIMIT ?) newest GROUP BY ${names}`
  const ids = [firstIdAt('req_', Math.max(since - openedMs, 0)), firstIdAt('req_', until)]
  return { sql, params: [...ids, since, until, ...asked.map(part => where[part] as string)] }
}
