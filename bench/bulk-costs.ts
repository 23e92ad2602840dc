import { hash } from 'node:crypto'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { isDeepStrictEqual } from 'node:util'
import { costParts } from '../src/domain/costs.ts'
import { quarterMs } from '../src/domain/index.ts'
import { lengthCount, spansAround } from '../src/storage/costs/spans.ts'
import { countNames, factColumns, kindColumns, nameOfKind } from '../src/storage/costs/sums.ts'
import { details } from '../src/storage/costs/write-sums.ts'
import { line } from '../test/contract/storage.ts'
import {
  type Charges,
  counts as numbers,
  currency,
  groupOf,
  imagePrice,
  imageRule,
  imageSize,
  imageTier,
  isImage,
  keyOf,
  modelOf,
  priceOf,
  textTiers,
  tokensOf,
  timeOf,
  upstream,
  userOf,
} from './cost-charges.ts'

// Writes what `rollUpCosts` and `foldCosts` write for a whole ledger, without the ledger, in its final order: added up commit by
// commit, ten million charges of 20,000 keys change every page of the sums again and again. `sameSums` compares the
// two.

const rowsTogether = 64
/** Places in one commit of the writer are numbered by their detail first. */
const chargesTogether = 5_000

/** Writes rows of a table in order, many with one statement. */
class Inserter {
  readonly #many: StatementSync
  readonly #one: StatementSync
  readonly #width: number
  #waiting: SQLInputValue[] = []

  constructor(db: DatabaseSync, table: string, columns: readonly string[]) {
    const row = `(${columns.map(() => '?').join(', ')})`
    const into = `INSERT INTO ${table} (${columns.join(', ')}) VALUES`
    this.#many = db.prepare(`${into} ${Array(rowsTogether).fill(row).join(', ')}`)
    this.#one = db.prepare(`${into} ${row}`)
    this.#width = columns.length
  }

