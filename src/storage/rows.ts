import { courseMembers, factMembers, chargeItemMembers } from '../domain/charge.ts'
import type { PeriodSpending } from '../domain/budget.ts'
import type { Charge, Key, ChargeItem, LogRow, StoredAnswer, User } from '../domain/index.ts'
import { keyMembers, ownerMembers } from '../domain/shapes/key.ts'
import { logMembers, unknownOfLogRow } from '../domain/shapes/log-row.ts'
import { columnsOf, readerOf, readRow } from '../domain/shapes/member.ts'
import { userMembers } from '../domain/shapes/user.ts'
import { readItemFacts } from './ledger/item-facts.ts'
import type { Row, Rows } from './query.ts'

export function text(row: Row, column: string): string {
  return row[column] as string
}

export function textOrNull(row: Row, column: string): string | null {
  return row[column] as string | null
}

export function whole(row: Row, column: string): number {
  // PostgreSQL returns 64-bit columns as text.
  return Number(row[column])
}

export function wholeOrNull(row: Row, column: string): number | null {
  return row[column] === null ? null : Number(row[column])
}

const noDays: readonly PeriodSpending[] = []

/** A row of `key` with `user_group` and `user_status` of its user. */
export const toKey: (row: Row) => Key = readerOf(
  { ...keyMembers, ...ownerMembers },
  {
    spentIn: ({ day_start, day_spent, month_start, month_spent, days }) => ({
      day: { from: Number(day_start), spent: Number(day_spent) },
      month: { from: Number(month_start), spent: Number(month_spent) },
      days: readDays(days),
    }),
  },
)

/** The column `days`: `1795737600000:250 1795824000000:10`. */
function readDays(cell: unknown): readonly PeriodSpending[] {
  if (typeof cell !== 'string') return noDays
  return cell.split(' ').map(word => {
    const [from, spent] = word.split(':')
    return { from: Number(from), spent: Number(spent) }
  })
}

export function toUser(row: Row): User {
  return readRow(userMembers, row)
}

export function toLine(row: Row): ChargeItem {
  return { ...readRow(chargeItemMembers, row), ...readItemFacts(row['told']) }
}

/** A row of `charge` with `refunded` added, and the rows of its items. */
export function toCharge(row: Row, lines: Rows): Charge {
  const charge = { ...readRow(factMembers, row), ...readRow(courseMembers, row) }
  return { ...charge, ...attributionOf(row), held: isHeld(row) ? charge.hold : 0, lines: lines.map(toLine) }
}

/** The ids of labels in a row; an empty object without any. */
export function attributionOf({ attribution }: { readonly attribution?: unknown }): { attribution?: string } {
  return typeof attribution === 'string' ? { attribution } : {}
}

function isHeld(charge: Row): boolean {
  const state = text(charge, 'state')
  return state === 'reserved' || (state === 'needs_review' && whole(charge, 'kept') === 1)
}

export function toAnswer(row: Row): StoredAnswer {
  const bytes = row['body'] as Uint8Array
  return {
    status: whole(row, 'status'),
    headers: JSON.parse(text(row, 'headers')) as StoredAnswer['headers'],
    body: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  }
}

/** The columns of `log`. */
export const logColumns = columnsOf(logMembers)

/** From a row of a table that gateways of earlier versions write. */
export function toLogRow(row: Row): LogRow {
  return { ...readRow(logMembers, row), ...unknownOfLogRow }
}
