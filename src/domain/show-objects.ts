import type { ObjectPosition, StoredObject } from './stored-objects.ts'
import { type StoredKind, storedKinds } from './stored-kinds.ts'
import type { Storage } from './stores.ts'

/** The result of a deletion at the vendor. `impossible`: this configuration has no request that deletes the object. */
export type VendorDeletion =
  | { readonly kind: 'deleted' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'unreached'; readonly why: string }
  | { readonly kind: 'impossible' }

/** The JSON form of a stored object for administrators. */
export function showObject(object: StoredObject) {
  const { id, kind, keyId, upstream, vendorKey, model, requestId, bytes, createdAt, expiresAt, deletedAt } = object
  const moment = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())
  return {
    id,
    kind,
    key_id: keyId,
    model,
    upstream,
    vendor_key: vendorKey,
    bytes,
    created: new Date(createdAt).toISOString(),
    expires: moment(expiresAt),
    ended: moment(deletedAt),
    request_id: requestId,
  }
}

/**
 * The position after an object in the list. Ids are the vendors' own, so several keys and kinds may have the same one.
 */
export function objectPosition({ createdAt, id, keyId, kind }: StoredObject): string {
  return Buffer.from(JSON.stringify([createdAt, id, keyId, kind])).toString('base64url')
}

/** @returns undefined if the text was not made by `objectPosition` */
export function readObjectPosition(position: string): ObjectPosition | undefined {
  const parts = parse(Buffer.from(position, 'base64url').toString())
  if (!Array.isArray(parts)) return undefined
  const [createdAt, id, keyId, kind] = parts as readonly unknown[]
  if (!Number.isSafeInteger(createdAt) || typeof id !== 'string' || typeof keyId !== 'string' || !isKind(kind))
    return undefined
  // PostgreSQL does not store zero bytes in text.
  return `${id}${keyId}`.includes('\0') ? undefined : { createdAt: createdAt as number, id, keyId, kind }
}

function isKind(kind: unknown): kind is StoredKind {
  return storedKinds.some(one => one === kind)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Takes an object from its key, so that no request reaches it any more. @returns false if it was deleted or ended
 * before
 */
export async function endStoredObject(
  { objects, trail }: Pick<Storage, 'objects' | 'trail'>,
  { id, keyId, kind }: StoredObject,
  { by, reason }: { readonly by: string; readonly reason: string | null },
): Promise<boolean> {
  if (!(await objects.end(keyId, kind, id))) return false
  const before = { key: keyId, kind }
  await trail.note({ actor: by, action: 'object.end', subject: id, before, after: null, reason })
  return true
}