  add(...row: readonly SQLInputValue[]): void {
    this.#waiting.push(...row)
    if (this.#waiting.length < rowsTogether * this.#width) return
    this.#many.run(...this.#waiting)
    this.#waiting = []
  }

  end(): void {
    for (let at = 0; at < this.#waiting.length; at += this.#width)
      this.#one.run(...this.#waiting.slice(at, at + this.#width))
    this.#waiting = []
  }
}

/** Charges by bucket: `order` from `starts[bucket]` on, in their own order. */
type Sorted = { readonly order: Int32Array; readonly starts: Int32Array }

function sortInto(count: number, buckets: number, bucketOf: (n: number) => number): Sorted {
  const starts = new Int32Array(buckets + 1)
  const own = new Int32Array(count)
  for (let n = 0; n < count; n++) {
    const bucket = bucketOf(n)
    own[n] = bucket
    starts[bucket + 1] = (starts[bucket + 1] as number) + 1
  }
  for (let bucket = 0; bucket < buckets; bucket++)
    starts[bucket + 1] = (starts[bucket + 1] as number) + (starts[bucket] as number)
  const next = starts.slice()
  const order = new Int32Array(count)
  for (let n = 0; n < count; n++) {
    const bucket = own[n] as number
    order[next[bucket] as number] = n
    next[bucket] = (next[bucket] as number) + 1
  }
  return { order, starts }
}

/** The end of the last span of the longest length, 1,536 quarters of an hour. */
export function endOf(charges: Charges): number {
  return (Math.floor(timeOf(charges, charges.count - 1) / quarterMs / 1_536) + 1) * 1_536
}

/** Spans of each quarter hour that contain the charges. */
class Spans {
  readonly #quarters: Int32Array
  readonly #spans: Float64Array

  constructor(charges: Charges) {
    const first = Math.floor(charges.begun / quarterMs)
    this.#quarters = Int32Array.from(
      { length: charges.count },
      (_, n) => Math.floor(timeOf(charges, n) / quarterMs) - first,
    )
    const count = (this.#quarters.at(-1) ?? 0) + 1
    this.#spans = Float64Array.from({ length: count }, (_, i) => first + i).reduce(
      (all, quarter, i) => {
        all.set(spansAround(quarter, { number: 0, folded: endOf(charges) }), i * lengthCount)
        return all
      },
      new Float64Array(count * lengthCount),
    )
  }

  of(n: number, length: number): number {
    return this.#spans[(this.#quarters[n] as number) * lengthCount + length] as number
  }
}

/** The longest first: among spans with the same begin they have the smallest numbers. */
const lengths = Array.from({ length: lengthCount }, (_, i) => lengthCount - 1 - i)

type Place = {
  readonly detail: (typeof details)[number]
  readonly facts: { readonly [column in (typeof factColumns)[number]]: string }
  readonly sorted: Sorted
  readonly bucket: number
  readonly tier: number
  readonly isOfImages: boolean
  readonly first: number
}

function placesOf(charges: Charges): readonly Place[] {
  const { users, groups, models } = numbers
  const whats = 2 * models
  const whatOf = (n: number): number => modelOf(n) * 2 + Number(isImage(n))
  const owners = {
    all: [groups, (n: number) => groupOf(userOf(keyOf(charges, n)))],
    user: [users, (n: number) => userOf(keyOf(charges, n))],
    key: [charges.keys.length, (n: number) => keyOf(charges, n)],
  } as const
  const places = details.flatMap(detail => {
    const [count, ownerOf] = owners[detail]
    const sorted = sortInto(charges.count, count * whats, n => ownerOf(n) * whats + whatOf(n))
    return Array.from({ length: count * whats }, (_, bucket): Place[] => {
      if (sorted.starts[bucket] === sorted.starts[bucket + 1]) return []
      const [owner, what] = [Math.floor(bucket / whats), bucket % whats]
      const user = detail === 'key' ? userOf(owner) : owner
      const isOfImages = what % 2 === 1
      const facts = {
        key_id: detail === 'key' ? (charges.keys[owner] as string) : '',
        user_name: detail === 'all' ? '' : `user ${user}`,
        group_name: `group ${detail === 'all' ? owner : groupOf(user)}`,
        model: `model ${Math.floor(what / 2)}`,
        operation: isOfImages ? 'image.generate' : 'chat',
        upstream,
        currency,
      }
      const first = sorted.order[sorted.starts[bucket] as number] as number
      const tiers = isOfImages ? [imageTier] : textTiers
      return tiers.map((name, tier) => ({
        detail,
        sorted,
        bucket,
        tier,
        isOfImages,
        first,
        facts: { ...facts, tier: name },
      }))
    }).flat()
  })
  const commitOf = ({ first }: Place): number => Math.floor(first / chargesTogether)
  return places.sort(
    (a, b) =>
      commitOf(a) - commitOf(b) ||
      details.indexOf(a.detail) - details.indexOf(b.detail) ||
      a.first - b.first ||
      a.tier - b.tier,
  )
}

/** Sums of a place, in the order of its spans. */
function eachSum(
  { sorted: { order, starts }, bucket, isOfImages }: Place,
  spans: Spans,
  put: (span: number, charges: number, amount: number, tokens: number) => void,
): void {
  const [from, to] = [starts[bucket] as number, starts[bucket + 1] as number]
  for (const length of lengths) {
    let [span, count, amount, tokens] = [-1, 0, 0, 0]
    for (let at = from; at < to; at++) {
      const n = order[at] as number
      const own = spans.of(n, length)
      if (own !== span && count > 0) {
        put(span, count, amount, tokens)
        count = amount = tokens = 0
      }
      span = own
      count++
      amount += isOfImages ? imagePrice : priceOf(n)
      tokens += isOfImages ? 0 : tokensOf(n)
    }
    put(span, count, amount, tokens)
  }
}

function writePlaces(db: DatabaseSync, charges: Charges, spans: Spans, onStep: (text: string) => void): void {
  const places = placesOf(charges)
  onStep(`${places.length} places`)
  const toPlace = new Inserter(db, 'cost_place', ['id', 'detail', ...factColumns])
  const toSum = new Inserter(db, 'cost_place_sum', ['place', 'span', ...countNames])
  const toImage = new Inserter(db, 'cost_image_sum', ['place', 'span', 'kind', 'images'])
  const kinds = new Map<string, number>()
  let written = 0
  for (const [i, place] of places.entries()) {
    const { detail, facts, tier, isOfImages } = place
    const id = i + 1
    toPlace.add(id, detail, ...factColumns.map(column => facts[column]))
    if (isOfImages && !kinds.has(facts.model)) kinds.set(facts.model, kinds.size + 1)
    const kind = kinds.get(facts.model) ?? 0
    eachSum(place, spans, (span, count, amount, tokens) => {
      toSum.add(id, span, count, tier === 0 ? count : 0, isOfImages ? count : 0, amount, 0, tokens, tokens, 0)
      if (isOfImages) toImage.add(id, span, kind, count)
      if (++written % 1_000_000 === 0) onStep(`${written} sums of places`)
    })
  }
  writeKeys(db, spans, charges, places, toPlace)
  for (const table of [toPlace, toSum, toImage]) table.end()
  writeKinds(db, kinds)
}

/** The totals of each key, by places without user and tier. */
function writeKeys(
  db: DatabaseSync,
  spans: Spans,
  charges: Charges,
  places: readonly Place[],
  toPlace: Inserter,
): void {
  const toKey = new Inserter(db, 'cost_key_sum', ['place', 'span', 'key_id', 'amount'])
  let id = places.length
  for (const { sorted, bucket, facts, isOfImages } of places.filter(
    ({ detail, tier }) => detail === 'all' && tier === 0,
  )) {
    toPlace.add(++id, 'all', ...factColumns.map(column => (column === 'tier' ? '' : facts[column])))
    const list = sorted.order.subarray(sorted.starts[bucket], sorted.starts[bucket + 1])
    for (const length of lengths) {
      const amounts = new Map<string, number>()
      for (const [at, n] of list.entries()) {
        const key = charges.keys[keyOf(charges, n)] as string
        const amount = isOfImages ? imagePrice : textTiers.length * priceOf(n)
        amounts.set(key, (amounts.get(key) ?? 0) + amount)
        const span = spans.of(n, length)
        if (at + 1 < list.length && spans.of(list[at + 1] as number, length) === span) continue
        for (const one of [...amounts.keys()].sort(compareTexts)) toKey.add(id, span, one, amounts.get(one) ?? 0)
        amounts.clear()
      }
    }
  }
  toKey.end()
}

function writeKinds(db: DatabaseSync, kinds: ReadonlyMap<string, number>): void {
  const toKind = new Inserter(db, 'cost_kind', ['id', 'hash', ...kindColumns])
  const { width, height } = line(0)
  for (const [model, id] of kinds) {
    const kind = {
      model,
      size: imageSize,
      currency,
      rule: JSON.stringify(imageRule),
      tier: imageTier,
      source: 'request',
      width,
      height,
      price: imagePrice,
      flags: '[]',
      told: null,
    }
    toKind.add(id, hash('sha256', nameOfKind(kind)), ...kindColumns.map(column => kind[column]))
  }
  toKind.end()
}

type Part = {
  readonly part: string
  readonly names: readonly string[]
  /**
   * The facts of the lines of a text charge, and of an image charge: the name, the numbers of charges and firsts, the
   * prices.
   */
  readonly of: (n: number) => readonly (readonly [name: number, charges: number, firsts: number, lines: number])[]
}

function partsOf(charges: Charges): readonly Part[] {
  const named = (count: number, text: string): readonly string[] =>
    Array.from({ length: count }, (_, i) => `${text} ${i}`)
  const whole = (name: number, n: number): readonly (readonly [number, number, number, number])[] => [
    [name, 1, 1, isImage(n) ? 1 : 2],
  ]
  const user = (n: number): number => userOf(keyOf(charges, n))
  const { users, groups, models } = numbers
  const all: { readonly [part in '' | (typeof costParts)[number]]: Omit<Part, 'part'> } = {
    '': { names: [''], of: n => whole(0, n) },
    user: { names: named(users, 'user'), of: n => whole(user(n), n) },
    group: { names: named(groups, 'group'), of: n => whole(groupOf(user(n)), n) },
    key: { names: charges.keys, of: n => whole(keyOf(charges, n), n) },
    model: { names: named(models, 'model'), of: n => whole(modelOf(n), n) },
    operation: { names: ['chat', 'image.generate'], of: n => whole(Number(isImage(n)), n) },
    upstream: { names: [upstream], of: n => whole(0, n) },
    tier: {
      names: [...textTiers, imageTier],
      of: n =>
        isImage(n)
          ? [[2, 1, 1, 1]]
          : [
              [0, 1, 1, 1],
              [1, 1, 0, 1],
            ],
    },
  }
  return Object.entries(all)
    .map(([part, one]) => ({ part, ...one }))
    .sort((a, b) => compareTexts(a.part, b.part))
}

function writeParts(db: DatabaseSync, charges: Charges, spans: Spans, onStep: (text: string) => void): void {
  const toSum = new Inserter(db, 'cost_part_sum', ['part', 'span', 'what', 'currency', ...countNames])
  for (const { part, names, of } of partsOf(charges)) {
    const rankOf = new Map([...names].sort(compareTexts).map((name, rank) => [name, rank]))
    const none = { charges: 0, firsts: 0, images: 0, amount: 0, tokens: 0 }
    const sums = names.map(name => ({ name, rank: rankOf.get(name) ?? 0, ...none }))
    for (const length of lengths) {
      let touched: typeof sums = []
      const flush = (span: number): void => {
        for (const sum of touched.sort((a, b) => a.rank - b.rank)) {
          const { name, charges: count, firsts, images, amount, tokens } = sum
          toSum.add(part, span, name, currency, count, firsts, images, amount, 0, tokens, tokens, 0)
          Object.assign(sum, none)
        }
        touched = []
      }
      for (let n = 0, span = spans.of(0, length); n < charges.count; n++) {
        const own = spans.of(n, length)
        if (own !== span) flush(span)
        span = own
        for (const [name, count, firsts, lines] of of(n)) {
          const sum = sums[name] as (typeof sums)[number]
          if (sum.charges === 0) touched.push(sum)
          sum.charges += count
          sum.firsts += firsts
          sum.images += isImage(n) ? 1 : 0
          sum.amount += lines * (isImage(n) ? imagePrice : priceOf(n))
          sum.tokens += isImage(n) ? 0 : lines * tokensOf(n)
        }
        if (n === charges.count - 1) flush(span)
      }
    }
    onStep(`sums by ${part || 'nothing'}`)
  }
  toSum.end()
}

/**
 * Writes the sums of some charges into a file that no process has open and that has no sums yet. `onStep`
 * reports the progress.
 */
export function addUpInBulk(path: string, charges: Charges, onStep: (text: string) => void): void {
  const db = new DatabaseSync(path)
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; BEGIN')
  const spans = new Spans(charges)
  writePlaces(db, charges, spans, onStep)
  writeParts(db, charges, spans, onStep)
  db.prepare('UPDATE cost_fold SET folded = $end, target = $end').run({ $end: endOf(charges) })
  db.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE); ANALYZE')
  db.close()
}

