import { costParts } from '../../domain/costs.ts'
import { ask, type Query, type QueryProgram, type Row, type Value } from '../query.ts'
import { text, whole } from '../rows.ts'
import { eachLabelled } from './label-sums.ts'
import { addPlaces } from './places.ts'
import { readPass } from './plain.ts'
import { isRebuilding } from './rebuild.ts'
import { dayLength, dayOfSpan, lengthCount, lengthOfSpan, numbersOf, type Pass } from './spans.ts'
import {
  addCounts,
  columnOf,
  CostSums,
  countNames,
  countsIn,
  type Counts,
  kindColumns,
  nameOfKind,
  noCounts,
  toKind,
} from './sums.ts'
import { details } from './write-sums.ts'

const quartersADay = 96
const counted = countNames.map(name => `sum(s.${name}) AS ${name}`).join(', ')
const inPass = 's.span >= ? AND s.span < ?'
const byPart = `SELECT s.part, s.what, s.currency, s.${lengthOfSpan} AS length, ${counted} FROM cost_part_sum s WHERE ${inPass}
  GROUP BY s.part, s.what, s.currency, s.${lengthOfSpan}`
const byModel = `SELECT p.model, p.tier, p.currency, p.detail, s.${lengthOfSpan} AS length, ${counted}
  FROM cost_place_sum s JOIN cost_place p ON p.id = s.place WHERE ${inPass}
  GROUP BY p.model, p.tier, p.currency, p.detail, s.${lengthOfSpan}`
const byDay = `SELECT s.span, s.currency, ${counted} FROM cost_part_sum s
  WHERE s.part = '' AND ${inPass} AND s.${lengthOfSpan} = ${dayLength} GROUP BY s.span, s.currency`
const byKind = `SELECT ${kindColumns.map(name => `k.${name}`).join(', ')}, p.detail, s.${lengthOfSpan} AS length, sum(s.images) AS images
  FROM cost_image_sum s JOIN cost_place p ON p.id = s.place JOIN cost_kind k ON k.id = s.kind WHERE ${inPass}
  GROUP BY k.id, p.detail, s.${lengthOfSpan}`
const byKey = `SELECT s.key_id, p.model, p.currency, s.${lengthOfSpan} AS length, sum(s.amount) AS amount
  FROM cost_key_sum s JOIN cost_place p ON p.id = s.place WHERE ${inPass} GROUP BY s.key_id, p.model, p.currency, s.${lengthOfSpan}`
const byLabel = `SELECT s.kind, s.label, s.currency, s.${lengthOfSpan} AS length, ${counted} FROM cost_label_part s WHERE ${inPass}
  GROUP BY s.kind, s.label, s.currency, s.${lengthOfSpan}`
const byModelOfLabel = `SELECT s.kind, s.label, s.model, s.currency, s.${lengthOfSpan} AS length, ${counted}
  FROM cost_label_model s WHERE ${inPass} GROUP BY s.kind, s.label, s.model, s.currency, s.${lengthOfSpan}`
const byLabelAndModel = `SELECT p.kind, p.label, p.model, p.tier, p.currency, s.${lengthOfSpan} AS length, ${counted}
  FROM cost_label_sum s JOIN cost_label_place p ON p.id = s.place WHERE ${inPass}
  GROUP BY p.kind, p.label, p.model, p.tier, p.currency, s.${lengthOfSpan}`
const progress = `SELECT s.chain, s.position, coalesce(c.position, 0) AS last
  FROM cost_progress s LEFT JOIN chain c ON c.id = s.chain WHERE s.pass = ? ORDER BY s.chain`

/**
 * Compares the cost sums with the charges that have been added up: by each part, and by model and tier, in spans of
 * every length and places of every detail; by day; images by the way they were priced; and keys by model.
 */
