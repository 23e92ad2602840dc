import type { Span, Tree } from './tree.ts'

/** A piece of a YAML text: a value or key as written, a mark such as `{` or `-`, a comment, or a line break. */
export type Token = {
  readonly kind: 'value' | 'mark' | 'comment' | 'break'
  readonly text: string
  readonly at: number
}

/** Splits a text into its pieces; `root` is the tree of the text. Only blanks are between two pieces. */
export function readTokens(text: string, root: Tree): readonly Token[] {
  const tokens: Token[] = []
  let at = 0
  for (const span of [...valueSpans(root)].toSorted((a, b) => a.start - b.start)) {
    tokens.push(...readGap(text, at, span.start))
    const end = endOfValue(text, span)
    tokens.push({ kind: 'value', text: text.slice(span.start, end), at: span.start })
    at = end
  }
  tokens.push(...readGap(text, at, text.length))
  return tokens
}

/** The spans of all keys and nonempty scalars; an empty value has no place. */
function* valueSpans(tree: Tree, after = 0): Generator<Span> {
  if (tree.kind === 'scalar') {
    if (tree.span.start >= after && tree.span.end > tree.span.start) yield tree.span
  } else if (tree.kind === 'list') {
    for (const element of tree.elements) yield* valueSpans(element, tree.span.start)
  } else {
    for (const { keySpan, value } of tree.entries) {
      if (keySpan.end > keySpan.start) yield keySpan
      yield* valueSpans(value, keySpan.end)
    }
  }
}

/** Only with `|+` does a block of text include the empty lines at its end. */
function endOfValue(text: string, { start, end }: Span): number {
  const header = /^[|>][^\n]*/.exec(text.slice(start, end))?.[0]
  if (header === undefined) return end
  if (header.includes('+')) return text[end - 1] === '\n' ? end - 1 : end
  return start + text.slice(start, end).trimEnd().length
}

/** The possible pieces between values. A comment begins after a blank or a line break. */
const gap = /(?<break>\r?\n)|(?<comment>(?<=^|\s)#[^\n]*)|[{}[\],:]|[^\s{}[\],:]+/g

function* readGap(text: string, start: number, end: number): Generator<Token> {
  gap.lastIndex = start
  for (let match = gap.exec(text); match !== null && match.index < end; match = gap.exec(text)) {
    const { 0: piece, index, groups } = match
    if (groups?.['break'] !== undefined) yield { kind: 'break', text: '\n', at: index }
    else if (groups?.['comment'] !== undefined) yield { kind: 'comment', text: piece.trimEnd(), at: index }
    else yield { kind: 'mark', text: piece, at: index }
  }
}
