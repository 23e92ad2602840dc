import { defineSlot } from './slots.ts'
import type { StoredKind } from './stored-kinds.ts'
import type { Awaitable } from '../util/awaitable.ts'

/** The kinds of objects. An item belongs to its response or conversation, and no list contains it. */
export type ObjectKind = StoredKind | 'item'

/** Reference to an object in a request. `place` is the top-level field of the body, or the path parameter. */
export type ObjectReference = { readonly kind: ObjectKind; readonly id: string; readonly place: string }

/** Record of an object made through the gateway. It is written before the client receives the id. */
export type StoredObject = {
  readonly id: string
  readonly kind: ObjectKind
  /** Key that created the object; no other key can use it. Rotation keeps the key's id. */
  readonly keyId: string
  /** Empty for an object that the gateway itself stores. */
  readonly upstream: string
  /** Name of the vendor key that made the object; null for an upstream with a single key. */
  readonly vendorKey: string | null
  readonly model: string
  /** Id of the object that contains this one. */
  readonly parent: string | null
  /** Request that made the object; its charge has the same id. */
  readonly requestId: string
  readonly bytes: number
  /**
   * The upstream's JSON of the object, for lists; or the encrypted content of an object that the gateway stores. Null
   * for other kinds, and for objects that have ended.
   */
  readonly shown: string | null
  readonly createdAt: number
  /** The time when the upstream deletes the object; null if unknown. */
  readonly expiresAt: number | null
  /** The time when it was deleted or ended through the gateway. */
  readonly deletedAt: number | null
}

/** Statuses of an upstream that does not have the object any more. */
export const goneStatuses: ReadonlySet<number> = new Set([404, 410])

/** The `upstream` of objects that the gateway itself stores. */
export const keptHere = ''

export type ObjectPage = {
  readonly keyId: string
  readonly kind: ObjectKind
  readonly limit: number
  /** Id of the last object of the previous page. */
  readonly after?: string
  readonly order: 'asc' | 'desc'
}

/** Place of an object in the administrator's list. */
export type ObjectPosition = Pick<StoredObject, 'createdAt' | 'id' | 'keyId' | 'kind'>

/** Administrator's filter; absent members match all. */
export type ObjectFilter = {
  readonly id?: string
  readonly keyId?: string
  readonly kind?: string
  /** Only objects after this one in the list, which has the newest first. */
  readonly before?: ObjectPosition
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
  /** Without `shown`, which may be long. */
  list(filter: ObjectFilter): Awaitable<readonly StoredObject[]>
}

/** The object in the path of a request, as it was before the request. */
export const storedObjectSlot = defineSlot<StoredObject>('stored-object')

/** Members of the JSON of an object. */
export type ListedMembers = {
  readonly id: string
  /** Member of the response that holds the object; absent if the response is the object. */
  readonly inside?: string
  readonly bytes?: string
  /** The time when the upstream deletes it: seconds since the epoch, or an RFC 3339 time. */
  readonly expires?: string
}

/** The continuation of an upload: its first response has a link, whose query names the upload. */
export type UploadTraits = {
  /** Query parameter with the upstream's id of the upload. */
  readonly id: string
  /** Query parameter with a short-lived secret of the gateway: some clients send no key to a link. */
  readonly key: string
  /** Response header that holds the link. */
  readonly link: string
  /** Other response headers with links of the upstream, which no client gets. */
  readonly others: readonly string[]
  /** Request header with the size of the whole object. */
  readonly bytes: string
  readonly days: number
}

/** A request for a page of the key's objects. */
export type ObjectListQuery = {
  readonly limit: number
  /** Id of the object before the first one of the page. */
  readonly after?: string
  readonly order: 'asc' | 'desc'
  /** The page ends before `after` in the order of the list: its objects are in reverse. */
  readonly isReversed?: true
}

export type ObjectListPage = {
  readonly objects: readonly object[]
  readonly ids: readonly string[]
  readonly hasMore: boolean
  /** Name of the list, for API formats that have one. */
  readonly member: string
}

