import type { ObjectFilter, ObjectKind, ObjectPage, ObjectReference, StoredObject } from '../domain/index.ts'
import { storedKinds } from '../domain/stored-kinds.ts'
import { ask, type QueryProgram, type Row } from './query.ts'
import { text, textOrNull, whole, wholeOrNull } from './rows.ts'

/** How long rows of deleted and expired objects are kept. */
const keptMs = 30 * 86_400_000
/** Rows per statement of a sweep. */
const together = 1_000
/** Neither deleted nor expired. */
const isThere = 'deleted_at IS NULL AND (expires_at IS NULL OR expires_at > ?)'
/** All columns except those that may be long. */
const listed = `key_id, kind, id, upstream, vendor_key, model, parent, request_id, bytes, NULL AS shown, created_at, expires_at,
  deleted_at`
/** Kinds of objects that do not count toward a key's limits. */
const uncounted: ReadonlySet<string> = new Set(['response', 'upload', 'session handle'])
/** Names the counted kinds: an index finds them, and skips the responses, of which a key may have a million. */
const isCounted = `kind IN (${storedKinds
  .filter(kind => !uncounted.has(kind))
  .map(kind => `'${kind}'`)
  .join(', ')})`
/** The name in `meta` of the time until which the content of expired objects is deleted. */
const emptiedUntil = 'emptied_until'
/** How far back a sweep looks again: an object may be written a while after its expiry, by a slow process or clock. */
const againMs = 3_600_000

export type ObjectEnd = {
  readonly keyId: string
  readonly kind: ObjectKind
  readonly id: string
  readonly at: number
}

/** Kinds whose ids clients may choose at some vendors. */
const chosen: ReadonlySet<ObjectKind> = new Set(['file'])

/**
 * Inserts objects. A later record of the same object replaces the earlier one; a deleted object stays deleted, unless
 * another request has created one of the same name. A new object with a chosen id proves that the object of another key
 * with this id does not exist any more.
 */
export function* putObjects(objects: readonly StoredObject[]): QueryProgram<null> {
  for (const one of objects) {
    if (chosen.has(one.kind))
      yield ask(
        `UPDATE stored_object SET deleted_at = ?, shown = NULL WHERE kind = ? AND id = ? AND key_id <> ? AND upstream = ?
           AND coalesce(vendor_key, '') = ? AND deleted_at IS NULL`,
        one.createdAt,
        one.kind,
        one.id,
        one.keyId,
        one.upstream,
        one.vendorKey ?? '',
      )
    yield ask(
      `INSERT INTO stored_object (key_id, kind, id, upstream, vendor_key, model, parent, request_id, bytes, shown, created_at,
         expires_at, deleted_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (key_id, kind, id) DO UPDATE SET upstream = excluded.upstream, vendor_key = excluded.vendor_key,
         model = excluded.model, parent = excluded.parent, request_id = excluded.request_id, bytes = excluded.bytes,
         shown = excluded.shown, expires_at = excluded.expires_at, deleted_at = excluded.deleted_at
       WHERE stored_object.deleted_at IS NULL OR stored_object.request_id <> excluded.request_id`,
      one.keyId,
      one.kind,
      one.id,
      one.upstream,
      one.vendorKey,
      one.model,
      one.parent,
      one.requestId,
      one.bytes,
      one.shown,
      one.createdAt,
      one.expiresAt,
      one.deletedAt,
    )
  }
  return null
}

export function* findObjects(
  keyId: string,
  wanted: readonly Pick<ObjectReference, 'kind' | 'id'>[],
  at: number,
): QueryProgram<readonly StoredObject[]> {
  const found: StoredObject[] = []
  for (const { kind, id } of wanted) {
    const [row] = yield ask(
      `SELECT * FROM stored_object WHERE key_id = ? AND kind = ? AND id = ? AND ${isThere}`,
      keyId,
      kind,
      id,
      at,
    )
    if (row) found.push(toObject(row))
  }
  return found
}

/** @returns false if the object does not exist */
export function* endObject({ keyId, kind, id, at }: ObjectEnd): QueryProgram<boolean> {
  const ended = yield ask(
    `UPDATE stored_object SET deleted_at = ?, shown = NULL WHERE key_id = ? AND kind = ? AND id = ? AND deleted_at IS NULL
     RETURNING id`,
    at,
    keyId,
    kind,
    id,
  )
  yield ask(
    'UPDATE stored_object SET deleted_at = ?, shown = NULL WHERE key_id = ? AND parent = ? AND deleted_at IS NULL',
    at,
    keyId,
    id,
  )
  return ended.length > 0
}

