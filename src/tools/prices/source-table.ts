import type { TableRow } from '../../domain/index.ts'
import { type Members as Fields, membersOf as fieldsOf } from '../../util/index.ts'

export { type Fields, fieldsOf }

/** A foreign table, read. */
export type SourceTable = {
  /** Rows that charges can use, in the order of the source. */
  readonly rows: readonly TableRow[]
  /** Rows that charges cannot use, each with the reason. */
  readonly left: readonly { readonly id: string; readonly why: string }[]
}

/** The reason for a row that a table contains twice. */
export const listedTwice = 'it, or a part of it, is listed twice'

/** The table without the rows that leave out a cost, unless `isAllowed`. */
export function withoutUndercharging({ rows, left }: SourceTable, isAllowed = false): SourceTable {
  if (isAllowed) return { rows, left }
  const out = rows.flatMap(({ id, unmapped }) =>
    unmapped ? [{ id, why: `some of its use would not be charged: ${unmapped.join('; ')}` }] : [],
  )
  return { rows: rows.filter(row => !row.unmapped), left: [...left, ...out] }
}

/**
 * Undefined for text that is not JSON, or is nested too deeply. Every number stays a text, because no other form keeps
 * all of its digits.
 */
export function parseExact(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text.replace(/^\uFEFF/, ''), keepDigits as (key: string, value: unknown) => unknown) }
  } catch (error) {
    // A text nested thousands of levels deep is not a table, and overflows the stack.
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined
    throw error
  }
}

function keepDigits(_key: string, value: unknown, context: { readonly source: string }): unknown {
  return typeof value === 'number' ? context.source : value
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
