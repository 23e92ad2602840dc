import { type Fragment, type Html, html } from './html.ts'

/**
 * A table whose rows become cards on a phone, where each cell says what it is. The first cell of a row is its heading; a
 * column of which no row has anything is left out.
 */
export function renderTable(
  caption: string,
  headings: readonly string[],
  rows: readonly (readonly Fragment[])[],
): Html {
  const shown = headings.map((_, i) => rows.some(row => !isEmpty(row[i])))
  const columns = <T>(cells: readonly T[]): readonly T[] => cells.filter((_, i) => shown[i])
  const names = columns(headings)
  return html`
    <table>
      <caption>${caption}</caption>
      <thead><tr>${names.map(name => (name === '' ? html`<td></td>` : html`<th scope="col">${name}</th>`))}</tr></thead>
      <tbody>${rows.map(row => html`<tr>${columns(row).map((cell, i) => renderCell(cell, names[i], i === 0))}</tr>`)}</tbody>
    </table>`
}

function renderCell(cell: Fragment, name: string | undefined, first: boolean): Html {
  if (first) return html`<th scope="row">${cell}</th>`
  return isEmpty(cell) ? html`<td class="empty"></td>` : html`<td data-name="${name}">${cell}</td>`
}

function isEmpty(cell: Fragment): boolean {
  return cell === null || cell === undefined || cell === false || cell === ''
}
