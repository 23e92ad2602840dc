import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../domain/index.ts'
import { readYaml } from '../load.ts'
import { type Entry, findNode, type ListTree, type MapTree, type Path, type Span, toValue, type Tree } from '../tree.ts'
import { type Quotes, renderEntry, renderValue } from './render.ts'
import { isObject } from '../../util/index.ts'

// Changes a text in place: all other characters stay unchanged, including comments, quotes and whitespace.

/** A change that cannot be made in place. */
export class SpliceError extends Error {}

/** Each step parses the text again: a real edit needs fewer steps. */
const stepsMax = 60
/** Each step compares a value with the one in the text. */
const looksMax = 5_000

/** The remaining work for all edits of one request. */
export class SpliceBudget {
  #steps = stepsMax
  #looks = looksMax

  /** @throws SpliceError if no step is left */
  step(): void {
    if (--this.#steps < 0) throw new SpliceError('there are too many changes at once')
  }

  /** @throws SpliceError if no comparison is left */
  look(): void {
    if (--this.#looks < 0) throw new SpliceError('the new value is too large')
  }
}

/** Changes a text step by step. */
export class Splicer {
  #text: string
  /** The tree of the current text; null if it is not YAML that the gateway reads, undefined before it is parsed. */
  #root: Tree | null | undefined
  readonly #budget: SpliceBudget
  readonly #eol: string

  constructor(text: string, budget: SpliceBudget) {
    this.#text = text
    this.#budget = budget
    this.#eol = text.includes('\r\n') ? '\r\n' : '\n'
  }

  get text(): string {
    return this.#text
  }

  /** Parsed once for each text. @throws SpliceError if the text is not YAML that the gateway reads */
  get root(): Tree {
    if (this.#root === undefined) {
      const { root, diagnostics } = readYaml(this.#text)
      this.#root = root && diagnostics.length === 0 ? root : null
    }
    if (this.#root === null) throw new SpliceError('the file cannot be read')
    return this.#root
  }

  /** Sets a value at a path with an existing parent. Equal members stay unchanged. @throws SpliceError */
  set(path: Path, value: Json): void {
    this.#budget.look()
    const { node, whole } = findNode(this.root, path)
    if (!whole) {
      this.#insert(path, value)
      return
    }
    if (isDeepStrictEqual(toValue(node), value)) return
    if (node.kind === 'map' && isObject(value)) this.#merge(path, node, value)
    else if (node.kind === 'list' && Array.isArray(value) && value.length > 0 && node.elements.length > 0)
      this.#mergeList(path, node, value)
    else this.#replace(path, value)
  }

  /** @throws SpliceError */
  remove(path: Path): void {
    const parent = findNode(this.root, path.slice(0, -1))
    const last = path.at(-1)
    if (!parent.whole || last === undefined) throw new SpliceError('there is nothing to remove')
    const { node } = parent
    if (node.kind === 'map')
      this.#removeAt(
        node,
        node.entries.map(this.#spanOfEntry),
        node.entries.findIndex(one => one.key === last),
        '{}',
      )
    else if (node.kind === 'list')
      this.#removeAt(node, node.elements.map(this.#spanOfElement(node)), Number(last), '[]')
    else throw new SpliceError('there is nothing to remove')
  }

  #merge(path: Path, node: MapTree, value: { readonly [key: string]: Json }): void {
    // A member that replaces another one takes its position.
    for (const [key, one] of Object.entries(value)) this.set([...path, key], one)
    for (const { key } of node.entries) if (!Object.hasOwn(value, key)) this.remove([...path, key])
  }

  #mergeList(path: Path, node: ListTree, value: readonly Json[]): void {
    for (const [i, one] of value.entries()) this.set([...path, i], one)
    for (let i = node.elements.length - 1; i >= value.length; i--) this.remove([...path, i])
  }

  #replace(path: Path, value: Json): void {
    const { node, keySpan } = findNode(this.root, path)
    const end = this.#endOf(node)
    if (
      node.kind === 'scalar' &&
      node.value === null &&
      (end <= node.span.start || keySpan === undefined || node.span.start < keySpan.end)
    ) {
      if (!keySpan) throw new SpliceError('an empty list entry')
      const at = this.#afterColon(keySpan)
      this.#splice(at, at, ` ${renderValue(value)}`)
      return
    }
    this.#splice(node.span.start, end, renderValue(value, this.#quotesAt(node)))
  }

  #insert(path: Path, value: Json): void {
    const parent = findNode(this.root, path.slice(0, -1))
    const key = path.at(-1)
    if (!parent.whole || key === undefined) throw new SpliceError('nothing precedes this entry')
    const { node, keySpan } = parent
    if (node.kind === 'list') this.#append(node, value)
    else if (node.kind === 'map') this.#insertEntry(node, String(key), value)
    else if (node.value === null && keySpan) this.#fill(node, keySpan, String(key), value)
    else throw new SpliceError('a value precedes this entry')
  }

  #insertEntry(node: MapTree, key: string, value: Json): void {
    const last = node.entries.at(-1)
    if (this.#isFlow(node)) {
      const text = renderEntry(key, value, '', false)
      if (last) this.#splice(this.#endOf(last.value, last.keySpan), this.#endOf(last.value, last.keySpan), `, ${text}`)
      else this.#splice(node.span.start, node.span.end, `{ ${text} }`)
      return
    }
    if (!last) throw new SpliceError('a mapping without a name')
    const indent = this.#columnOf(node.entries[0]?.keySpan ?? last.keySpan)
    const asBlock = node.entries.some(({ value }) => value.kind === 'map' && !this.#isFlow(value))
    this.#addChargeItem(this.#endOf(last.value, last.keySpan), indent, renderEntry(key, value, indent, asBlock))
  }

