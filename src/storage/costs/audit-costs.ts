import { costParts } from '../../domain/costs.ts'
import { ask, type QueryProgram, type Row, type Value } from '../query.ts'
import { text, whole } from '../rows.ts'
import { eachLabelled } from './label-sums.ts'
import { addPlaces } from './places.ts'
import { readPass } from './plain.ts'
import { isRebuilding } from './rebuild.ts'
import {
  dayLength,
  dayOfRow,
  foldedSpans,
  lengthCount,
  lengthOfSpan,
  numbersOf,
  type Pass,
  type PassNumber,
} from './spans.ts'
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
const byDay = `SELECT ${dayOfRow('s.span')} AS day, s.currency, ${counted} FROM cost_part_sum s
  WHERE s.part = '' AND ${inPass} AND (s.${lengthOfSpan} = ${dayLength} AND s.span < ? OR s.${lengthOfSpan} = 0 AND s.span >= ?)
  GROUP BY 1, s.currency`

/** Sums of one table that have the names of `facts`. `detail`: each charge is in a place of every detail. */
type Check = {
  readonly what: Name[0]
  readonly facts: readonly string[]
  readonly from: string
  readonly counts?: readonly (keyof Counts)[]
  readonly hasDetail?: boolean
}

const labelPlaces = 'cost_label_sum s JOIN cost_label_place p ON p.id = s.place'
const checks: readonly Check[] = [
  { what: 'by', facts: ['s.part', 's.what', 's.currency'], from: 'cost_part_sum s' },
  {
    what: 'of',
    facts: ['p.model', 'p.tier', 'p.currency'],
    from: 'cost_place_sum s JOIN cost_place p ON p.id = s.place',
    hasDetail: true,
  },
  {
    what: 'priced',
    facts: kindColumns.map(name => `k.${name}`),
    from: 'cost_image_sum s JOIN cost_place p ON p.id = s.place JOIN cost_kind k ON k.id = s.kind',
    counts: ['images'],
    hasDetail: true,
  },
  {
    what: 'key',
    facts: ['s.key_id', 'p.model', 'p.currency'],
    from: 'cost_key_sum s JOIN cost_place p ON p.id = s.place',
    counts: ['amount'],
  },
  { what: 'label', facts: ['s.kind', 's.label', 's.currency'], from: 'cost_label_part s' },
  { what: 'modelled', facts: ['s.kind', 's.label', 's.model', 's.currency'], from: 'cost_label_model s' },
  { what: 'labelled', facts: ['p.kind', 'p.label', 'p.model', 'p.tier', 'p.currency'], from: labelPlaces },
]
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
  yield* tallyCharges(tally, pass.number, report)
  for (const check of checks) yield* takeSums(tally, check, pass)
  const [, , days] = foldedSpans(pass)
  for (const row of yield ask(byDay, ...numbersOf(pass.number), days?.longEnd ?? 0, days?.quarterEnd ?? 0))
    tally.take(['day', whole(row, 'day'), text(row, 'currency')], '', countsOf(row))
  const lengths = Array.from({ length: lengthCount }, (_, i) => ` ${i}`)
  const copies = new Map(
    checks.map(({ what, hasDetail }) => [
      what,
      hasDetail ? details.flatMap(detail => lengths.map(length => `${detail}${length}`)) : lengths,
    ]),
  )
  tally.reportOthers(copies.set('day', ['']), report)
}

/**
 * Compares the sums of a table, once for each length of spans: the spans of this length that are over, and after them
 * the quarters.
 */
function* takeSums(tally: Tally, { what, facts, from, counts, hasDetail }: Check, pass: Pass): QueryProgram<void> {
  const ends = foldedSpans(pass)
  const longer = ends.slice(1)
  // A longer span: its length. A quarter: after 8, the number of lengths that have it in a longer span.
  const band = `CASE s.${lengthOfSpan} ${longer.map((_, i) => `WHEN ${i + 1} THEN CASE WHEN s.span < ? THEN ${i + 1} ELSE -1 END`).join(' ')}
    ELSE CASE ${longer.map((_, i) => `WHEN s.span < ? THEN ${lengthCount - 1 - i + quarterBand}`).join(' ')} ELSE ${quarterBand} END END`
  const named = facts.map((fact, i) => `${fact} AS fact${i}`)
  const groups = [...facts, ...(hasDetail ? ['p.detail'] : []), 'band'].join(', ')
  const rows = yield ask(
    `SELECT ${named.join(', ')}, ${hasDetail ? 'p.detail' : `''`} AS detail, ${band} AS band,
      ${(counts ?? countNames).map(name => `sum(s.${name}) AS ${name}`).join(', ')} FROM ${from} WHERE ${inPass} GROUP BY ${groups}`,
    ...longer.map(({ longEnd }) => longEnd),
    ...longer.map(({ quarterEnd }) => quarterEnd).toReversed(),
    ...numbersOf(pass.number),
  )
  const found = new Map<string, { readonly name: Name; readonly copy: string; readonly counts: Counts }>()
  for (const row of rows) {
    const name = nameOfRow(what, facts, row)
    const own = countsOf(row, counts)
    for (const length of lengthsOf(whole(row, 'band'))) {
      const copy = `${text(row, 'detail')} ${length}`
      const known = found.get(JSON.stringify([name, copy]))
      if (known) addCounts(known.counts, own)
      else found.set(JSON.stringify([name, copy]), { name, copy, counts: { ...own } })
    }
  }
  for (const { name, copy, counts } of found.values()) tally.take(name, copy, counts)
}

const quarterBand = 8

/** The lengths of spans for which a band of rows counts. */
function lengthsOf(band: number): readonly number[] {
  if (band < quarterBand) return band > 0 ? [band] : []
  const all = Array.from({ length: lengthCount }, (_, length) => length)
  return all.filter(length => length === 0 || length > band - quarterBand)
}

function nameOfRow(what: Name[0], facts: readonly string[], row: Row): Name {
  const values = facts.map((_, i) => row[`fact${i}`] ?? null)
  if (what !== 'priced') return [what, ...values]
  return [what, nameOfKind(toKind(Object.fromEntries(kindColumns.map((column, i) => [column, values[i] as Value]))))]
}

function* tallyCharges(tally: Tally, pass: PassNumber, report: (problem: string) => void): QueryProgram<void> {
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

  reportOthers(copies: ReadonlyMap<Name[0], readonly string[]>, report: (problem: string) => void): void {
    for (const { name, counts, found } of this.#all.values())
      if (!isNothing(counts) && copies.get(name[0])?.some(copy => !found.has(copy)))
        report(`the cost sum (${name.join(' ').slice(0, 200)}) differs from the charges`)
  }
}

function isNothing(counts: Counts): boolean {
  return countNames.every(name => counts[name] === 0)
}

function countsOf(row: Row, names: readonly (keyof Counts)[] = countNames): Counts {
  const counts = { ...noCounts }
  for (const name of names) counts[name] = whole(row, name)
  return counts
}

function amountOnly(amount: number): Counts {
  return { ...noCounts, amount }
}

function imagesOnly(images: number): Counts {
  return { ...noCounts, images }
}
