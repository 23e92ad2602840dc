import type { DeclaredWord, ObjectKind, ObjectReference } from '../domain/index.ts'

/** By which words references are known: `declarationRules` of the domain. */
export type ReferenceRules = {
  readonly objectEndings: readonly string[]
  wordOf(name: string): DeclaredWord
  /** An element of a list at the top that refers to one of an earlier answer. */
  readonly item: { readonly type: string; readonly member: string; readonly kind: ObjectKind }
  /** The id in a text that names an object; undefined where it names something else, such as a page of the web. */
  idOf(kind: ObjectKind, text: string): string | undefined
}

/** How deep the elements of a list at the top are. */
export const elementDepth = 3

/** The stored objects that a JSON text names, at any depth, while a reader of declarations hears it. */
export class ObjectReferences {
  readonly found: ObjectReference[] = []
  readonly #rules: ReferenceRules
  readonly #place: () => string
  /** What the value of the member is that was named last. */
  #due: ObjectKind | undefined
  #holds: ObjectKind | undefined
  /** A list, or an object that says by `id` which it is, and how deep it is. */
  #within: { readonly kind: ObjectKind; readonly depth: number; readonly isList: boolean } | undefined
  #member: 'type' | 'id' | undefined
  /** All that it names: of two members of one name an upstream may take either. */
  #itemIds: string[] = []
  #isItem = false

  /** @param place the field at the top that the reader is in */
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
  }

  /** A member of an element that names no object by itself. */
  member(name: 'type' | 'id'): void {
    this.#due = undefined
    this.#holds = undefined
    this.#member = name
  }

  /** Every name counts: an object says by `id` which it is. */
  get isInside(): boolean {
    return this.#within?.isList === false
  }

  /** A name that means nothing. */
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
    if (this.#isItem) for (const id of this.#itemIds) this.#add(this.#rules.item.kind, id)
    this.#forgetItem()
  }

  /** Whether a text that comes next may be of interest. */
  wants(depth: number, isMember: boolean, length: number): boolean {
    if (isMember) {
      if (this.#due !== undefined || this.#member === 'id') return true
      // Escaped letters make it longer, never shorter.
      return this.#member === 'type' && length >= this.#rules.item.type.length
    }
    return this.#within?.isList === true && this.#within.depth === depth
  }

  /** A text that is wanted. */
  text(text: string, isMember: boolean): void {
    const kind = isMember ? this.#due : this.#within?.kind
    if (kind) this.#add(kind, text)
    if (!isMember) return
    if (this.#member === 'type') this.#isItem ||= text === this.#rules.item.type
    else if (this.#member === 'id') this.#itemIds.push(text)
    this.passed()
  }

  #add(kind: ObjectKind, text: string): void {
    const id = this.#rules.idOf(kind, text)
    if (id !== undefined) this.found.push({ kind, id, place: this.#place() })
  }

  #forgetItem(): void {
    if (this.#itemIds.length > 0) this.#itemIds = []
    this.#isItem = false
  }
}
