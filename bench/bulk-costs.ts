import { hash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { isDeepStrictEqual } from 'node:util'
import { costParts } from '../src/kit/costs.ts'
import { addPlaces } from '../src/storage/costs/places.ts'
import { spansAround } from '../src/storage/costs/spans.ts'
import {
  addCounts,
  columnOf,
  CostSums,
  countNames,
  countsIn,
  type Counts,
  factColumns,
  kindColumns,
  nameOfKind,
  type Place,
} from '../src/storage/costs/sums.ts'
import { details } from '../src/storage/costs/write-sums.ts'
import { Connection } from '../src/storage/sqlite/connect.ts'

// What `addUpCosts` writes of a whole ledger, in the order in which it stands: added up commit by commit, ten million charges of
// 20,000 keys change every page of the sums again and again. `sameSums` holds the one against the other.

type Open = { -readonly [N in keyof Counts]: number }
type Facts = Omit<Place, 'quarter'>

const parts = ['', ...costParts] as const
/** Quarters of one number of a place: as many as there are in 180 years. */
const quartersMost = 2 ** 23

/** Numbers what it is given, from 1. */
class Numbers<T> {
  readonly #ids = new Map<string, number>()
  readonly all: T[] = []

  idOf(name: string, make: () => T): number {
    let id = this.#ids.get(name)
    if (id === undefined) this.#ids.set(name, (id = this.all.push(make())))
    return id
  }
}

type Part = { readonly part: string; readonly what: string; readonly currency: string }
type Kind = { readonly [column: string]: string | number | null }

/** Counts of the quarters of one pass through some charges, by the number of what they are of. */
class Batch {
  readonly #counts = new Map<number, Open>()

  add(id: number, quarter: number, counts: Counts): void {
    const key = id * quartersMost + quarter
    const known = this.#counts.get(key)
    if (known) addCounts(known, counts)
    else this.#counts.set(key, { ...counts })
  }

  write(insert: StatementSync): void {
    for (const [key, counts] of this.#counts)
      insert.run(Math.floor(key / quartersMost), key % quartersMost, ...countNames.map(name => counts[name]))
  }
}

function factsIn(place: Place, detail: (typeof details)[number]): Facts {
  const { quarter: _, ...facts } = place
  if (detail === 'key') return facts
  return { ...facts, key_id: '', ...(detail === 'all' && { user_name: '' }) }
}

/** Adds up all charges of a file that nobody has open and in which nothing is added up yet. `onStep` is told how far it is. */
export function addUpInBulk(path: string, onStep: (text: string) => void): void {
  const stagePath = `${path}.stage`
  rmSync(stagePath, { force: true })
  const connection = new Connection(path)
  const { db } = connection
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -262144')
  const stage = new DatabaseSync(stagePath)
  stage.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; PRAGMA threads = 2')
  const columns = countNames.join(', ')
  for (const table of ['place', 'part']) stage.exec(`CREATE TABLE ${table} (id INTEGER, quarter INTEGER, ${columns})`)
  stage.exec(`CREATE TABLE image (id INTEGER, quarter INTEGER, kind INTEGER, images INTEGER)`)
  stage.exec(`CREATE TABLE part_sum (part INTEGER, span INTEGER, rank INTEGER, ${columns})`)
  const marks = countNames.map(() => '?').join(', ')
  const [toPlace, toPart] = ['place', 'part'].map(table =>
    stage.prepare(`INSERT INTO ${table} VALUES (?, ?, ${marks})`),
  )
  const toImage = stage.prepare('INSERT INTO image VALUES (?, ?, ?, ?)')
  const [places, sorts, kinds] = [new Numbers<Facts & { detail: string }>(), new Numbers<Part>(), new Numbers<Kind>()]
  const placeOf = (place: Place, detail: (typeof details)[number]): number => {
    const facts = factsIn(place, detail)
    const name = JSON.stringify([detail, ...factColumns.map(column => facts[column])])
    return places.idOf(name, () => ({ detail, ...facts }))
  }
  stage.exec('BEGIN')
  let charges = 0
  const chains = connection.all({ sql: 'SELECT id, position FROM chain', params: [] })
  for (const { id, position } of chains) {
    for (let from = 0; from < Number(position); ) {
      const sums = new CostSums()
      const done = connection.run(addPlaces(sums, String(id), from, Number(position)))
      const [ofPlaces, ofParts] = [new Batch(), new Batch()]
      for (const { place, counts } of sums.all()) {
        for (const detail of details) ofPlaces.add(placeOf(place, detail), place.quarter, counts)
        for (const part of parts) {
          const what = part === '' ? '' : place[columnOf[part]]
          const { currency } = place
          const sort = sorts.idOf(JSON.stringify([part, what, currency]), () => ({ part, what, currency }))
          ofParts.add(sort, place.quarter, countsIn(part, counts))
        }
      }
      if (toPlace && toPart) {
        ofPlaces.write(toPlace)
        ofParts.write(toPart)
      }
      for (const { place, kind, images } of sums.kinds()) {
        const number = kinds.idOf(nameOfKind(kind), () => kind as Kind)
        for (const detail of details) toImage.run(placeOf(place, detail), place.quarter, number, images)
      }
      from = done.upto
      charges += done.charges
      onStep(`${charges} charges gone through`)
    }
  }
  stage.exec('COMMIT')

  db.exec('BEGIN')
  const row = (table: string, names: readonly string[]): StatementSync =>
    db.prepare(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`)
  const insertPlace = row('cost_place', ['id', 'detail', ...factColumns])
  for (const [i, facts] of places.all.entries())
    insertPlace.run(i + 1, facts.detail, ...factColumns.map(column => facts[column]))
  const insertKind = row('cost_kind', ['id', 'hash', ...kindColumns])
  for (const [i, kind] of kinds.all.entries())
    insertKind.run(
      i + 1,
      hash('sha256', nameOfKind(kind as Parameters<typeof nameOfKind>[0])),
      ...kindColumns.map(column => kind[column] ?? null),
    )
  const insertSum = row('cost_place_sum', ['place', 'span', ...countNames])
  let written = 0
  for (const [id, span, counts] of spansIn(stage, `SELECT id, quarter, ${columns} FROM place ORDER BY id, quarter`)) {
    insertSum.run(id, span, ...countNames.map(name => counts[name]))
    if (++written % 1_000_000 === 0) onStep(`${written} sums of places`)
  }
  // By name, as the table has them.
  const inOrder = sorts.all
    .map((one, i) => ({ ...one, id: i + 1 }))
    .sort((a, b) => compareTexts([a.part, a.what, a.currency], [b.part, b.what, b.currency]))
  const rankOf = new Map(inOrder.map(({ id }, rank) => [id, rank]))
  const toSum = stage.prepare(`INSERT INTO part_sum VALUES (?, ?, ?, ${marks})`)
  stage.exec('BEGIN')
  for (const [id, span, counts] of spansIn(stage, `SELECT id, quarter, ${columns} FROM part ORDER BY id, quarter`)) {
    const { part } = sorts.all[id - 1] as Part
    const place = [...parts].toSorted().indexOf(part as (typeof parts)[number])
    toSum.run(place, span, rankOf.get(id) ?? 0, ...countNames.map(name => counts[name]))
  }
  stage.exec('COMMIT')
  onStep('sums by one part are put in order')
  const insertPart = row('cost_part_sum', ['part', 'span', 'what', 'currency', ...countNames])
  for (const one of stage.prepare('SELECT * FROM part_sum ORDER BY part, span, rank').iterate()) {
    const { part, what, currency } = inOrder[Number(one['rank'])] as Part
    insertPart.run(part, Number(one['span']), what, currency, ...countNames.map(name => Number(one[name])))
  }
  const addImage = db.prepare(`INSERT INTO cost_image_sum (place, span, kind, images) VALUES (?, ?, ?, ?)
    ON CONFLICT (place, span, kind) DO UPDATE SET images = cost_image_sum.images + excluded.images`)
  for (const one of stage.prepare('SELECT * FROM image ORDER BY id, quarter, kind').iterate())
    for (const span of spansAround(Number(one['quarter']), 0))
      addImage.run(Number(one['id']), span, Number(one['kind']), Number(one['images']))
  const insertProgress = row('cost_progress', ['pass', 'chain', 'position'])
  for (const { id, position } of chains) insertProgress.run(0, String(id), Number(position))
  db.exec('COMMIT')
  stage.close()
  rmSync(stagePath)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE); ANALYZE')
  connection.close()
}

function compareTexts(a: readonly string[], b: readonly string[]): number {
  for (const [i, text] of a.entries()) {
    const order = Buffer.compare(Buffer.from(text), Buffer.from(b[i] ?? ''))
    if (order !== 0) return order
  }
  return 0
}

/** Sums of all spans of what stands in order, one number after the other, each in the order of the spans. */
function* spansIn(stage: DatabaseSync, sql: string): Iterable<readonly [id: number, span: number, counts: Open]> {
  let of: number | undefined
  let spans = new Map<number, Open>()
  for (const one of stage.prepare(sql).iterate()) {
    const id = Number(one['id'])
    if (of !== undefined && id !== of) {
      for (const [span, counts] of [...spans].sort(([a], [b]) => a - b)) yield [of, span, counts]
      spans = new Map()
    }
    of = id
    const counts = Object.fromEntries(countNames.map(name => [name, Number(one[name])])) as Open
    for (const span of spansAround(Number(one['quarter']), 0)) {
      const known = spans.get(span)
      if (known) addCounts(known, counts)
      else spans.set(span, { ...counts })
    }
  }
  if (of !== undefined) for (const [span, counts] of [...spans].sort(([a], [b]) => a - b)) yield [of, span, counts]
}

const facts = factColumns.map(column => `p.${column}`).join(', ')
const ofKind = kindColumns.map(column => `k.${column} AS kind_${column}`).join(', ')
const dumps = [
  `SELECT part, span, what, currency, ${countNames.join(', ')} FROM cost_part_sum ORDER BY 1, 2, 3, 4`,
  `SELECT p.detail, ${facts}, s.span, ${countNames.map(name => `s.${name}`).join(', ')} FROM cost_place_sum s
    JOIN cost_place p ON p.id = s.place ORDER BY p.detail, ${facts}, s.span`,
  `SELECT p.detail, ${facts}, s.span, k.hash, ${ofKind}, s.images FROM cost_image_sum s JOIN cost_place p ON p.id = s.place
    JOIN cost_kind k ON k.id = s.kind ORDER BY p.detail, ${facts}, s.span, k.hash`,
  'SELECT pass, chain, position FROM cost_progress ORDER BY 1, 2',
]

/** Holds what costs are read from in two files against each other. @returns how many rows @throws Error where they differ */
export function sameSums(one: string, other: string): number {
  const [a, b] = [new DatabaseSync(one, { readOnly: true }), new DatabaseSync(other, { readOnly: true })]
  let rows = 0
  for (const sql of dumps) {
    const [mine, theirs] = [a.prepare(sql).all(), b.prepare(sql).all()]
    if (!isDeepStrictEqual(mine, theirs))
      throw new Error(`what was added up in bulk is not what the writer adds up: ${sql}`)
    rows += mine.length
  }
  a.close()
  b.close()
  return rows
}
