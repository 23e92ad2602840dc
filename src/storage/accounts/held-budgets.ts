import { type BudgetPeriod, budgetPeriods, type LevelKind } from '../../domain/budget.ts'

/** A budget other than the key's that a charge was held of. */
export type HeldBudget = { readonly kind: LevelKind; readonly amount: number; readonly per: BudgetPeriod }

const keyWord = 'key'

/** What a charge's row says of who bounds it: `user group key user:50000000:month group:9000000:total`. */
export function writeHeld(levels: readonly HeldBudget[], isKeyBounded: boolean): string | null {
  const words = [
    ...levels.map(({ kind }) => kind),
    ...(isKeyBounded ? [keyWord] : []),
    ...levels.map(({ kind, amount, per }) => `${kind}:${amount}:${per}`),
  ]
  return words.length === 0 ? null : words.join(' ')
}

/** The same as read: of a charge of an earlier version the kinds alone are known, and no event is sent when it ends. */
export function readHeld(words: string | null): {
  readonly isKeyBounded: boolean
  readonly budgets: readonly HeldBudget[]
} {
  const all = words === null ? [] : words.split(' ')
  const budgets = all.flatMap((word): readonly HeldBudget[] => {
    const [kind, amount, per] = word.split(':')
    const period = budgetPeriods.find(one => one === per)
    return amount === undefined || period === undefined
      ? []
      : [{ kind: kind as LevelKind, amount: Number(amount), per: period }]
  })
  return { isKeyBounded: all.includes(keyWord), budgets }
}
