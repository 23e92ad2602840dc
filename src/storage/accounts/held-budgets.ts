import { readPeriod } from '../../domain/budget-period.ts'
import type { Budget, LevelKind } from '../../domain/budget.ts'

/** A budget other than the key's that a charge was held from. */
export type HeldBudget = Budget & { readonly kind: LevelKind }

const keyWord = 'key'
const softWord = 'soft'

/** The budgets that limit a charge, in its row: `user group key user:50000000:month group:9000000:total:soft`. */
export function writeHeld(levels: readonly HeldBudget[], isKeyBounded: boolean): string | null {
  const words = [
    ...levels.map(({ kind }) => kind),
    ...(isKeyBounded ? [keyWord] : []),
    ...levels.map(({ kind, amount, per, soft }) => `${kind}:${amount}:${per}${soft ? `:${softWord}` : ''}`),
  ]
  return words.length === 0 ? null : words.join(' ')
}

/** The same, parsed: for a charge of an earlier version only the kinds are known, and its end sends no event. */
export function readHeld(words: string | null): {
  readonly isKeyBounded: boolean
  readonly budgets: readonly HeldBudget[]
} {
  const all = words === null ? [] : words.split(' ')
  const budgets = all.flatMap((word): readonly HeldBudget[] => {
    const [kind, amount, per, soft] = word.split(':')
    const period = readPeriod(per)
    return amount === undefined || period === undefined
      ? []
      : [
          {
            kind: kind as LevelKind,
            amount: Number(amount),
            per: period,
            ...(soft === softWord && { soft: true }),
          },
        ]
  })
  return { isKeyBounded: all.includes(keyWord), budgets }
}

/** The payers alone: a charge that is booked much later sends no event about the former amounts of their budgets. */
export function withoutBudgets(words: string): string {
  return words
    .split(' ')
    .filter(word => !word.includes(':'))
    .join(' ')
}
