/** The reference of a placeholder: names separated by dots. */
export type Ref = string

type Node =
  | { readonly kind: 'literal'; readonly value: unknown }
  | { readonly kind: 'text'; readonly parts: readonly (string | { readonly ref: Ref })[] }
  | { readonly kind: 'list'; readonly items: readonly Node[] }
  | { readonly kind: 'map'; readonly entries: readonly (readonly [name: string, node: Node])[] }

/** A template with its placeholders located. */
export type Template = { readonly root: Node; readonly refs: ReadonlySet<Ref> }

/** The value of a placeholder that has none. */
export const absent = Symbol('absent')

/** A text with parts that are not text; the code that fills the template interprets them. */
export class Mixed {
  readonly parts: readonly unknown[]

  constructor(parts: readonly unknown[]) {
    this.parts = parts
  }
}

/** The source of a template's values. */
export type Scope = {
  /**
   * The value of a placeholder; `absent` if there is none. `turn` is the index of the repeated entry that contains it.
   */
  valueOf(ref: Ref, turn: number | undefined): unknown
  /** How often a list entry with this placeholder is repeated; undefined for once. */
  turnsOf(ref: Ref): number | undefined
  /** Whether the value of the placeholder may be missing; then fields about it are left out too. */
  isOptional(ref: Ref): boolean
}

const placeholder = /\{\{|\}\}|\{([A-Za-z_][\w.-]*)\}/g

export function compileTemplate(value: unknown): Template {
  const refs = new Set<Ref>()
  return { root: compile(value, refs), refs }
}

function compile(value: unknown, refs: Set<Ref>): Node {
  if (typeof value === 'string') return compileText(value, refs)
  if (Array.isArray(value)) return { kind: 'list', items: value.map(item => compile(item, refs)) }
  if (typeof value !== 'object' || value === null) return { kind: 'literal', value }
  return { kind: 'map', entries: Object.entries(value).map(([name, own]) => [name, compile(own, refs)]) }
}

function compileText(text: string, refs: Set<Ref>): Node {
  const parts: (string | { readonly ref: Ref })[] = []
  let from = 0
  let plain = ''
  for (const match of text.matchAll(placeholder)) {
    plain += text.slice(from, match.index)
    from = match.index + match[0].length
    const [whole, ref] = match
    if (ref === undefined) {
      plain += whole.slice(1)
      continue
    }
    refs.add(ref)
    if (plain !== '') parts.push(plain)
    plain = ''
    parts.push({ ref })
  }
  plain += text.slice(from)
  if (plain !== '') parts.push(plain)
  return parts.some(part => typeof part !== 'string') ? { kind: 'text', parts } : { kind: 'literal', value: plain }
}

/** The template's value, without the entries that have none; `absent` when nothing is left of it. */
export function fillTemplate({ root }: Template, scope: Scope): unknown {
  return fill(root, scope, undefined)
}

function fill(node: Node, scope: Scope, turn: number | undefined): unknown {
  if (node.kind === 'literal') return node.value
  if (node.kind === 'text') return fillText(node.parts, scope, turn)
  if (node.kind === 'list') return fillList(node.items, scope, turn)
  return fillMap(node, scope, turn)
}

function fillText(parts: readonly (string | { readonly ref: Ref })[], scope: Scope, turn: number | undefined): unknown {
  const values = parts.map(part => (typeof part === 'string' ? part : scope.valueOf(part.ref, turn)))
  if (values.includes(absent)) return absent
  if (values.length === 1) return values[0]
  const flat = values.flatMap(value => (value instanceof Mixed ? value.parts : [value]))
  return flat.every(isPlain) ? flat.map(String).join('') : new Mixed(flat)
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

function fillList(items: readonly Node[], scope: Scope, turn: number | undefined): unknown {
  const filled = items.flatMap(item => {
    const turns = turn === undefined ? turnsOf(item, scope) : undefined
    const all = turns === undefined ? [turn] : [...Array(turns).keys()]
    return all.map(one => fill(item, scope, one)).filter(value => value !== absent)
  })
  return filled.length === 0 && items.length > 0 ? absent : filled
}

/** In nested lists the innermost one is repeated. */
function turnsOf(node: Node, scope: Scope): number | undefined {
  for (const ref of refsOf(node, 'outside lists')) {
    const turns = scope.turnsOf(ref)
    if (turns !== undefined) return turns
  }
  return undefined
}

function fillMap(node: Extract<Node, { kind: 'map' }>, scope: Scope, turn: number | undefined): unknown {
  const refs = refsOf(node)
  // Fields about a missing value, such as the type of a picture, are left out with it.
  const isLost = refs.some(ref => scope.isOptional(ref)) && refs.every(ref => scope.valueOf(ref, turn) === absent)
  if (isLost) return absent
  const entries = node.entries
    .map(([name, own]) => [name, fill(own, scope, turn)] as const)
    .filter(([, value]) => value !== absent)
  return entries.length === 0 && node.entries.length > 0 ? absent : Object.fromEntries(entries)
}

function refsOf(node: Node, which: 'all' | 'outside lists' = 'all'): readonly Ref[] {
  if (node.kind === 'text') return node.parts.flatMap(part => (typeof part === 'string' ? [] : [part.ref]))
  if (node.kind === 'list') return which === 'all' ? node.items.flatMap(item => refsOf(item)) : []
  return node.kind === 'map' ? node.entries.flatMap(([, own]) => refsOf(own, which)) : []
}
