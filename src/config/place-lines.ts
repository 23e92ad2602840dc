import type { Token } from './read-tokens.ts'
import type { Tree } from './tree.ts'

const step = 2

/**
 * The correct column of each piece that may begin a line, by its offset: two blanks for each level, and two for a list
 * under its key. Pieces inside `{ }` and `[ ]` and continuation lines of a text have none; they follow their first
 * line.
 */
export function placeLines(root: Tree, text: string, tokens: readonly Token[]): ReadonlyMap<number, number> {
  const places = new Map<number, number>()
  const dashes = tokens.filter(token => token.kind === 'mark' && token.text === '-').map(token => token.at)
  const walk = (tree: Tree, col: number): void => {
    if (tree.kind === 'scalar' || isFlow(tree, text)) {
      places.set(tree.span.start, col)
    } else if (tree.kind === 'map') {
      for (const { keySpan, value } of tree.entries) {
        places.set(keySpan.start, col)
        if (value.span.start >= keySpan.end) walk(value, col + step)
      }
    } else {
      let from = tree.span.start
      for (const element of tree.elements) {
        const dash = dashes.find(at => at >= from)
        if (dash === undefined) return
        places.set(dash, col)
        walk(element, col + step)
        from = Math.max(dash + 1, element.span.end)
      }
    }
  }
  walk(root, 0)
  return places
}

/** True for a mapping or list in braces or brackets. */
export function isFlow({ kind, span }: Tree, text: string): boolean {
  return kind !== 'scalar' && (text[span.start] === '{' || text[span.start] === '[')
}
