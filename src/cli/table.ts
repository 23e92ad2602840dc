import { writeOut } from './write-out.ts'

/** Formats rows under headings, in columns as wide as needed. Line breaks in a cell are escaped. */
export function formatTable(headings: readonly string[], given: readonly (readonly string[])[]): string {
  const rows = given.map(row => row.map(writeOut))
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
