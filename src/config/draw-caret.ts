import { firstAt } from '../util/index.ts'
import type { Source } from './source.ts'
import type { Span } from './tree.ts'

const widthMax = 140
const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]/

/**
 * The first line of a span and, under it, a caret at the span's first column and tildes under its other columns. Empty
 * for a blank line. Characters inside `hidden`, which is in the order of the text, are shown as `*`. A long line is cut
 * to the part around the caret.
 */
export function drawCaret(source: Source, span: Span, hidden: readonly Span[]): string {
  const { start, end } = source.lineSpanAt(span.start)
  const line = source.text.slice(start, end)
  if (line.trim() === '') return ''
  const at = Math.min(span.start - start, line.length)
  const length = Math.max(1, Math.min(span.end, end) - span.start)
  const from = line.length <= widthMax ? 0 : Math.max(0, Math.min(at - 40, line.length - widthMax))
  const to = Math.min(line.length, from + widthMax)
  // Only this part is read: a file without line breaks may have many findings, and many hidden places.
  let next = firstAt(hidden.length, i => (hidden[i] as Span).end <= start + from)
  const shown = [...line.slice(from, to).split('').entries()]
    .map(([i, unit]) => {
      const place = start + from + i
      while ((hidden[next]?.end ?? Infinity) <= place) next++
      return unit === '\t' ? ' ' : (hidden[next]?.start ?? Infinity) <= place ? '*' : unit
    })
    .join('')
  const col = at - from
  const before = from > 0 ? '…' : ''
  const after = to < line.length ? '…' : ''
  const gap = before.replace('…', ' ') + blank(shown.slice(0, col))
  const mark = `^${'~'.repeat(Math.max(0, columns(shown.slice(col, col + length)) - 1))}`
  return `${before}${shown}${after}\n${gap}${mark}`
}

function columns(text: string): number {
  let count = 0
  for (const char of text) count += wide.test(char) ? 2 : 1
  return count
}

function blank(text: string): string {
  return ' '.repeat(columns(text))
}
