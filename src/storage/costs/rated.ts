import type { ChargeRule } from '../../domain/charge.ts'
import { type PlainCostQuery, quarterMs, type RatedImages } from '../../domain/costs.ts'
import { selectIn } from '../select-in.ts'
import type { QueryProgram } from '../query.ts'
import { text, textOrNull, toLine, whole } from '../rows.ts'
import { readPass, readTail } from './plain.ts'
import { spansOver } from './spans.ts'
import { matchesQuery, placesOf } from './statements.ts'
import { type Kind, nameOfKind, toKind } from './sums.ts'

export type RatedQuery = Pick<PlainCostQuery, 'since' | 'until' | 'where'>

/**
 * Settled images whose tier was not determined by the returned image, grouped by the way they were priced; without
 * refunded ones.
 */
export function* readRated(query: RatedQuery): QueryProgram<readonly RatedImages[]> {
  const { since, until, where } = query
  const pass = yield* readPass()
  const { sums } = yield* readTail(pass.number)
  const byId = new Map<number, number>()
  const places = placesOf(where, null)
  const sql = `SELECT s.kind AS kind, sum(s.images) AS images FROM cost_place p JOIN cost_image_sum s ON s.place = p.id
    WHERE ${places.sql} AND s.span IN (…) GROUP BY s.kind`
  const spans = spansOver(Math.floor(since / quarterMs), Math.floor(until / quarterMs), pass)
  for (const row of yield* selectIn(sql, spans, places.params))
    byId.set(whole(row, 'kind'), (byId.get(whole(row, 'kind')) ?? 0) + whole(row, 'images'))
  const found = new Map<string, { readonly kind: Kind; images: number }>()
  const add = (kind: Kind, images: number): void => {
    const name = nameOfKind(kind)
    const same = found.get(name)
    if (same) same.images += images
    else found.set(name, { kind, images })
  }
  for (const { place, kind, images } of sums.kinds()) if (matchesQuery(place, query)) add(kind, images)
  for (const row of yield* selectIn('SELECT * FROM cost_kind WHERE id IN (…)', [...byId.keys()]))
    add(toKind(row), byId.get(whole(row, 'id')) ?? 0)
  return [...found.values()].filter(({ images }) => images > 0).map(({ kind, images }) => show(kind, images))
}

function show(kind: Kind, images: number): RatedImages {
  return {
    model: text(kind, 'model'),
    size: textOrNull(kind, 'size'),
    currency: text(kind, 'currency'),
    rule: JSON.parse(text(kind, 'rule')) as ChargeRule,
    line: toLine({ ...kind, idx: 0, quantity: null }),
    images,
  }
}
