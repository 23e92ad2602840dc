import type { ComponentChildren } from 'preact'

export type Column<Row> = {
  readonly head: string
  readonly cell: (row: Row) => ComponentChildren
  readonly numeric?: boolean
  /** Text of any length, which is broken where it has to be. */
  readonly wide?: boolean
  /** A place in a file. */
  readonly place?: boolean
}

/** Rows and columns; on a narrow screen each row is a card, with the columns' names beside the values. */
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
  // Roles are spelled out, because a browser forgets them where the style is not a table's.
  return (
    <table class="table" role="table" aria-label={label}>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ head, numeric }) => (
            <th key={head} role="columnheader" scope="col" class={numeric ? 'numeric' : ''}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map(row => (
          <tr key={rowKey(row)} role="row" class={rowClass?.(row) ?? ''}>
            {columns.map(({ head, cell, numeric, wide, place }) => (
              <td
                key={head}
                role="cell"
                data-label={head}
                class={[numeric && 'numeric', wide && 'wide', place && 'place'].filter(Boolean).join(' ')}
              >
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