export function* pageObjects(
  { keyId, kind, limit, after, order }: ObjectPage,
  at: number,
): QueryProgram<readonly StoredObject[]> {
  // Clients delete objects while they list them, so the last one may be gone.
  const [last] =
    after === undefined
      ? []
      : yield ask(
          'SELECT created_at, id FROM stored_object WHERE key_id = ? AND kind = ? AND id = ?',
          keyId,
          kind,
          after,
        )
  const way = order === 'asc' ? '>' : '<'
  const behind = last ? `AND (created_at, id) ${way} (?, ?)` : ''
  const rows = yield ask(
    `SELECT * FROM stored_object WHERE key_id = ? AND kind = ? AND ${isThere} ${behind}
     ORDER BY created_at ${order}, id ${order} LIMIT ?`,
    keyId,
    kind,
    at,
    ...(last ? [whole(last, 'created_at'), text(last, 'id')] : []),
    limit,
  )
  return rows.map(toObject)
}

export function* sizeOfObjects(
  keyId: string,
  at: number,
): QueryProgram<{ readonly count: number; readonly bytes: number }> {
  const [row] = yield ask(
    `SELECT count(*) AS count, coalesce(sum(bytes), 0) AS bytes FROM stored_object
     WHERE key_id = ? AND ${isCounted} AND ${isThere}`,
    keyId,
    at,
  )
  return row ? { count: whole(row, 'count'), bytes: whole(row, 'bytes') } : { count: 0, bytes: 0 }
}

export function* listObjects({ id, keyId, kind, before, limit }: ObjectFilter): QueryProgram<readonly StoredObject[]> {
  const terms: readonly (readonly [term: string, ...values: readonly (string | number | undefined)[]])[] = [
    ['id = ?', id],
    ['key_id = ?', keyId],
    ['kind = ?', kind],
    ['(created_at, id, key_id, kind) < (?, ?, ?, ?)', before?.createdAt, before?.id, before?.keyId, before?.kind],
  ]
  const given = terms.filter(([, value]) => value !== undefined)
  const rows = yield ask(
    `SELECT ${listed} FROM stored_object WHERE kind <> 'item' ${given.map(([term]) => `AND ${term}`).join(' ')}
     ORDER BY created_at DESC, id DESC, key_id DESC, kind DESC LIMIT ?`,
    ...given.flatMap(([, ...values]) => values.filter(value => value !== undefined)),
    limit,
  )
  return rows.map(toObject)
}

/** Deletes some content of expired objects, and some old rows of expired and deleted ones. @returns whether more may be left */
export function* sweepObjects(at: number): QueryProgram<boolean> {
  let most = yield* emptyExpired(at)
  for (const column of ['expires_at', 'deleted_at']) {
    const swept = yield ask(
      `DELETE FROM stored_object WHERE (key_id, kind, id) IN
         (SELECT key_id, kind, id FROM stored_object WHERE ${column} IS NOT NULL AND ${column} <= ? LIMIT ${together})
         RETURNING id`,
      at - keptMs,
    )
    most = Math.max(most, swept.length)
  }
  return most === together
}

/**
 * Looks only at objects that have expired since the last sweep: rows of earlier ones stay for 30 days, a million of
 * them. @returns the number of objects
 */
function* emptyExpired(at: number): QueryProgram<number> {
  const [mark] = yield ask('SELECT value FROM meta WHERE name = ?', emptiedUntil)
  const known = mark ? whole(mark, 'value') : 0
  const emptied = yield ask(
    `UPDATE stored_object SET shown = NULL WHERE (key_id, kind, id) IN
       (SELECT key_id, kind, id FROM stored_object WHERE expires_at IS NOT NULL AND expires_at > ? AND expires_at <= ?
          AND shown IS NOT NULL LIMIT ${together}) RETURNING id`,
    Math.min(known, at) - againMs,
    at,
  )
  // The mark moves once an hour, so that an idle process writes nothing; it follows a clock that is set back.
  if (emptied.length < together && Math.abs(at - known) >= againMs)
    yield ask(
      'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
      emptiedUntil,
      at,
    )
  return emptied.length
}

function toObject(row: Row): StoredObject {
  return {
    id: text(row, 'id'),
    kind: text(row, 'kind') as ObjectKind,
    keyId: text(row, 'key_id'),
    upstream: text(row, 'upstream'),
    vendorKey: textOrNull(row, 'vendor_key'),
    model: text(row, 'model'),
    parent: textOrNull(row, 'parent'),
    requestId: text(row, 'request_id'),
    bytes: whole(row, 'bytes'),
    shown: textOrNull(row, 'shown'),
    createdAt: whole(row, 'created_at'),
    expiresAt: wholeOrNull(row, 'expires_at'),
    deletedAt: wholeOrNull(row, 'deleted_at'),
  }
}