/** An operation's use of stored objects. */
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
     * Member of the response that contains the object; in events, it is inside one of the `inside` members. Only tools
     * that the upstream runs create such objects.
     */
    readonly member?: { readonly name: string; readonly inside: readonly string[] }
    /** The prefix of the model's name in the request: `models/`. */
    readonly modelPrefix?: string
    /** Request field; with `false` the upstream stores no object. */
    readonly unlessFalse?: string
    /** Days until the upstream deletes it. */
    readonly days?: number
    /** The kind has a list, made of the responses that created its objects. */
    readonly listed?: ListedMembers
    /** Members with ids of files that it has produced, and additional members of such a file in lists. */
    readonly files?: { readonly members: readonly string[]; readonly shown: { readonly [name: string]: string } }
    /** Members with links to the vendor. Clients get this path instead; `{id}` is the object's. */
    readonly links?: { readonly [member: string]: string }
  }
  /** Kind of the object `{id}` in the path; the request goes to its upstream. `ends`: success deletes the object. */
  readonly of?: {
    readonly kind: ObjectKind
    readonly ends?: true
    /** The prefix of the object's id before `{id}`: `files/`. */
    readonly prefix?: string
    /** Headers that a request of the gateway's own needs. */
    readonly headers?: { readonly [name: string]: string }
  }
  /** The gateway answers with a list from its records; some API formats name the list. */
  readonly lists?: { readonly kind: ObjectKind; readonly member?: string }
  /** Large objects may arrive in several requests, by a link that the first response returns. */
  readonly uploads?: UploadTraits
  /** The body is streamed to the upstream without buffering. */
  readonly unread?: true
  /** Requests name no model, so any model whose family offers the operation may serve them. */
  readonly namesNoModel?: true
}

type Creates = NonNullable<ObjectTraits['creates']>
type Shown = { readonly [name: string]: unknown }

/** The files that an object has produced. They have the key and request of the object. */
export function resultFiles(
  { files }: Pick<Creates, 'files'>,
  own: StoredObject,
  object: Shown,
  now: number,
): readonly StoredObject[] {
  if (!files) return []
  return files.members.flatMap(member => {
    const id = object[member]
    if (typeof id !== 'string' || id === '') return []
    const shown = JSON.stringify({ id, ...files.shown, created_at: Math.floor(now / 1000) })
    return [{ ...own, kind: 'file', id, parent: own.id, shown, bytes: 0, createdAt: now } as const]
  })
}

/** The object with the gateway's own links. */
export function withLinks({ links }: Pick<Creates, 'links'>, id: string, object: Shown): Shown {
  if (!links) return object
  const changed = Object.entries(links).filter(([member]) => typeof object[member] === 'string')
  return { ...object, ...Object.fromEntries(changed.map(([member, path]) => [member, path.replace('{id}', id)])) }
}

/** By member name, at any depth of a body: the kind of object that its text, or each text of its list, refers to. */
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
const fileLink = /(?:^|\/)files\/([^/:]+)(?::[^/]*)?\/*$/i

/** Object id in a text; undefined if it contains none. */
export function objectIdOf(kind: ObjectKind, text: string): string | undefined {
  if (kind !== 'file' || !text.includes('/')) return text === '' ? undefined : text
  // Upstreams may accept a link with escapes, a query or a final slash, so these are removed.
  const [path = ''] = unescaped(text.trim()).split(/[?#;]/, 1)
  const id = fileLink.exec(path)?.[1]
  return id === undefined ? undefined : `files/${id}`
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * Request element that refers to an item of an earlier response. In the lists `untypedIn` an element needs no type:
 * one without a type and without a role is such a reference too.
 */
export const itemReference = {
  type: 'item_reference',
  member: 'id',
  kind: 'item',
  untypedIn: ['input', 'items'],
} as const

/** Endings of member names that may refer to an object. */
export const referenceEndings: readonly string[] = [...referenceNames.keys()]

export function referenceOf(plain: string): ObjectKind | undefined {
  return referenceNames.get(plain)
}

export function holdsId(plain: string): boolean {
  return objectNames.has(plain)
}
