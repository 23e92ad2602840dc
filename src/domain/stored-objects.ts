import type { Awaitable } from '../util/awaitable.ts'

/** What an upstream keeps for a client after the answer: a response, an item of one, a conversation, a file, a container. */
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

/** An object as a request names it: `place` is the field at the top of the body, or the path. */
export type ObjectReference = { readonly kind: ObjectKind; readonly id: string; readonly place: string }

/** What is recorded of an object that was made through the gateway, before its id leaves. */
export type StoredObject = {
  readonly id: string
  readonly kind: ObjectKind
  /** The key that made it, and the only one that reaches it. A rotation keeps the key's id. */
  readonly keyId: string
  readonly upstream: string
  /** The name of the vendor key that made it; null where the upstream has no list of keys. */
  readonly vendorKey: string | null
  readonly model: string
  /** The object that it is part of. */
  readonly parent: string | null
  /** The request that made it, and its charge. */
  readonly requestId: string
  readonly bytes: number
  /** As lists show it: the JSON that the upstream gave of it. Null where its kind is not listed. */
  readonly shown: string | null
  readonly createdAt: number
  /** The upstream has none of it after that; null where nothing is known. */
  readonly expiresAt: number | null
  /** It was deleted through the gateway. */
  readonly deletedAt: number | null
}

export type ObjectPage = {
  readonly keyId: string
  readonly kind: ObjectKind
  readonly limit: number
  /** The id of the last one of the page before. */
  readonly after?: string
  readonly order: 'asc' | 'desc'
}

/** What administrators look for; absent members match all. */
export type ObjectFilter = {
  readonly id?: string
  readonly keyId?: string
  readonly kind?: string
  readonly limit: number
}

/** Stored objects. What is written is durable when the promise resolves. */
export type ObjectStore = {
  put(objects: readonly StoredObject[]): Promise<void>
  /** Those of a key that are there, in any order; expired and deleted ones are not. */
  find(keyId: string, wanted: readonly Pick<ObjectReference, 'kind' | 'id'>[]): Awaitable<readonly StoredObject[]>
  /** Ends an object and its parts; false where it is not there. */
  end(keyId: string, kind: ObjectKind, id: string): Promise<boolean>
  page(page: ObjectPage): Awaitable<readonly StoredObject[]>
  /** How many a key has that are not parts of others or answers, and their bytes. */
  sizeOf(keyId: string): Awaitable<{ readonly count: number; readonly bytes: number }>
  list(filter: ObjectFilter): Awaitable<readonly StoredObject[]>
}

/** What an operation has to do with stored objects. */
export type ObjectTraits = {
  /** Its answers make an object of this kind. */
  readonly creates?: {
    readonly kind: ObjectKind
    /** In events, the member that is the object; at the top of a whole answer. */
    readonly inside?: string
    /** A list whose elements have members that name further objects, and the member of events that is such an element. */
    readonly parts?: {
      readonly at: string
      readonly inside: string
      readonly members: { readonly [name: string]: ObjectKind }
    }
    /**
     * The object is a member of the answer, of this name; in events, within one of these members. Only what tools that the
     * upstream runs have made is such an object.
     */
    readonly member?: { readonly name: string; readonly inside: readonly string[] }
    /** The field that says by `false` that nothing is kept. */
    readonly unlessFalse?: string
    /** It is kept at upstreams for so long. */
    readonly days?: number
    /** Lists show it. */
    readonly listed?: true
  }
  /** The path names one by `{id}`, and the request goes to where it is. `ends`: with its success the object is gone. */
  readonly of?: { readonly kind: ObjectKind; readonly ends?: true }
  /** It is answered from the record. */
  readonly lists?: ObjectKind
  /** Its body goes upstream as it comes, and nothing of it is kept here. */
  readonly unread?: true
  /** Its requests name no model: any whose family offers it may carry them. */
  readonly namesNoModel?: true
}

/** By member, at any depth of a body: the kind of object that its text, or each text of its list, names. */
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
/** What is an object within a member of these names says by `id` which. */
const objectNames: ReadonlySet<string> = new Set(['conversation', 'container'])

/** Members that name an object at the top of a body alone: within one they mean something else. */
const topNames: ReadonlySet<string> = new Set(['previousresponseid', 'conversation', 'cachedcontent'])

export function isTopReference(plain: string): boolean {
  return topNames.has(plain)
}

/** The end of a link to a file that an upstream keeps: `https://…/v1beta/files/abc`, `files/abc`. Other links are no objects. */
const fileLink = /(?:^|\/)(files\/[^/?#]+)$/

/** The id of the object that a text names; undefined where it names none. */
export function objectIdOf(kind: ObjectKind, text: string): string | undefined {
  if (kind !== 'file' || !text.includes('/')) return text === '' ? undefined : text
  return fileLink.exec(text)?.[1]
}

/** An element of a request that refers to one of an earlier answer. */
export const itemReference = { type: 'item_reference', member: 'id', kind: 'item' } as const

/** How a member's name ends, where it may name an object. */
export const referenceEndings: readonly string[] = [...referenceNames.keys()]

export function referenceOf(plain: string): ObjectKind | undefined {
  return referenceNames.get(plain)
}

export function holdsId(plain: string): boolean {
  return objectNames.has(plain)
}
