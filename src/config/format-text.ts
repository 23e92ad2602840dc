import { isDeepStrictEqual } from 'node:util'
import { readYaml } from './load.ts'
import { placeLines } from './place-lines.ts'
import { readTokens, type Token } from './read-tokens.ts'
import type { PlacedDiagnostic } from './report.ts'
import { toValue, type Tree } from './tree.ts'

export type Formatted =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly diagnostics: readonly PlacedDiagnostic[] }

/**
 * The text in its canonical layout: two blanks for each level, one blank inside braces, at most one empty line.
 * Comments, quotes, order and line breaks stay. Formatting is idempotent.
 * @throws Error if the layout would change the meaning of the text, which is a bug in this code
 */
export function formatText(given: string): Formatted {
  const text = given.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
  const { root, diagnostics } = readYaml(text)
  if (!root || diagnostics.length > 0) return { ok: false, diagnostics }
  const formatted = layOut(text, root)
  const again = readYaml(formatted)
  const same =
    again.root !== undefined &&
    again.diagnostics.length === 0 &&
    isDeepStrictEqual(entriesIn(again.root), entriesIn(root)) &&
    isDeepStrictEqual(commentsIn(formatted, again.root), commentsIn(text, root))
  if (!same)
    throw new Error('formatting would change the meaning of the file, so it was not written; please report the file')
  return { ok: true, text: formatted }
}

/** Includes the order of keys, because patterns of routes are tried in the order written. */
function entriesIn(tree: Tree): unknown {
  if (tree.kind === 'list') return tree.elements.map(entriesIn)
  return tree.kind === 'map' ? tree.entries.map(({ key, value }) => [key, entriesIn(value)]) : toValue(tree)
}

function commentsIn(text: string, root: Tree): readonly string[] {
  return readTokens(text, root).flatMap(token => (token.kind === 'comment' ? [token.text] : []))
}

type Line = readonly Token[]

function layOut(text: string, root: Tree): string {
  const tokens = readTokens(text, root)
  const columns = new Columns(text)
  const places = placeLines(root, text, tokens)
  const lines = linesOf(tokens)
  const written: string[] = []
  let depth = 0
  let shift = 0
  /** The old and the new column of each open level. */
  let levels: ReadonlyMap<number, number> = new Map([[0, 0]])
  for (const [i, line] of lines.entries()) {
    const [first] = line
    if (!first) {
      if (written.length > 0 && written.at(-1) !== '') written.push('')
      continue
    }
    const old = columns.of(first.at)
    const place = depth === 0 ? places.get(first.at) : undefined
    let col = Math.max(0, old + shift)
    if (first.kind === 'comment' && depth === 0) {
      col = columnOfComment(lines, i, columns, places, levels)
    } else if (place !== undefined) {
      col = place
      levels = new Map([...[...levels].filter(([, above]) => above < place), [old, place]])
    }
    if (depth === 0 && first.kind !== 'comment') shift = col - old
    const { written: shown, depth: after } = writeLine(line, col, depth, columns)
    written.push(shift === 0 ? shown : shiftFurtherLines(shown, shift))
    depth = after
  }
  while (written.at(-1) === '') written.pop()
  return `${written.join('\n')}\n`
}

function linesOf(tokens: readonly Token[]): readonly Line[] {
  const lines: Token[][] = [[]]
  for (const token of tokens) {
    if (token.kind === 'break') lines.push([])
    else lines.at(-1)?.push(token)
  }
  return lines
}

/**
 * A comment on its own line stays at its level: that of the comment at the end of the line above, otherwise an open
 * level, otherwise that of the next content below.
 */
function columnOfComment(
  lines: readonly Line[],
  index: number,
  columns: Columns,
  places: ReadonlyMap<number, number>,
  levels: ReadonlyMap<number, number>,
): number {
  const old = columns.of(lines[index]?.[0]?.at ?? 0)
  const above = lines[index - 1]?.at(-1)
  if (above?.kind === 'comment' && columns.of(above.at) === old && continues(lines, index, columns)) return old
  const below = lines.slice(index).find(line => line[0] !== undefined && line[0].kind !== 'comment')?.[0]
  const next = below && places.get(below.at)
  if (below && next !== undefined && columns.of(below.at) === old) return next
  return levels.get(old) ?? next ?? [...levels.values()].at(-1) ?? 0
}

/** True if the comments above in the same column begin at the end of a line of content. */
function continues(lines: readonly Line[], index: number, columns: Columns): boolean {
  const old = columns.of(lines[index]?.[0]?.at ?? 0)
  for (let i = index - 1; i >= 0; i--) {
    const line = lines[i] ?? []
    const last = line.at(-1)
    if (last?.kind !== 'comment' || columns.of(last.at) !== old) return false
    if (line.length > 1) return true
  }
  return false
}

function writeLine(line: Line, col: number, depthBefore: number, columns: Columns): { written: string; depth: number } {
  let depth = depthBefore
  let written = ' '.repeat(col)
  for (const [i, token] of line.entries()) {
    const before = line[i - 1]
    if (before) {
      const comment = token.kind === 'comment'
      const blanks = comment ? Math.max(1, columns.of(token.at) - columnAtEnd(written)) : blanksBetween(before, token)
      written += ' '.repeat(blanks)
    }
    written += token.text
    if (isMark(token, '{[')) depth++
    else if (isMark(token, '}]')) depth--
  }
  return { written, depth }
}

function blanksBetween(before: Token, token: Token): number {
  if (isMark(before, '{')) return isMark(token, '}') ? 0 : 1
  if (isMark(before, '[') || isMark(token, '],:')) return 0
  return 1
}

function isMark({ kind, text }: Token, marks: string): boolean {
  return kind === 'mark' && text.length === 1 && marks.includes(text)
}

function columnAtEnd(written: string): number {
  return written.length - written.lastIndexOf('\n') - 1
}

/** The other lines of a text on several lines move with the first; empty lines stay empty. */
function shiftFurtherLines(written: string, shift: number): string {
  return written.replaceAll(
    /\n( *)(?=\S)/g,
    (_, blanks: string) => `\n${' '.repeat(Math.max(0, blanks.length + shift))}`,
  )
}

/** Columns of offsets, from 0. */
class Columns {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  of(offset: number): number {
    return offset - this.#text.lastIndexOf('\n', offset - 1) - 1
  }
}
