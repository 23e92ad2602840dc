import { readYaml } from '../../config/load.ts'
import type { Entry, MapTree, Tree } from '../../config/tree.ts'

type Edit = { readonly start: number; readonly end: number; readonly put: string }
type Text = { readonly text: string; readonly root: MapTree }

/**
 * Merges the lines of a later block into those of a recipe: adds missing members, and replaces existing values.
 * @throws Error if a block cannot be read
 */
export function overlay(base: string, later: string): string {
  const [below, above] = [open(base), open(later)]
  const edits = [...editsOf(below, below.root, above, above.root)].sort((a, b) => b.start - a.start)
  return edits.reduce((text, { start, end, put }) => text.slice(0, start) + put + text.slice(end), base)
}

/** Whether a block adds to a mapping that another block has. */
export function overlaps(base: string, later: string): boolean {
  const [below, above] = [open(base).root, open(later).root]
  return above.entries.some(({ key, value }) => {
    const there = below.entries.find(entry => entry.key === key)?.value
    if (value.kind !== 'map' || there?.kind !== 'map') return false
    return value.entries.some(own => there.entries.some(entry => entry.key === own.key))
  })
}

function open(text: string): Text {
  const { root, diagnostics } = readYaml(text)
  if (root?.kind !== 'map' || diagnostics.length > 0) throw new Error('a block of a recipe cannot be read')
  return { text, root }
}

function* editsOf(base: Text, into: MapTree, later: Text, from: MapTree): Generator<Edit> {
  const fresh: Entry[] = []
  for (const entry of from.entries) {
    const there = into.entries.find(one => one.key === entry.key)?.value
    if (!there) fresh.push(entry)
    else if (there.kind === 'map' && entry.value.kind === 'map') yield* editsOf(base, there, later, entry.value)
    else yield { start: there.span.start, end: there.span.end, put: sourceOf(later, entry.value.span) }
  }
  const last = into.entries.at(-1)
  if (fresh.length === 0 || !last) return
  if (base.text[into.span.start] === '{') yield inBraces(base, into, later, fresh)
  else yield { ...inLines(base, last), put: linesOf(later, fresh, columnOf(base.text, last.keySpan.start)) }
}

/** Appends within the braces; if whole lines are added, the existing entries get lines of their own. */
function inBraces(base: Text, into: MapTree, later: Text, fresh: readonly Entry[]): Edit {
  const texts = fresh.map(entry =>
    sourceOf(later, { start: entry.keySpan.start, end: lastOf(later.text, entry.value) }),
  )
  const at = into.entries.at(-1)?.value.span.end ?? into.span.end
  if (!texts.some(text => text.includes('\n')))
    return { start: at, end: at, put: texts.map(text => `, ${text}`).join('') }
  const line = base.text.lastIndexOf('\n', into.span.start) + 1
  const column = (/^ */.exec(base.text.slice(line))?.[0].length ?? 0) + 2
  const own = into.entries.map(({ keySpan, value }) => {
    return `\n${' '.repeat(column)}${sourceOf(base, { start: keySpan.start, end: value.span.end })}`
  })
  const put = own.join('') + linesOf(later, fresh, column)
  return { start: into.span.start - 1, end: into.span.end, put }
}

function inLines(base: Text, last: Entry): Pick<Edit, 'start' | 'end'> {
  const at = lineEnd(base.text, lastOf(base.text, last.value))
  return { start: at, end: at }
}

/** Entries as lines at this column, each preceded by a line break. */
function linesOf(later: Text, entries: readonly Entry[], column: number): string {
  const lines = entries.flatMap(entry => {
    const own = columnOf(later.text, entry.keySpan.start)
    const isAlone = later.text.slice(entry.keySpan.start - own, entry.keySpan.start).trim() === ''
    const last = lastOf(later.text, entry.value)
    const end = isAlone ? lineEnd(later.text, last) : last
    const [first = '', ...more] = sourceOf(later, { start: entry.keySpan.start, end }).split('\n')
    return [' '.repeat(column) + first, ...more.map(line => ' '.repeat(column) + line.slice(own))]
  })
  return lines.map(line => `\n${line}`).join('')
}

function sourceOf({ text }: Text, { start, end }: Tree['span']): string {
  return text.slice(start, end)
}

function columnOf(text: string, at: number): number {
  return at - (text.lastIndexOf('\n', at - 1) + 1)
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at)
  return end < 0 ? text.length : end
}

/** The end of a value; the span of a block mapping extends to the next key. */
function lastOf(text: string, value: Tree): number {
  const isFlow = text[value.span.start] === '{' || text[value.span.start] === '['
  if (value.kind === 'scalar' || isFlow) return value.span.end
  const inner = value.kind === 'map' ? value.entries.at(-1)?.value : value.elements.at(-1)
  return inner ? lastOf(text, inner) : value.span.end
}
