import { type CostPart, costParts, quarterMs } from '../../domain/costs.ts'
import { labelKinds } from '../../domain/labels.ts'
import { selectIn } from '../select-in.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'
import { lockSums } from './roll-up.ts'
import {
  lengthOf,
  lengthOfSpan,
  nextEnd,
  type PassNumber,
  quarterOfSpan,
  quartersFrom,
  type Whole,
  wholesAt,
} from './spans.ts'
import { countNames } from './sums.ts'

/**
 * The limits of one step, for which all charges wait: some of the names of a part, and their places. A place takes
 * some 0.02 ms.
 */
const most: Limits = { names: 256, places: 1_000 }
type Limits = { readonly names: number; readonly places: number }

/** Sums by one part or kind of label alone, and the places of its names. */
type Stage = {
  readonly table: 'cost_part_sum' | 'cost_label_part'
  readonly by: 'part' | 'kind'
  readonly of: string
  readonly name: 'what' | 'label'
  readonly places?: Places
}

/**
 * The places of one name (`?`). `order`: the column that follows in their index: places of a name that has very many
 * are read in this order.
 */
type Places = { readonly from: string; readonly order: string; readonly sums: readonly Sums[] }

type Sums = { readonly table: string; readonly rest: readonly string[]; readonly counts: readonly string[] }

const placeSums: readonly Sums[] = [
  { table: 'cost_place_sum', rest: [], counts: countNames },
  { table: 'cost_image_sum', rest: ['kind'], counts: ['images'] },
]
const labelSums: readonly Sums[] = [{ table: 'cost_label_sum', rest: [], counts: countNames }]

/** Each place is a place of one key, of one user without keys, or of one model without users and keys. */
const placesOf: { readonly [P in CostPart]?: Places } = {
  key: { from: `cost_place WHERE detail = 'key' AND key_id = ?`, order: 'user_name', sums: placeSums },
  user: {
    from: `cost_place WHERE detail = 'user' AND key_id = '' AND user_name = ?`,
    order: 'model',
    sums: placeSums,
  },
  model: {
    from: `cost_place WHERE detail = 'all' AND key_id = '' AND user_name = '' AND model = ?`,
    order: 'group_name',
    sums: placeSums,
  },
}

const stages: readonly Stage[] = [
  ...(['', ...costParts] as const).map((of): Stage => {
    const places = of === '' ? undefined : placesOf[of]
    return { table: 'cost_part_sum', by: 'part', of, name: 'what', ...(places && { places }) }
  }),
  ...labelKinds.map((of): Stage => {
    const from = `cost_label_place WHERE kind = '${of}' AND label = ?`
    const places = { from, order: 'key_id', sums: labelSums }
    return { table: 'cost_label_part', by: 'kind', of, name: 'label', places }
  }),
]

/** Where a step continues: a stage for one length, a name, and a place by the `order` of its stage. */
type Cursor = { readonly step: number; readonly name: string; readonly place: string }

/**
 * Runs the next step of writing sums of longer spans that are over. From the first step on, charges that come late are
 * added to these spans too, and a step replaces the rows that it writes: so it can run at any time, and more than once.
 * Queries read these spans once all of their rows are written.
 * @returns whether there was something to write
 */
export function* foldCosts(at: number, limits = most): QueryProgram<boolean> {
  const pass = yield* lockSums()
  const [row = {}] = yield ask('SELECT folded, target, step, name, place FROM cost_fold WHERE pass = ?', pass)
  const folded = whole(row, 'folded')
  const isUnderWay = whole(row, 'target') !== folded
  const target = isUnderWay ? whole(row, 'target') : nextEnd(folded, yield* findNext(folded, pass))
  // Some charges are added to the sums a little later.
  if (target === undefined || (!isUnderWay && (target + 1) * quarterMs > at)) return false
  const wholes = wholesAt(target, pass)
  const last = wholes.length * stages.length
  let cursor: Cursor = { step: whole(row, 'step'), name: text(row, 'name'), place: text(row, 'place') }
  for (let rows = 0; rows < limits.places && cursor.step < last; ) {
    const done = yield* foldSome(wholes[Math.floor(cursor.step / stages.length)] as Whole, cursor, limits)
    rows += done.rows
    cursor = done.next
  }
  const isOver = cursor.step === last
  yield ask(
    'UPDATE cost_fold SET folded = ?, target = ?, step = ?, name = ?, place = ? WHERE pass = ?',
    isOver ? target : folded,
    target,
    isOver ? 0 : cursor.step,
    cursor.name,
    cursor.place,
    pass,
  )
  return true
}

/** The first quarter from `quarter` on that has sums. */
function* findNext(quarter: number, pass: PassNumber): QueryProgram<number | undefined> {
  const [row] = yield ask(
    `SELECT span FROM cost_part_sum WHERE part = '' AND span >= ? AND span < ? AND ${lengthOfSpan} = 0
      ORDER BY span LIMIT 1`,
    ...quartersFrom(quarter, pass),
  )
  return row && quarterOfSpan(whole(row, 'span'), pass)
}

