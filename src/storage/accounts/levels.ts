import { alwaysBooked, levelKinds, type LevelKind } from '../../domain/budget.ts'
import { labelsIn } from '../../domain/labels.ts'
import { accountOfEndUser } from '../../domain/levels.ts'
import { ask, lockRows, type QueryProgram, type Row, type Rows } from '../query.ts'
import { text, textOrNull } from '../rows.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import type { Move } from './move.ts'

/** The row of an account that stores and tests holds of a bounded level. */
export const mainPart = ''

/** Columns of a charge that name its payers. */
export const payerColumns = 'key_id, user_name, group_name, levels, attribution'

/** Payers besides the key, from a charge's row; a charge in a batch has no hold. */
export function heldLevels(charge: Row): readonly LevelKind[] {
  const names = charge['levels'] as string | null | undefined
  return names === null || names === undefined ? [] : levelKinds.filter(kind => names.split(' ').includes(kind))
}

/** The account of a charge by its kind. */
export function nameOf(charge: Row, kind: LevelKind): string {
  if (kind === 'group') return text(charge, 'group_name')
  const user = text(charge, 'user_name')
  if (kind !== 'end_user') return user
  return accountOfEndUser(labelsIn(textOrNull(charge, 'attribution'), kind)[0] ?? '', user)
}

/** Locks the accounts of held charges in the common order; keys come before them. */
export function* lockAccounts(charges: Rows): QueryProgram<void> {
  for (const kind of levelKinds) {
    const own = charges.filter(charge => heldLevels(charge).includes(kind))
    for (const name of [...new Set(own.map(charge => nameOf(charge, kind)))].sort())
      yield ask(`SELECT held FROM account WHERE kind = ? AND name = ? AND part = '${mainPart}' ${lockRows}`, kind, name)
  }
}

/**
 * The accounts that a charge is booked on besides its key: its user and its group always, others only if it was held
 * from them.
 */
export function movesOf(
  { part }: Pick<WriterIdentity, 'part'>,
  charge: Row,
  amounts: Pick<Move, 'spent' | 'day' | 'month' | 'released'>,
): readonly Move[] {
  const held = heldLevels(charge)
  return levelKinds.flatMap((kind): readonly Move[] => {
    if (held.includes(kind)) return [{ kind, name: nameOf(charge, kind), part: mainPart, ...amounts }]
    return alwaysBooked.has(kind) ? [{ kind, name: nameOf(charge, kind), part, ...amounts, released: 0 }] : []
  })
}