  /** Changes `name:` without a value to a mapping. */
  #fill(node: Tree, keySpan: Span, key: string, value: Json): void {
    const end = this.#endOf(node)
    if (end > node.span.start && node.span.start >= keySpan.end) {
      this.#splice(node.span.start, end, `{ ${renderEntry(key, value, '', false)} }`)
      return
    }
    const indent = `${this.#columnOf(keySpan)}  `
    this.#addChargeItem(this.#afterColon(keySpan), indent, renderEntry(key, value, indent, false))
  }

  #append(node: ListTree, value: Json): void {
    const last = node.elements.at(-1)
    if (!last) this.#splice(node.span.start, node.span.end, `[${renderValue(value)}]`)
    else if (this.#isFlow(node)) this.#splice(this.#endOf(last), this.#endOf(last), `, ${renderValue(value)}`)
    else {
      const dash = this.#dashOf(last)
      this.#addChargeItem(this.#endOf(last), this.#columnOf({ start: dash, end: dash }), `- ${renderValue(value)}`)
    }
  }

  /** Adds text after the line of an offset, and after a comment at its end. */
  #addChargeItem(offset: number, indent: string, content: string): void {
    const next = this.text.indexOf('\n', offset)
    const end = next === -1 ? this.text.length : this.text[next - 1] === '\r' ? next - 1 : next
    this.#splice(end, end, this.#eol + indent + content.replaceAll('\n', this.#eol))
  }

  #removeAt(node: MapTree | ListTree, spans: readonly Span[], at: number, empty: string): void {
    const own = spans[at]
    if (!own) throw new SpliceError('there is nothing to remove')
    const [before, after] = [spans[at - 1], spans[at + 1]]
    if (spans.length === 1) {
      this.#splice(
        this.#isFlow(node) ? node.span.start : own.start,
        this.#isFlow(node) ? node.span.end : own.end,
        empty,
      )
      return
    }
    if (this.#isFlow(node)) {
      const tail = after && { start: own.start, end: after.start }
      const head = before && { start: before.end, end: own.end }
      // If a comment is in between, only the entry and its comma are removed.
      const gone = [tail, head].find(span => span && !this.text.slice(span.start, span.end).includes('\n')) ?? own
      if (gone === own && after) {
        const comma = this.text.indexOf(',', own.end)
        this.#splice(comma, comma + 1, '')
      }
      this.#splice(gone.start, gone.end, '')
      return
    }
    const lineStart = this.text.lastIndexOf('\n', own.start - 1) + 1
    if (this.text.slice(lineStart, own.start).trim() !== '') {
      if (!after) throw new SpliceError('it shares a line with another setting')
      this.#splice(own.start, after.start, '')
      return
    }
    const next = this.text.indexOf('\n', own.end)
    this.#splice(lineStart, next === -1 ? this.text.length : next + 1, '')
  }

  readonly #spanOfEntry = ({ keySpan, value }: Entry): Span => ({
    start: keySpan.start,
    end: this.#endOf(value, keySpan),
  })

  #spanOfElement(list: ListTree): (element: Tree) => Span {
    const isFlow = this.#isFlow(list)
    return element => ({ start: isFlow ? element.span.start : this.#dashOf(element), end: this.#endOf(element) })
  }

  #dashOf(element: Tree): number {
    const dash = this.text.lastIndexOf('-', element.span.start - 1)
    if (dash === -1 || this.text.slice(dash + 1, element.span.start).trim() !== '')
      throw new SpliceError('a list in an unusual layout')
    return dash
  }

  /** The end of a node's text, without whitespace, comments and lines after it. */
  #endOf(node: Tree, keySpan?: Span): number {
    if (node.kind !== 'scalar' && !this.#isFlow(node)) {
      const last = node.kind === 'map' ? node.entries.at(-1) : undefined
      if (last) return this.#endOf(last.value, last.keySpan)
      const element = node.kind === 'list' ? node.elements.at(-1) : undefined
      if (element) return this.#endOf(element)
    }
    // A name without a value has a place for one, which is empty.
    if (node.kind === 'scalar' && node.value === null && keySpan && node.span.start < keySpan.end)
      return this.#afterColon(keySpan)
    let { end } = node.span
    while (end > node.span.start && /\s/.test(this.text[end - 1] ?? '')) end--
    return end
  }

  #afterColon(keySpan: Span): number {
    const colon = this.text.indexOf(':', keySpan.end)
    if (colon === -1) throw new SpliceError('a name without a colon')
    return colon + 1
  }

  #isFlow(node: Tree): boolean {
    const first = this.text[node.span.start]
    return node.kind === 'map' ? first === '{' : node.kind === 'list' && first === '['
  }

  #quotesAt(node: Tree): Quotes {
    const first = node.kind === 'scalar' ? this.text[node.span.start] : undefined
    return first === "'" ? 'single' : first === '"' ? 'double' : 'none'
  }

  /** Blanks up to the column of a span, whether or not the text before it is blank. */
  #columnOf({ start }: Span): string {
    return ' '.repeat(start - (this.text.lastIndexOf('\n', start - 1) + 1))
  }

  #splice(start: number, end: number, put: string): void {
    this.#budget.step()
    this.#text = this.#text.slice(0, start) + put + this.#text.slice(end)
    this.#root = undefined
  }
}
