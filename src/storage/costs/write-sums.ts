import { hash } from 'node:crypto'
import { costParts } from '../../domain/costs.ts'
import { type LabelKind, labelKinds } from '../../domain/labels.ts'
import { selectIn, selectInLists } from '../select-in.ts'
import { insertRows } from '../insert-rows.ts'
import { ask, type QueryProgram, type Row, type Value } from '../query.ts'
import { text, whole } from '../rows.ts'
import { type Pass, spansAround } from './spans.ts'
import { eachLabelled } from './label-sums.ts'
import {
  addCounts,
  columnOf,
  countsIn,
  type CostSums,
  type Counts,
  countNames,
  factColumns,
  kindColumns,
  nameOfKind,
  noCounts,
  type Place,
} from './sums.ts'

/** The details of places: without users and keys, with users, or with users and keys. */
export const details = ['all', 'user', 'key'] as const
export type Detail = (typeof details)[number]

const placeColumns = ['id', 'detail', ...factColumns]
const kindRow = ['id', 'hash', ...kindColumns]

/** Adds sums to those of a pass: each sum to every span that contains it. The caller must have locked the sums. */
export function* writeSums(sums: CostSums, pass: Pass): QueryProgram<void> {
  const places = new Places()
  const noted = Array.from(sums.all(), ({ place, counts }) => ({
    place,
    counts,
    own: details.map(detail => places.note(place, detail)),
    ofKey: places.note(beforeTiers(place), 'all'),
  }))
  const images = Array.from(sums.kinds(), sum => ({
    ...sum,
    own: details.map(detail => places.note(sum.place, detail)),
  }))
  yield* places.find()
  const [parts, all, priced] = [new Rows('cost_part_sum'), new Rows('cost_place_sum'), new Rows('cost_image_sum')]
  const ofKeys = new Rows('cost_key_sum')
  for (const { place, counts, own, ofKey } of noted)
    for (const span of spansAround(place.quarter, pass)) {
      for (const { id } of own) all.add([id, span], counts)
      for (const part of ['', ...costParts] as const)
        parts.add([part, span, part === '' ? '' : place[columnOf[part]], place.currency], countsIn(part, counts))
      // A refund does not reduce the charged amount.
      if (counts.charges > 0) ofKeys.add([ofKey.id, span, place.key_id], counts)
    }
  const kinds = yield* findKinds(sums)
  for (const { place, kind, images: count, own } of images)
    for (const span of spansAround(place.quarter, pass))
      for (const { id } of own) priced.add([id, span, kinds.get(nameOfKind(kind)) ?? 0], { ...noCounts, images: count })
  yield* parts.write(['part', 'span', 'what', 'currency'], countNames)
  yield* all.write(['place', 'span'], countNames)
  yield* priced.write(['place', 'span', 'kind'], ['images'])
  yield* ofKeys.write(['place', 'span', 'key_id'], ['amount'])
  yield* writeLabelSums(sums, pass)
}

/** The same by end users and tags, for charges with labels. */
function* writeLabelSums(sums: CostSums, pass: Pass): QueryProgram<void> {
  const [parts, models] = [new Rows('cost_label_part'), new Rows('cost_label_model')]
  const [all, places] = [new Rows('cost_label_sum'), new LabelPlaces()]
  const labelled = [...eachLabelled(sums)]
  if (labelled.length === 0) return
  for (const { kind, label, place } of labelled) places.note(kind, label, place)
  yield* places.find()
  for (const { kind, label, place, counts } of labelled)
    for (const span of spansAround(place.quarter, pass)) {
      parts.add([kind, span, label, place.currency], countsIn('', counts))
      models.add([kind, place.model, span, label, place.currency], countsIn('', counts))
      all.add([places.idOf(kind, label, place), span], counts)
    }
  yield* parts.write(['kind', 'span', 'label', 'currency'], countNames)
  yield* models.write(['kind', 'model', 'span', 'label', 'currency'], countNames)
  yield* all.write(['place', 'span'], countNames)
}

/** The place of a key's total, which does not distinguish tiers either. */
export function beforeTiers(place: Place): Place {
  return { ...place, tier: '' }
}

/** Rows by their key. Each is in a statement once, because a statement of PostgreSQL cannot change a row twice. */
class Rows {
  readonly #table: string
  readonly #rows = new Map<
    string,
    { readonly key: readonly Value[]; counts: { -readonly [N in keyof Counts]: number } }
  >()

  constructor(table: string) {
    this.#table = table
  }

  add(key: readonly Value[], counts: Counts): void {
    const name = JSON.stringify(key)
    const row = this.#rows.get(name)
    if (row) addCounts(row.counts, counts)
    else this.#rows.set(name, { key, counts: { ...counts } })
  }

