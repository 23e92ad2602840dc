import {
  labelKinds,
  type LabelKind,
  labelPrefixes,
  labelsIn,
  type NewLabel,
  otherLabels,
  otherName,
} from '../domain/labels.ts'
import type { LogMatch, LogRow } from '../domain/index.ts'
import { selectIn } from './select-in.ts'
import { appendTrail, type Signed } from './people/trail.ts'
import { ask, type QueryProgram } from './query.ts'
import { text, textOrNull, whole } from './rows.ts'
import type { Scribe } from './writer-identity.ts'

/** The precision of the stored time of a name's last use. */
export const seenMs = 86_400_000

export type FoundLabel = { readonly id: string; readonly seenAt: number }

export function* findLabel(kind: LabelKind, name: string): QueryProgram<FoundLabel | undefined> {
  const [row] = yield ask('SELECT id, seen_at FROM label WHERE kind = ? AND name = ?', kind, name)
  return row && { id: text(row, 'id'), seenAt: whole(row, 'seen_at') }
}

/** @returns its id; null if the maximum number of names is stored */
export function* addLabel(scribe: Scribe, label: NewLabel & { readonly at: number }): QueryProgram<string | null> {
  const { kind, name, keyId, most, mostPerKey, at } = label
  const known = yield* findLabel(kind, name)
  if (known) return known.id
  if (!(yield* hasPlace(scribe, kind, undefined, most))) return null
  if (!(yield* hasPlace(scribe, kind, keyId, mostPerKey))) return null
  yield ask(
    'INSERT INTO label (id, kind, name, key_id, created_at, seen_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
    scribe.ids.next(labelPrefixes[kind], at),
    kind,
    name,
    keyId,
    at,
    at,
  )
  // Another process may have added it meanwhile.
  return (yield* findLabel(kind, name))?.id ?? null
}

/** Whether fewer names than the maximum are stored: of a kind, or of a kind and a key. */
function* hasPlace(
  { labelPlaces }: Pick<Scribe, 'labelPlaces'>,
  kind: LabelKind,
  keyId: string | undefined,
  most: number,
): QueryProgram<boolean> {
  if (labelPlaces.take(kind, keyId, most)) return true
  const ofKey = keyId === undefined ? [] : [keyId]
  const [row] = yield ask(
    `SELECT count(*) AS count FROM label WHERE kind = ? AND name IS NOT NULL ${keyId === undefined ? '' : 'AND key_id = ?'}`,
    kind,
    ...ofKey,
  )
  const stored = row ? whole(row, 'count') : 0
  labelPlaces.counted(kind, keyId, most, stored)
  return stored < most
}

export function* noteSeen(id: string, at: number): QueryProgram<null> {
  yield ask('UPDATE label SET seen_at = ? WHERE id = ? AND seen_at < ?', at, id, at)
  return null
}

type Erasing = Signed & { readonly kind: LabelKind; readonly name: string }

/** Erases a name. Charges and log rows keep the id, which has no name any more. @returns false if there is none */
export function* eraseLabel(scribe: Scribe, { kind, name, by, at }: Erasing): QueryProgram<boolean> {
  const rows = yield ask(
    'UPDATE label SET name = NULL, key_id = NULL, erased_at = ? WHERE kind = ? AND name = ? RETURNING id',
    at,
    kind,
    name,
  )
  const [row] = rows
  if (!row) return false
  yield* appendTrail(scribe, { by, at }, 'label.erase', text(row, 'id'), null, null)
  return true
}

/** Deletes names without use since a moment, some at a time. */
export function* pruneLabels(given: {
  readonly kind: LabelKind
  readonly until: number
  readonly limit: number
  readonly at: number
}): QueryProgram<number> {
  const rows = yield ask(
    `UPDATE label SET name = NULL, key_id = NULL, erased_at = ? WHERE id IN
      (SELECT id FROM label WHERE kind = ? AND name IS NOT NULL AND seen_at < ? LIMIT ?) RETURNING id`,
    given.at,
    given.kind,
    given.until,
    given.limit,
  )
  return rows.length
}

/** The id of a name in a query; if the name is unknown, an id that no row has. */
export function* idOfLabel(kind: LabelKind, name: string): QueryProgram<string> {
  if (name === otherName) return otherLabels[kind]
  // The name under which an erased label is shown.
  if (name.startsWith(erased)) return labelPrefixes[kind] + name.slice(erased.length)
  return (yield* findLabel(kind, name))?.id ?? '?'
}

const erased = 'erased-'

/** The names of some ids, as they are shown. */
export function* namesOfLabels(ids: Iterable<string>): QueryProgram<ReadonlyMap<string, string>> {
  const names = new Map<string, string>()
  const stored: string[] = []
  for (const id of new Set(ids)) {
    const kind = labelKinds.find(one => id.startsWith(labelPrefixes[one]))
    if (kind === undefined) continue
    names.set(id, id === otherLabels[kind] ? otherName : erased + id.slice(labelPrefixes[kind].length))
    stored.push(id)
  }
  for (const row of yield* selectIn('SELECT id, name FROM label WHERE id IN (…)', stored)) {
    const name = textOrNull(row, 'name')
    if (name !== null) names.set(text(row, 'id'), name)
  }
  return names
}

/** A filter of the log with ids in place of names. */
export function* withLabelIds<M extends LogMatch>(match: M): QueryProgram<M> {
  const { endUser, tag } = match
  if (endUser === undefined && tag === undefined) return match
  return {
    ...match,
    ...(endUser !== undefined && { endUser: yield* idOfLabel('end_user', endUser) }),
    ...(tag !== undefined && { tag: yield* idOfLabel('tag', tag) }),
  }
}

/** Rows of the log with the names of their labels. */
export function* withLabelNames(rows: readonly LogRow[]): QueryProgram<readonly LogRow[]> {
  const ids = rows.flatMap(({ attribution }) => attribution?.split(' ') ?? [])
  if (ids.length === 0) return rows
  const names = yield* namesOfLabels(ids)
  const of = (row: LogRow, kind: LabelKind): readonly string[] =>
    labelsIn(row.attribution, kind).map(id => names.get(id) ?? id)
  return rows.map(row =>
    row.attribution ? { ...row, endUser: of(row, 'end_user')[0] ?? null, tags: of(row, 'tag') } : row,
  )
}
