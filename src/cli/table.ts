import { safeLine } from './safe-text.ts'

/** Formats rows under headings, in columns as wide as needed. Line breaks in a cell are escaped. */
export function formatTable(headings: readonly string[], given: readonly (readonly string[])[]): string {
  const rows = given.map(row => row.map(safeLine))
  const widths = headings.map((heading, i) => Math.max(heading.length, ...rows.map(row => (row[i] ?? '').length)))
  return [headings, ...rows].map(row => formatRow(row, widths)).join('\n')
}

/** One row, in columns of these widths. */
export function formatRow(row: readonly string[], widths: readonly number[]): string {
  return row
    .map((cell, i) => cell.padEnd(widths[i] ?? 0))
    .join('  ')
    .trimEnd()
}

/** A text model has some 25 operations: a cell names a few, and records (`--format json`) have all. */
const namesMax = 4

/** `chat responses files.create files.get and 21 more`. */
export function nameSome(names: readonly string[]): string {
  const shown = names.slice(0, namesMax).join(' ')
  return names.length > namesMax ? `${shown} and ${names.length - namesMax} more` : shown
}
