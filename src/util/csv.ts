/** One line of a table for spreadsheets (RFC 4180), without its end. */
export function csvLine(cells: readonly (string | number | null | undefined)[]): string {
  return cells.map(csvCell).join(',')
}

/** A whole table as a file: each line has its end (RFC 4180), and UTF-8 a mark at its head, without which spreadsheets take Chinese for something else. */
export function csvFile(lines: readonly string[]): string {
  return `\uFEFF${lines.map(line => `${line}\r\n`).join('')}`
}

/** Marks text that begins like a formula as text: people chose it. Some spreadsheets read wide signs too. */
function csvCell(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return String(value)
  const inert = /^[=+\-@＝＋－＠\t\r\n]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert
}