function compareTexts(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

const facts = factColumns.map(column => `p.${column}`).join(', ')
const ofKind = kindColumns.map(column => `k.${column} AS kind_${column}`).join(', ')
const dumps = [
  `SELECT p.detail, ${facts}, s.span, s.key_id, s.amount FROM cost_key_sum s JOIN cost_place p ON p.id = s.place
    ORDER BY p.detail, ${facts}, s.span, s.key_id`,
  `SELECT part, span, what, currency, ${countNames.join(', ')} FROM cost_part_sum ORDER BY 1, 2, 3, 4`,
  `SELECT p.detail, ${facts}, s.span, ${countNames.map(name => `s.${name}`).join(', ')} FROM cost_place_sum s
    JOIN cost_place p ON p.id = s.place ORDER BY p.detail, ${facts}, s.span`,
  `SELECT p.detail, ${facts}, s.span, k.hash, ${ofKind}, s.images FROM cost_image_sum s JOIN cost_place p ON p.id = s.place
    JOIN cost_kind k ON k.id = s.kind ORDER BY p.detail, ${facts}, s.span, k.hash`,
]

/** Compares the cost sums of two files. @returns how many rows @throws Error if they differ */
export function sameSums(one: string, other: string): number {
  const [a, b] = [new DatabaseSync(one, { readOnly: true }), new DatabaseSync(other, { readOnly: true })]
  let rows = 0
  for (const sql of dumps) {
    const [mine, theirs] = [a.prepare(sql).all(), b.prepare(sql).all()]
    if (mine.length === 0 || !isDeepStrictEqual(mine, theirs))
      throw new Error(`what was added up in bulk is not what the writer adds up: ${sql}`)
    rows += mine.length
  }
  a.close()
  b.close()
  return rows
}
