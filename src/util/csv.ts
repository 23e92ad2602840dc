/** One line of a table for spreadsheets (RFC 4180), without its end. */
export function csvLine(cells: readonly (string | number | null | undefined)[]): string {
  return cells.map(csvCell).join(',')
}

/**
 * A complete CSV file: each line has its end (RFC 4180), and a UTF-8 byte order mark, without which spreadsheets
 * misread Chinese.
 */
export function csvFile(lines: readonly string[]): string {
  return `\uFEFF${lines.map(line => `${line}\r\n`).join('')}`
}

/** Several names in one cell, separated by spaces; one with a space or a quote is written as in JSON. */
export function csvNames(names: readonly string[]): string {
  return names.map(name => (/[\s"]/.test(name) ? JSON.stringify(name) : name)).join(' ')
}

/** Escapes text that begins like a formula: people chose it. Some spreadsheets also read full-width signs. */
function csvCell(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return String(value)
  const inert = /^[=+\-@＝＋－＠\t\r\n]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert
}
