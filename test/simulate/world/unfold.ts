import type { DatabaseSync } from 'node:sqlite'

/** Unfolds a segment: one row for each of its charges, with its payers and terms next to it. SQL of the test's own. */
const booked = `SELECT s.chain, s.position, s.owner, s.epoch, s.prev_hash, s.hash, s.body, json_extract(item.value, '$[0]') AS id, item.value AS item,
    json_extract(s.body, '$[' || json_extract(item.value, '$[1]') || ']') AS payer,
    json_extract(s.body, '$[' || json_extract(item.value, '$[2]') || ']') AS terms,
    json_extract(s.body, '$[0].at') + json_extract(item.value, '$[3]') AS at
  FROM main.segment s, json_each(s.body) item WHERE item.type = 'array'`

const lines = `SELECT b.*, kind.key AS idx, kind.value AS kind,
    json_extract(b.item, '$[' || (4 + 2 * kind.key) || ']') AS price,
    json_extract(b.item, '$[' || (5 + 2 * kind.key) || ']') AS quantity
  FROM (${booked}) b, json_each(b.terms, '$.lines') kind`

const term = (name: string): string => `json_extract(terms, '$.${name}')`
const who = (name: string): string => `json_extract(payer, '$.${name}')`
/** The cost of a charge in a segment: the sum of its own lines, whose prices are in its item. */
const amount = `(SELECT sum(json_extract(b.item, '$[' || (4 + 2 * kind.key) || ']')) FROM json_each(b.terms, '$.lines') kind)`

const views = {
  charge: `SELECT * FROM main.charge UNION ALL SELECT id, ${['key_id', 'user_name', 'group_name'].map(who).join(', ')},
    ${['operation', 'model', 'family', 'upstream', 'config_revision', 'currency', 'size', 'quality', 'n', 'rule'].map(term).join(', ')},
    'settled', NULL, 0, ${amount}, json_array_length(terms, '$.lines'), ${term('delivery')}, owner, epoch, NULL, NULL, NULL,
    at, at, 0, NULL, NULL, NULL, ${who('attribution')} FROM (${booked}) b`,
  line: `SELECT * FROM main.line UNION ALL SELECT id, idx, json_extract(kind, '$[0]'), json_extract(kind, '$[1]'), NULL, NULL,
    price, json_extract(kind, '$[2]'), quantity, NULL FROM (${lines})`,
  entry: `SELECT * FROM main.entry UNION ALL SELECT * FROM main.reversal
    UNION ALL SELECT chain, position, id, 'settle', 'key:' || ${who('key_id')}, 'sales', ${amount}, 'gateway', NULL, at, NULL,
      prev_hash, hash, 0 FROM (${booked}) b`,
} as const

/**
 * From now on, charges in segments appear next to the others in this connection's `charge`, `line` and `entry`:
 * an entry has the position and the hash of its segment.
 */
export function unfoldSegments(db: DatabaseSync): void {
  for (const [name, sql] of Object.entries(views)) db.exec(`CREATE TEMP VIEW ${name} AS ${sql}`)
}
