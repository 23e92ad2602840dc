import type { TableRow } from '../../domain/index.ts'
import { type Members as Fields, membersOf as fieldsOf } from '../../util/index.ts'

export { type Fields, fieldsOf }

/** A foreign table, read. */
export type SourceTable = {
  /** Those that can be charged by, in the order of the source. */
  readonly rows: readonly TableRow[]
  /** Those that cannot, each with the reason. */
  readonly left: readonly { readonly id: string; readonly why: string }[]
}

/** Why a row is left of which a table says two things. */
export const saidTwice = 'it, or a part of it, is listed twice'

/** The table without the rows that leave out something that costs, unless these are wanted all the same. */
export function withoutUndercharging({ rows, left }: SourceTable, isAllowed = false): SourceTable {
  if (isAllowed) return { rows, left }
  const out = rows.flatMap(({ id, unmapped }) =>
    unmapped ? [{ id, why: `some of its use would not be charged: ${unmapped.join('; ')}` }] : [],
  )
  return { rows: rows.filter(row => !row.unmapped), left: [...left, ...out] }
}

/** Undefined for a text that is no JSON, or is nested too deeply. Every number stays the text it was, as no other way keeps all of its digits. */
export function parseExact(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text.replace(/^\uFEFF/, ''), keepDigits as (key: string, value: unknown) => unknown) }
  } catch (error) {
    // One that is nested thousands of levels deep is no table, and fits no stack.
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
