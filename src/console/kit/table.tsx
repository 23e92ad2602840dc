import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

export type Column<Row> = {
  readonly head: string
  readonly cell: (row: Row) => ComponentChildren
  readonly numeric?: boolean
  /** Text of any length, with line breaks where necessary. */
  readonly wide?: boolean
  /** A file with a line number. */
  readonly place?: boolean
  /** The subject of its row, which is the heading of a card. */
  readonly heading?: boolean
  /** Often empty: omitted if no row has a value. */
  readonly sparse?: boolean
  /** Less important: omitted in a dense list on a phone. */
  readonly lesser?: boolean
  /** Text on one line, clipped; the tooltip has the complete text. */
  readonly clip?: (row: Row) => string
  /** Clipped text of a few words, such as the name of an operation. */
  readonly few?: boolean
  /** Sorts rows by this value, with null last. */
  readonly sortBy?: (row: Row) => SortValue
}

type SortValue = string | number | bigint | null
type Sorting = { readonly head: string; readonly down: boolean }

type TableProps<Row> = {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  readonly rowClass?: (row: Row) => string
  /** Rows of one line; on a phone, of two lines without column names. */
  readonly dense?: boolean
  /** A click on any part of a row opens its first link. */
  readonly opens?: boolean
  /** Rows that stay below all others, such as totals. */
  readonly isLast?: (row: Row) => boolean
}

/**
 * Rows and columns, whose head stays in view; on a narrow screen each row is a card, with the columns' names next to
 * the values. Columns with `sortBy` sort the rows.
 */
export function Table<Row>({
  label,
  columns,
  rows: given,
  rowKey,
  rowClass,
  dense = false,
  opens = false,
  isLast,
}: TableProps<Row>) {
  const [sorting, setSorting] = useState<Sorting | null>(null)
  const rows = sortedRows(given, columns, sorting, isLast)
  const shown = columns.filter(column => isShown(column, rows))
  // Roles are explicit, because a browser drops implicit roles if the style is not that of a table.
  return (
    <table class={dense ? 'table dense' : 'table'} role="table" aria-label={label}>
      <TableHead columns={shown} sorting={sorting} onSort={setSorting} />
      <TableRows columns={shown} rows={rows} rowKey={rowKey} rowClass={rowClass} opens={opens} />
    </table>
  )
}

/** Whether a column is shown: a sparse one only if a row has a value there. */
export function isShown<Row>({ sparse, cell }: Column<Row>, rows: readonly Row[]): boolean {
  return !sparse || rows.some(row => !isEmpty(cell(row)))
}

/** The head of a table. */
export function TableHead<Row>({
  columns,
  sorting = null,
  onSort,
}: {
  readonly columns: readonly Column<Row>[]
  readonly sorting?: Sorting | null
  readonly onSort?: (sorting: Sorting) => void
}) {
  return (
    <thead role="rowgroup">
      <tr role="row">
        {columns.map(column => (
          <Head key={column.head} of={column} sorting={sorting} onSort={onSort} />
        ))}
      </tr>
    </thead>
  )
}

type RowsProps<Row> = Pick<TableProps<Row>, 'columns' | 'rows' | 'rowKey' | 'opens'> & {
  readonly rowClass?: TableProps<Row>['rowClass'] | undefined
}

/** Rows of a table: all of them, or some of very many. */
export function TableRows<Row>({ columns, rows, rowKey, rowClass, opens = false }: RowsProps<Row>) {
  return (
    <tbody role="rowgroup">
      {rows.map(row => (
        <tr
          key={rowKey(row)}
          role="row"
          class={[rowClass?.(row), opens && 'opens'].filter(Boolean).join(' ')}
          {...(opens && { onClick: openRow })}
        >
          {columns.map(column => (
            <Cell key={column.head} of={column} row={row} value={column.cell(row)} />
          ))}
        </tr>
      ))}
    </tbody>
  )
}

function Head<Row>({
  of: { head, numeric, wide, clip, few, sortBy },
  sorting,
  onSort,
}: {
  readonly of: Column<Row>
  readonly sorting: Sorting | null
  readonly onSort: ((sorting: Sorting) => void) | undefined
}) {
  const isSorted = sorting?.head === head
  const way = isSorted ? (sorting.down ? 'descending' : 'ascending') : undefined
  const kind = [numeric && 'numeric', clip && 'clip', clip && wide && 'wide', few && 'few'].filter(Boolean).join(' ')
  return (
    <th role="columnheader" scope="col" class={kind} {...(way && { 'aria-sort': way })}>
      {sortBy ? (
        // Figures sort in descending order first, names in ascending order.
        <button
          type="button"
          class="sort"
          onClick={() => onSort?.({ head, down: isSorted ? !sorting.down : numeric === true })}
        >
          {head}
          <span aria-hidden="true">{isSorted ? (sorting.down ? '↓' : '↑') : '↕'}</span>
        </button>
      ) : (
        head
      )}
    </th>
  )
}

/** Elements that handle clicks themselves, so that their row does not. */
const pressable = ['a', 'button', 'input', 'select', 'summary', 'label'].join(',')

/** Opens a row, unless the clicked element has its own action, or text was selected. */
function openRow(event: MouseEvent): void {
  const { target, currentTarget, ctrlKey, metaKey } = event
  if (event.defaultPrevented || !(target instanceof Element) || !(currentTarget instanceof Element)) return
  if (target.closest(pressable) || getSelection()?.isCollapsed === false) return
  const link = currentTarget.querySelector('a[href]')
  link?.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, ctrlKey, metaKey }))
}

function sortedRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sorting: Sorting | null,
  isLast: (row: Row) => boolean = () => false,
): readonly Row[] {
  const by = sorting && columns.find(({ head }) => head === sorting.head)?.sortBy
  if (!by) return rows
  const sign = sorting.down ? -1 : 1
  return rows.toSorted((a, b) => Number(isLast(a)) - Number(isLast(b)) || compare(by(a), by(b), sign))
}

function compare(a: SortValue, b: SortValue, sign: number): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  if (typeof a === 'string' && typeof b === 'string') return sign * a.localeCompare(b)
  return a === b ? 0 : a < b ? -sign : sign
}

function Cell<Row>({
  of,
  row,
  value,
}: {
  readonly of: Column<Row>
  readonly row: Row
  readonly value: ComponentChildren
}) {
  const { head, numeric, wide, place, heading, sparse, lesser, clip } = of
  const vacant = sparse && isEmpty(value)
  const kind = [
    numeric && 'numeric',
    wide && 'wide',
    place && 'place',
    vacant && 'vacant',
    lesser && 'lesser',
    clip && 'clip',
  ]
    .filter(Boolean)
    .join(' ')
  if (heading)
    return (
      <th role="rowheader" scope="row" class={kind}>
        {value}
      </th>
    )
  return (
    <td role="cell" data-label={head} class={kind} {...(clip && { title: clip(row) })}>
      {value}
    </td>
  )
}

function isEmpty(value: ComponentChildren): boolean {
  return value === null || value === undefined || value === false || value === ''
}