export function* auditCosts(report: (problem: string) => void): QueryProgram<void> {
  const pass = yield* readPass()
  // Until a rebuild ends, the sums may be of a version that stored fewer counts.
  const kept = (yield* isRebuilding())
    ? countNames.filter(name => name !== 'quantity' && name !== 'tokens' && name !== 'saved')
    : countNames
  const tally = new Tally(kept)
  yield* tallyCharges(tally, pass, report)
  const read = (sql: string): Query => ask(sql, ...numbersOf(pass))
  const lengths = Array.from({ length: lengthCount }, (_, i) => String(i))
  for (const row of yield read(byPart))
    tally.take(
      ['by', text(row, 'part'), text(row, 'what'), text(row, 'currency')],
      String(whole(row, 'length')),
      countsOf(row),
    )
  for (const row of yield read(byModel))
    tally.take(
      ['of', text(row, 'model'), text(row, 'tier'), text(row, 'currency')],
      `${text(row, 'detail')} ${whole(row, 'length')}`,
      countsOf(row),
    )
  for (const row of yield read(byDay))
    tally.take(['day', dayOfSpan(whole(row, 'span'), pass), text(row, 'currency')], '', countsOf(row))
  for (const row of yield read(byKind))
    tally.take(
      ['priced', nameOfKind(toKind(row))],
      `${text(row, 'detail')} ${whole(row, 'length')}`,
      imagesOnly(whole(row, 'images')),
    )
  for (const row of yield read(byKey))
    tally.take(
      ['key', text(row, 'key_id'), text(row, 'model'), text(row, 'currency')],
      String(whole(row, 'length')),
      amountOnly(whole(row, 'amount')),
    )
  for (const row of yield read(byLabel))
    tally.take(
      ['label', text(row, 'kind'), text(row, 'label'), text(row, 'currency')],
      String(whole(row, 'length')),
      countsOf(row),
    )
  for (const row of yield read(byModelOfLabel))
    tally.take(
      ['modelled', text(row, 'kind'), text(row, 'label'), text(row, 'model'), text(row, 'currency')],
      String(whole(row, 'length')),
      countsOf(row),
    )
  for (const row of yield read(byLabelAndModel))
    tally.take(
      ['labelled', text(row, 'kind'), text(row, 'label'), text(row, 'model'), text(row, 'tier'), text(row, 'currency')],
      String(whole(row, 'length')),
      countsOf(row),
    )
  const inDetail = details.flatMap(detail => lengths.map(length => `${detail} ${length}`))
  const copies = {
    by: lengths,
    of: inDetail,
    day: [''],
    priced: inDetail,
    key: lengths,
    label: lengths,
    modelled: lengths,
    labelled: lengths,
  }
  tally.reportOthers(copies, report)
}

function* tallyCharges(tally: Tally, pass: Pass, report: (problem: string) => void): QueryProgram<void> {
  for (const row of yield ask(progress, pass)) {
    const [chain, position, last] = [text(row, 'chain'), whole(row, 'position'), whole(row, 'last')]
    if (position > last) report(`the cost sums cover ${position} positions of chain ${chain}, but it has ${last}`)
    for (let at = 0; at < Math.min(position, last); ) {
      const sums = new CostSums()
      at = (yield* addPlaces(sums, chain, at, Math.min(position, last))).upto
      for (const { place, counts } of sums.all()) {
        const { currency } = place
        for (const part of ['', ...costParts] as const)
          tally.add(['by', part, part === '' ? '' : place[columnOf[part]], currency], countsIn(part, counts))
        tally.add(['of', place.model, place.tier, currency], counts)
        tally.add(['key', place.key_id, place.model, currency], amountOnly(counts.amount))
        tally.add(['day', Math.floor(place.quarter / quartersADay), currency], countsIn('', counts))
      }
      for (const { kind, label, place, counts } of eachLabelled(sums)) {
        tally.add(['label', kind, label, place.currency], countsIn('', counts))
        tally.add(['modelled', kind, label, place.model, place.currency], countsIn('', counts))
        tally.add(['labelled', kind, label, place.model, place.tier, place.currency], counts)
      }
      for (const { kind, images } of sums.kinds()) tally.add(['priced', nameOfKind(kind)], imagesOnly(images))
    }
  }
}

type Name = readonly [
  what: 'by' | 'of' | 'day' | 'priced' | 'key' | 'label' | 'modelled' | 'labelled',
  ...rest: Value[],
]
type Tallied = {
  readonly name: Name
  readonly counts: { -readonly [N in keyof Counts]: number }
  /** The copies with the correct sum. */
  readonly found: Set<string>
}

/** Sums of charges, each of which is stored in several copies. */
class Tally {
  readonly #kept: readonly (keyof Counts)[]
  readonly #all = new Map<string, Tallied>()

  /** `kept`: the counts that are compared with the charges. */
  constructor(kept: readonly (keyof Counts)[]) {
    this.#kept = kept
  }

  add(name: Name, counts: Counts): void {
    const known = this.#all.get(JSON.stringify(name))
    if (known) addCounts(known.counts, counts)
    else this.#all.set(JSON.stringify(name), { name, counts: { ...counts }, found: new Set() })
  }

  /** Compares a sum with a stored copy. */
  take(name: Name, copy: string, counts: Counts): void {
    const known = this.#all.get(JSON.stringify(name))
    if (known && this.#kept.every(count => known.counts[count] === counts[count])) known.found.add(copy)
    // A sum without a charge: no copy equals NaN, so it is reported.
    else if (!known && !isNothing(counts)) this.add(name, { ...counts, charges: Number.NaN })
  }

  reportOthers(copies: { readonly [N in Name[0]]: readonly string[] }, report: (problem: string) => void): void {
    for (const { name, counts, found } of this.#all.values())
      if (!isNothing(counts) && copies[name[0]].some(copy => !found.has(copy)))
        report(`the cost sum (${name.join(' ').slice(0, 200)}) differs from the charges`)
  }
}

function isNothing(counts: Counts): boolean {
  return countNames.every(name => counts[name] === 0)
}

function countsOf(row: Row): Counts {
  const counts = { ...noCounts }
  for (const name of countNames) counts[name] = whole(row, name)
  return counts
}

function amountOnly(amount: number): Counts {
  return { ...noCounts, amount }
}

function imagesOnly(images: number): Counts {
  return { ...noCounts, images }
}