  *write(keyNames: readonly string[], names: readonly (keyof Counts)[]): QueryProgram<void> {
    const rows = [...this.#rows.values()].map(({ key, counts }) => [...key, ...names.map(name => counts[name])])
    for (let at = 0; at < rows.length; ) {
      const many = rows.length - at >= rowsTogether ? rowsTogether : 1
      const sql = addTo(this.#table, keyNames, names, many)
      yield ask(sql, ...rows.slice(at, at + many).flat())
      at += many
    }
  }
}

const rowsTogether = 32
/** Cached statements by table and number of rows. */
const statements = new Map<string, string>()

function addTo(table: string, keyNames: readonly string[], names: readonly string[], many: number): string {
  const name = `${table} ${many}`
  let sql = statements.get(name)
  if (sql === undefined) {
    const columns = [...keyNames, ...names]
    const row = `(${columns.map(() => '?').join(', ')})`
    const sums = names.map(count => `${count} = ${table}.${count} + excluded.${count}`)
    sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${Array(many).fill(row).join(', ')}
      ON CONFLICT (${keyNames.join(', ')}) DO UPDATE SET ${sums.join(', ')}`
    statements.set(name, sql)
  }
  return sql
}

type Facts = Omit<Place, 'quarter' | 'attribution'>

/** A place in one detail. Its id is known once all places are found. */
type Noted = { readonly facts: Facts; id: number }

/** The ids of places in all details; writes unknown places. */
class Places {
  readonly #noted: { readonly [D in Detail]: Map<string, Noted> } = { all: new Map(), user: new Map(), key: new Map() }

  note(place: Place, detail: Detail): Noted {
    const facts = factsOf(place, detail)
    const name = nameOfFacts(facts)
    const known = this.#noted[detail].get(name)
    if (known) return known
    const fresh = { facts, id: 0 }
    this.#noted[detail].set(name, fresh)
    return fresh
  }

  *find(): QueryProgram<void> {
    for (const detail of details) {
      const noted = this.#noted[detail]
      const found = new Map(
        [...noted.values()].map(({ facts: { key_id, user_name, model } }) => {
          const list = [key_id, user_name, model]
          return [JSON.stringify(list), list]
        }),
      )
      for (const row of yield* selectInLists(knownPlaces, [...found.values()], [detail])) {
        const one = noted.get(nameOfFacts(row as Facts & Row))
        if (one) one.id = whole(row, 'id')
      }
      const fresh = [...noted.values()].filter(({ id }) => id === 0)
      if (fresh.length === 0) continue
      let last = yield* lastOf('cost_place')
      for (const one of fresh) one.id = ++last
      yield* insertRows(
        'cost_place',
        placeColumns,
        fresh.map(({ facts, id }) => ({ id, detail, ...facts })),
      )
    }
  }
}

/** The ids of label places; writes unknown places. */
class LabelPlaces {
  readonly #noted = new Map<string, { readonly row: Row; id: number }>()

  note(kind: LabelKind, label: string, place: Place): void {
    const row = labelFacts(kind, label, place)
    const name = nameOfLabelled(row)
    if (!this.#noted.has(name)) this.#noted.set(name, { row, id: 0 })
  }

  idOf(kind: LabelKind, label: string, place: Place): number {
    return this.#noted.get(nameOfLabelled(labelFacts(kind, label, place)))?.id ?? 0
  }

  *find(): QueryProgram<void> {
    for (const kind of labelKinds) {
      const labels = [...this.#noted.values()].flatMap(({ row }) => (row['kind'] === kind ? [text(row, 'label')] : []))
      const known = `SELECT id, ${labelColumns.join(', ')} FROM cost_label_place WHERE kind = ? AND label IN (…)`
      for (const row of yield* selectIn(known, [...new Set(labels)], [kind])) {
        const one = this.#noted.get(nameOfLabelled(row))
        if (one) one.id = whole(row, 'id')
      }
    }
    const fresh = [...this.#noted.values()].filter(({ id }) => id === 0)
    if (fresh.length === 0) return
    let last = yield* lastOf('cost_label_place')
    for (const one of fresh) one.id = ++last
    yield* insertRows(
      'cost_label_place',
      ['id', ...labelColumns],
      fresh.map(({ row, id }) => ({ id, ...row })),
    )
  }
}

const labelColumns = ['kind', 'label', ...factColumns] as const

function labelFacts(kind: LabelKind, label: string, place: Place): Row {
  return { kind, label, ...Object.fromEntries(factColumns.map(column => [column, place[column]])) }
}

function nameOfLabelled(row: Row): string {
  return JSON.stringify(labelColumns.map(column => row[column]))
}

/** These columns are the first of the index. */
const knownPlaces = `SELECT id, ${factColumns.join(', ')} FROM cost_place
  WHERE detail = ? AND (key_id, user_name, model) IN (…)`

function factsOf(place: Place, detail: Detail): Facts {
  const { group_name, model, operation, upstream, currency, tier } = place
  return {
    key_id: detail === 'key' ? place.key_id : '',
    user_name: detail === 'all' ? '' : place.user_name,
    group_name,
    model,
    operation,
    upstream,
    currency,
    tier,
  }
}

function nameOfFacts(facts: Facts): string {
  return JSON.stringify(factColumns.map(column => facts[column]))
}

/** The ids of the kinds in some sums, by kind name; writes unknown kinds. */
function* findKinds(sums: CostSums): QueryProgram<ReadonlyMap<string, number>> {
  const noted = new Map(Iterator.from(sums.kinds()).map(({ kind }) => [nameOfKind(kind), kind]))
  const byHash = new Map(noted.keys().map(name => [hash('sha256', name), name]))
  const found = new Map<string, number>()
  for (const row of yield* selectIn('SELECT id, hash FROM cost_kind WHERE hash IN (…)', [...byHash.keys()]))
    found.set(byHash.get(text(row, 'hash')) ?? '', whole(row, 'id'))
  const fresh = [...byHash].filter(([, name]) => !found.has(name))
  if (fresh.length === 0) return found
  let last = yield* lastOf('cost_kind')
  const rows = fresh.map(([digest, name]) => ({ ...noted.get(name), id: ++last, hash: digest }))
  for (const [i, [, name]] of fresh.entries()) found.set(name, rows[i]?.id ?? 0)
  yield* insertRows('cost_kind', kindRow, rows)
  return found
}

function* lastOf(table: 'cost_place' | 'cost_label_place' | 'cost_kind'): QueryProgram<number> {
  const [row] = yield ask(`SELECT coalesce(max(id), 0) AS last FROM ${table}`)
  return whole(row ?? {}, 'last')
}
