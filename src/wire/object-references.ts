import type { DeclaredWord, ObjectKind, ObjectReference } from '../domain/index.ts'

/** Member names that refer to objects: `declarationRules` of the domain. */
export type ReferenceRules = {
  readonly objectEndings: readonly string[]
  wordOf(name: string): DeclaredWord
  /** Element of a top-level list that refers to an item of an earlier response. */
  readonly item: {
    readonly type: string
    readonly member: string
    readonly kind: ObjectKind
    /** The lists whose elements are items if they have neither a type nor a role. */
    readonly untypedIn: readonly string[]
  }
  /** The object id in a text; undefined if the text is something else, such as the URL of a web page. */
  idOf(kind: ObjectKind, text: string): string | undefined
}

/** No object has a longer id. A longer reference is shortened, and names no object. */
const idCharsMax = 1024

/** Depth of the elements of a top-level list. */
export const elementDepth = 3

/** Collects the stored objects a JSON text refers to, at any depth. The declaration reader calls it for each token. */
export class ObjectReferences {
  readonly found: ObjectReference[] = []
  readonly #rules: ReferenceRules
  readonly #place: () => string
  /** Object kind of the current member's value. */
  #due: ObjectKind | undefined
  #holds: ObjectKind | undefined
  /** Enclosing list of ids, or enclosing object with an `id`, and its depth. */
  #within: { readonly kind: ObjectKind; readonly depth: number; readonly isList: boolean } | undefined
  #member: 'type' | 'id' | 'role' | undefined
  /** Whether the element has a text as its type or role. */
  #isTyped = false
  /** All ids of the element: an upstream may use either of two members with the same name. */
  #itemIds: string[] = []
  #isItem = false

  /** @param place returns the current top-level field */
  constructor(rules: ReferenceRules, place: () => string) {
    this.#rules = rules
    this.#place = place
  }

  named(name: string, depth: number): void {
    const { object, holdsId, isTopObject } = this.#rules.wordOf(name)
    const isMeant = object !== undefined && (depth === 1 || !isTopObject)
    this.#due = isMeant ? object : undefined
    this.#holds = isMeant && holdsId ? object : undefined
    this.#member = undefined
    const within = this.#within
    if (within && !within.isList && depth === within.depth && name === 'id') this.#due = within.kind
    if (depth !== elementDepth) return
    if (name === 'type') this.#member = 'type'
    else if (name === this.#rules.item.member) this.#member = 'id'
    else if (name === 'role') this.#member = 'role'
  }

  /** A `type`, `id` or `role` member of a list element. */
  member(name: 'type' | 'id' | 'role'): void {
    this.#due = undefined
    this.#holds = undefined
    this.#member = name
  }

  /** Whether the reader is inside an object with an `id`, where every member name matters. */
  get isInside(): boolean {
    return this.#within?.isList === false
  }

  /** A member name without a meaning here. */
  passed(): void {
    this.#due = undefined
    this.#holds = undefined
    this.#member = undefined
  }

  opened(isObject: boolean, depth: number): void {
    const kind = isObject ? this.#holds : this.#due
    if (kind) this.#within = { kind, depth, isList: !isObject }
    this.passed()
    if (depth === elementDepth) this.#forgetItem()
  }

  closed(depth: number): void {
    if (this.#within?.depth === depth) this.#within = undefined
    if (depth !== elementDepth) return
    if (this.#isItem || this.#isUntypedItem()) for (const id of this.#itemIds) this.#add(this.#rules.item.kind, id)
    this.#forgetItem()
  }

  /** Whether the next text may be needed. */
  wants(depth: number, isMember: boolean): boolean {
    if (isMember) return this.#due !== undefined || this.#member !== undefined
    return this.#within?.isList === true && this.#within.depth === depth
  }

  /** A text for which `wants` returned true. */
  text(text: string, isMember: boolean): void {
    const kind = isMember ? this.#due : this.#within?.kind
    if (kind) this.#add(kind, text)
    if (!isMember) return
    if (this.#member === 'id') this.#itemIds.push(text)
    else this.#isTyped ||= this.#member !== undefined
    if (this.#member === 'type') this.#isItem ||= text === this.#rules.item.type
    this.passed()
  }

  #add(kind: ObjectKind, text: string): void {
    const id = this.#rules.idOf(kind, text)
    if (id === undefined) return
    const isLong = id.length > idCharsMax
    this.found.push({ kind, id: isLong ? `${id.slice(0, idCharsMax)}…` : id, place: this.#place() })
  }

  #isUntypedItem(): boolean {
    return !this.#isTyped && this.#itemIds.length > 0 && this.#rules.item.untypedIn.includes(this.#place())
  }

  #forgetItem(): void {
    this.#isTyped = false
    if (this.#itemIds.length > 0) this.#itemIds = []
    this.#isItem = false
  }
}
