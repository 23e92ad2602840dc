import type { Span } from './tree.ts'

/** The parser's error for a line with a value before deeper lines, which the parser reads as part of the value. */
export function isIndentation(code: string): boolean {
  return code === 'BLOCK_AS_IMPLICIT_KEY' || code === 'MULTILINE_IMPLICIT_KEY'
}

/**
 * The line with too much indentation: the parser points at the line above it, which already has a value. Undefined if
 * the line below is not deeper.
 */
export function deeperLine(
  text: string,
  at: number,
): { readonly span: Span; readonly message: string; readonly remedy: string } | undefined {
  const above = lineAt(text, at)
  const below = nextLine(text, above.end)
  if (!below || below.indent <= above.indent) return undefined
  return {
    span: { start: below.start + below.indent, end: below.end },
    message: 'not YAML: this line is indented deeper than the line above, which already has a value',
    remedy: `indent it with ${spaces(above.indent)}, as the line above, or remove the value of that line`,
  }
}

/** For a name that begins in another column than the earlier names of its mapping. */
export function unevenRemedy(text: string, lineStart: number): string {
  const here = lineAt(text, lineStart)
  let first: Line | undefined
  for (let at = here.start; at > 0; ) {
    const line = lineAt(text, at - 1)
    at = line.start
    if (line.isEmpty) continue
    if (line.indent <= here.indent) break
    if (first === undefined || line.indent <= first.indent) first = line
  }
  if (!first) return 'indent all names of a mapping alike'
  const number = text.slice(0, first.start).split('\n').length
  return `indent all names of a mapping alike: this one with ${spaces(first.indent)}, as line ${number}, or that one with ${spaces(here.indent)}`
}

type Line = { readonly start: number; readonly end: number; readonly indent: number; readonly isEmpty: boolean }

function lineAt(text: string, at: number): Line {
  const start = text.lastIndexOf('\n', at - 1) + 1
  const found = text.indexOf('\n', start)
  const end = found === -1 ? text.length : found
  const indent = /^ */.exec(text.slice(start, end))?.[0].length ?? 0
  const isEmpty = start + indent === end || text[start + indent] === '#'
  return { start, end, indent, isEmpty }
}

/** The next line with content. */
function nextLine(text: string, end: number): Line | undefined {
  for (let at = end + 1; at < text.length; ) {
    const line = lineAt(text, at)
    if (!line.isEmpty) return line
    at = line.end + 1
  }
  return undefined
}

function spaces(count: number): string {
  return count === 1 ? '1 space' : `${count} spaces`
}
