import type { Awaitable } from '../util/awaitable.ts'

/** Kinds of objects that upstreams store for clients. */
export type ObjectKind =
  | 'response'
  | 'item'
  | 'conversation'
  | 'file'
  | 'batch'
  | 'message batch'
  | 'cached content'
  | 'container'
  | 'vector store'
  | 'session handle'

/** Reference to an object in a request. `place` is the top-level field of the body, or the path parameter. */
export type ObjectReference = { readonly kind: ObjectKind; readonly id: string; readonly place: string }

/** Record of an object made through the gateway. It is written before the client receives the id. */
export type StoredObject = {
  readonly id: string
  readonly kind: ObjectKind
  /** Key that made the object; no other key can use it. Rotation keeps the key's id. */
  readonly keyId: string
  readonly upstream: string
  /** Name of the vendor key that made the object; null for an upstream with a single key. */
  readonly vendorKey: string | null
  readonly model: string
  /** Id of the object that contains this one. */
  readonly parent: string | null
  /** Request that made the object; its charge has the same id. */
  readonly requestId: string
  readonly bytes: number
  /** The upstream's JSON of the object, for lists. Null for kinds without a list. */
  readonly shown: string | null
  readonly createdAt: number
  /** When the upstream deletes the object; null if unknown. */
  readonly expiresAt: number | null
  /** When it was deleted or ended through the gateway. */
  readonly deletedAt: number | null
}

export type ObjectPage = {
  readonly keyId: string
  readonly kind: ObjectKind
  readonly limit: number
  /** Id of the last object of the previous page. */
  readonly after?: string
  readonly order: 'asc' | 'desc'
}

/** Administrator's filter; absent members match all. */
export type ObjectFilter = {
  readonly id?: string
  readonly keyId?: string
  readonly kind?: string
  readonly limit: number
}

/** Store of object records. Writes are durable when their promise resolves. */
export type ObjectStore = {
  put(objects: readonly StoredObject[]): Promise<void>
  /** Objects of a key in any order, without expired and deleted ones. */
  find(keyId: string, wanted: readonly Pick<ObjectReference, 'kind' | 'id'>[]): Awaitable<readonly StoredObject[]>
  /** Ends an object and its parts; false if it does not exist. */
  end(keyId: string, kind: ObjectKind, id: string): Promise<boolean>
  page(page: ObjectPage): Awaitable<readonly StoredObject[]>
  /** Number of a key's objects and their bytes, without responses and items. */
  sizeOf(keyId: string): Awaitable<{ readonly count: number; readonly bytes: number }>
  list(filter: ObjectFilter): Awaitable<readonly StoredObject[]>
}

/** How an operation uses stored objects. */
export type ObjectTraits = {
  /** Its responses create objects of this kind. */
  readonly creates?: {
    readonly kind: ObjectKind
    /** Member of stream events that holds the object. A non-streaming response is the object itself. */
    readonly inside?: string
    /** List whose elements have ids of further objects, and the member of events that is such an element. */
    readonly parts?: {
      readonly at: string
      readonly inside: string
      readonly members: { readonly [name: string]: ObjectKind }
    }
    /**
     * Member of the response that holds the object; in events, it is inside one of the `inside` members. Only tools that the
     * upstream runs create such objects.
     */
    readonly member?: { readonly name: string; readonly inside: readonly string[] }
    /** Request field; with `false` the upstream stores no object. */
    readonly unlessFalse?: string
    /** Days until the upstream deletes it. */
    readonly days?: number
    /** The kind has a list. */
    readonly listed?: true
  }
  /** Kind of the object `{id}` in the path; the request goes to its upstream. `ends`: success deletes the object. */
  readonly of?: { readonly kind: ObjectKind; readonly ends?: true }
  /** The gateway answers with a list from its records. */
  readonly lists?: ObjectKind
  /** The body is streamed to the upstream without buffering. */
  readonly unread?: true
  /** Requests name no model: any model whose family offers the operation may serve them. */
  readonly namesNoModel?: true
}

/** Member names at any depth of a body, and the kind of object that their text, or each text of their list, refers to. */
const referenceNames: ReadonlyMap<string, ObjectKind> = new Map([
  ['previousresponseid', 'response'],
  ['conversation', 'conversation'],
  ['conversationid', 'conversation'],
  ['fileid', 'file'],
  ['fileids', 'file'],
  ['inputfileid', 'file'],
  ['fileuri', 'file'],
  ['container', 'container'],
  ['containerid', 'container'],
  ['vectorstoreid', 'vector store'],
  ['vectorstoreids', 'vector store'],
  ['cachedcontent', 'cached content'],
])
/** Members whose value may be an object with an `id` instead of a text. */
const objectNames: ReadonlySet<string> = new Set(['conversation', 'container'])

/** Members that refer to an object only at the top of a body; deeper, they mean something else. */
const topNames: ReadonlySet<string> = new Set(['previousresponseid', 'conversation', 'cachedcontent'])

export function isTopReference(plain: string): boolean {
  return topNames.has(plain)
}

/** End of a link to a stored file: `https://…/v1beta/files/abc`, `files/abc`. Other links are not references. */
const fileLink = /(?:^|\/)(files\/[^/?#]+)$/

/** Object id in a text; undefined if it contains none. */
export function objectIdOf(kind: ObjectKind, text: string): string | undefined {
  if (kind !== 'file' || !text.includes('/')) return text === '' ? undefined : text
  return fileLink.exec(text)?.[1]
}

/** Request element that refers to an item of an earlier response. */
export const itemReference = { type: 'item_reference', member: 'id', kind: 'item' } as const

/** Endings of member names that may refer to an object. */
export const referenceEndings: readonly string[] = [...referenceNames.keys()]

export function referenceOf(plain: string): ObjectKind | undefined {
  return referenceNames.get(plain)
}

export function holdsId(plain: string): boolean {
  return objectNames.has(plain)
}
