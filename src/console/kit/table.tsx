import type { ComponentChildren } from 'preact'

export type Column<Row> = {
  readonly head: string
  readonly cell: (row: Row) => ComponentChildren
  readonly numeric?: boolean
  /** Text of any length, which is broken where it has to be. */
  readonly wide?: boolean
  /** A place in a file. */
  readonly place?: boolean
  /** The subject of its row: the heading of the card. */
  readonly heading?: boolean
  /** Often empty: omitted if no row has a value. */
  readonly sparse?: boolean
}

/** Rows and columns; on a narrow screen each row is a card, with the columns' names next to the values. */
export function Table<Row>({
  label,
  columns,
  rows,
  rowKey,
  rowClass,
}: {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  readonly rowClass?: (row: Row) => string
}) {
  const cells = rows.map(row => columns.map(({ cell }) => cell(row)))
  const shown = columns.map(({ sparse }, i) => !sparse || cells.some(row => !isEmpty(row[i])))
  // Roles are explicit, because a browser drops them if the style is not a table's.
  return (
    <table class="table" role="table" aria-label={label}>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(
            ({ head, numeric }, i) =>
              shown[i] && (
                <th key={head} role="columnheader" scope="col" class={numeric ? 'numeric' : ''}>
                  {head}
                </th>
              ),
          )}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row, at) => (
          <tr key={rowKey(row)} role="row" class={rowClass?.(row) ?? ''}>
            {columns.map((column, i) => shown[i] && <Cell key={column.head} of={column} value={cells[at]?.[i]} />)}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Cell<Row>({ of, value }: { readonly of: Column<Row>; readonly value: ComponentChildren }) {
  const { head, numeric, wide, place, heading, sparse } = of
  const vacant = sparse && isEmpty(value)
  const kind = [numeric && 'numeric', wide && 'wide', place && 'place', vacant && 'vacant'].filter(Boolean).join(' ')
  if (heading)
    return (
      <th role="rowheader" scope="row" class={kind}>
        {value}
      </th>
    )
  return (
    <td role="cell" data-label={head} class={kind}>
      {value}
    </td>
  )
}

function isEmpty(value: ComponentChildren): boolean {
  return value === null || value === undefined || value === false || value === ''
}
