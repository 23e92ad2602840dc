/** One line of a table for spreadsheets (RFC 4180). */
export function csvLine(cells: readonly (string | number)[]): string {
  return cells.map(csvCell).join(',')
}

/** What begins like a formula is told to be none: names are what people chose. */
function csvCell(value: string | number): string {
  if (typeof value === 'number') return String(value)
  const inert = /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert
}