/** Writes a longer span for the next names of a stage, and for their places. */
function* foldSome(
  span: Whole,
  cursor: Cursor,
  limits: Limits,
): QueryProgram<{ readonly rows: number; readonly next: Cursor }> {
  const stage = stages[cursor.step % stages.length] as Stage
  const names = yield* namesFrom(span, stage, cursor.name, limits.names + 1)
  let next: Cursor = { step: cursor.step + 1, name: '', place: '' }
  const more = names.length > limits.names ? names.pop() : undefined
  if (more !== undefined) next = { ...cursor, name: more, place: '' }
  const ids: number[] = []
  let count = 0
  for (const name of names) {
    if (ids.length >= limits.places) {
      next = { ...cursor, name, place: '' }
      break
    }
    count++
    if (!stage.places) continue
    const some = yield* findPlaces(stage.places, name, name === cursor.name ? cursor.place : '', limits.places)
    for (const id of some.ids) ids.push(id)
    if (some.next === undefined) continue
    next = { ...cursor, name, place: some.next }
    break
  }
  const [first, last] = [names[0], names[count - 1]]
  if (first !== undefined && last !== undefined) yield* foldNames(span, stage, first, last)
  for (const sums of stage.places?.sums ?? []) yield* foldPlaces(span, sums, ids)
  return { rows: count + ids.length, next }
}

/** The next names with sums in a span. */
function* namesFrom(
  { parts }: Whole,
  { table, by, of, name }: Stage,
  from: string,
  most: number,
): QueryProgram<string[]> {
  // The smallest names of each part: the key of the table then finds them in order.
  const ofPart = `SELECT DISTINCT ${name} AS name FROM ${table} WHERE ${by} = ? AND span = ? AND ${name} >= ? ORDER BY 1 LIMIT ?`
  const all = parts.map((_, i) => `SELECT name FROM (${ofPart}) part${i}`).join(' UNION ')
  const params = parts.flatMap(span => [of, span, from, most])
  const rows = yield ask(`SELECT name FROM (${all}) names ORDER BY 1 LIMIT ?`, ...params, most)
  return rows.map(row => text(row, 'name'))
}

/** The places of a name, or the first of them. */
function* findPlaces(
  { from, order }: Places,
  name: string,
  after: string,
  most: number,
): QueryProgram<{ readonly ids: readonly number[]; readonly next?: string }> {
  const sql = `SELECT id, ${order} AS place FROM ${from} AND ${order} >= ? ORDER BY ${order}`
  const rows = yield ask(`${sql} LIMIT ?`, name, after, most + 1)
  const idsOf = (some: typeof rows): readonly number[] => some.map(row => whole(row, 'id'))
  if (rows.length <= most) return { ids: idsOf(rows) }
  const next = text(rows[most] ?? {}, 'place')
  const before = rows.filter(row => text(row, 'place') !== next)
  return before.length > 0 ? { ids: idsOf(before), next } : { ids: idsOf(yield ask(sql, name, after)) }
}

/** Writes the sums by names, and those that have no place of a name: by keys and places, by labels and models. */
function* foldNames({ span, parts }: Whole, stage: Stage, first: string, last: string): QueryProgram<void> {
  const { table, by, of, name } = stage
  const marks = `(${parts.map(() => '?').join(', ')})`
  const rest = name === 'what' ? ['what', 'currency'] : ['label', 'currency']
  const where = `${by} = ? AND span IN ${marks} AND ${name} >= ? AND ${name} <= ?`
  yield ask(foldInto({ table, rest: [by, ...rest], counts: countNames }, where), span, of, ...parts, first, last)
  const models = `SELECT what FROM cost_part_sum WHERE part = 'model' AND span IN ${marks}`
  if (of === 'key') {
    const places = `SELECT id FROM cost_place WHERE detail = 'all' AND key_id = '' AND user_name = '' AND model IN (${models}) AND tier = ''`
    yield ask(
      foldInto(
        { table: 'cost_key_sum', rest: ['place', 'key_id'], counts: ['amount'] },
        `place IN (${places}) AND span IN ${marks} AND key_id >= ? AND key_id <= ?`,
      ),
      span,
      ...parts,
      ...parts,
      first,
      last,
    )
  }
  if (name === 'label')
    yield ask(
      foldInto(
        { table: 'cost_label_model', rest: ['kind', 'model', 'label', 'currency'], counts: countNames },
        `kind = ? AND model IN (${models}) AND span IN ${marks} AND label >= ? AND label <= ?`,
      ),
      span,
      of,
      ...parts,
      ...parts,
      first,
      last,
    )
}

function* foldPlaces({ span, parts }: Whole, sums: Sums, ids: readonly number[]): QueryProgram<void> {
  const [first, last] = [parts[0] as number, parts.at(-1) as number]
  const where = `span >= ? AND span <= ? AND ${lengthOfSpan} = ? AND place IN (…)`
  yield* selectIn(foldInto({ ...sums, rest: ['place', ...sums.rest] }, where), ids, [
    span,
    first,
    last,
    lengthOf(first),
  ])
}

/** The statement that replaces the sums of a span by those of its parts. `rest`: the key of the table without `span`. */
function foldInto({ table, rest, counts }: Sums, where: string): string {
  const key = rest.join(', ')
  return `INSERT INTO ${table} (${key}, span, ${counts.join(', ')})
    SELECT ${key}, CAST(? AS BIGINT), ${counts.map(name => `sum(${name})`).join(', ')} FROM ${table} WHERE ${where} GROUP BY ${key}
    ON CONFLICT (${key}, span) DO UPDATE SET ${counts.map(name => `${name} = excluded.${name}`).join(', ')}`
}
