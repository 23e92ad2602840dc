import type { Source } from './source.ts'
import type { Span } from './tree.ts'

const widthMax = 140
const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]/

/**
 * The first line of a span and, under it, a caret at the span's first column and tildes under its other columns. Empty
 * for a blank line. Characters inside `hidden` are shown as `*`. A long line is cut to the part around the caret.
 */
export function drawCaret(source: Source, span: Span, hidden: readonly Span[]): string {
  const { start, end } = source.lineSpanAt(span.start)
  const shown = [...source.text.slice(start, end).split('').entries()]
    .map(([i, unit]) =>
      unit === '\t' ? ' ' : hidden.some(h => h.start <= start + i && start + i < h.end) ? '*' : unit,
    )
    .join('')
  if (shown.trim() === '') return ''
  const col = Math.min(span.start - start, shown.length)
  const length = Math.max(1, Math.min(span.end, end) - span.start)
  const from = shown.length <= widthMax ? 0 : Math.max(0, Math.min(col - 40, shown.length - widthMax))
  const to = Math.min(shown.length, from + widthMax)
  const before = from > 0 ? '…' : ''
  const after = to < shown.length ? '…' : ''
  const gap = before.replace('…', ' ') + blank(shown.slice(from, col))
  const mark = `^${'~'.repeat(Math.max(0, columns(shown.slice(col, Math.min(to, col + length))) - 1))}`
  return `${before}${shown.slice(from, to)}${after}\n${gap}${mark}`
}

function columns(text: string): number {
  let count = 0
  for (const char of text) count += wide.test(char) ? 2 : 1
  return count
}

function blank(text: string): string {
  return ' '.repeat(columns(text))
}
