import type { Adopted, Adoption, BudgetPeriod } from '../../domain/index.ts'
import { openingPeriod, countOpening } from '../accounts/opening.ts'
import { topUp } from '../accounts/top-up.ts'
import type { Signed } from '../people/trail.ts'
import { changeUser, createUser, findUser, isErased } from '../people/users.ts'
import { ask, lockRows, type QueryProgram } from '../query.ts'
import { whole } from '../rows.ts'
import type { Scribe } from '../writer-identity.ts'
import { createKey } from './write.ts'
import { escapeUnprintable } from '../../util/unprintable.ts'

type AdoptedUser = Adoption['users'][number]

/** Of two simultaneous imports, one waits for the other, and finds its result. */
const wait = `SELECT value FROM meta WHERE name = 'foreign_keys' ${lockRows}`

/**
 * Imports users and keys of another gateway. Users that were imported before stay as they are, so the import can be
 * repeated without undoing later changes. A user of the same name who is another person gets no keys.
 */
export function* adopt(identity: Scribe, given: Signed & { readonly adoption: Adoption }): QueryProgram<Adopted> {
  const { adoption, ...signed } = given
  const adopted = { users: 0, keys: 0, opened: 0 }
  yield ask(wait)
  const opens = function* (
    kind: 'key' | 'user' | 'group',
    name: string,
    period: BudgetPeriod = 'total',
    amount = 0,
  ): QueryProgram<void> {
    // For a total budget the remainder is imported.
    if (period === 'total') return
    const opening = { ...signed, payer: { kind, name }, period: openingPeriod(period), amount }
    if (yield* countOpening(identity, opening)) adopted.opened++
  }
  for (const { name, per, spentBefore } of adoption.groups ?? []) yield* opens('group', name, per, spentBefore)
  const others: string[] = []
  for (const user of adoption.users) {
    const is = yield* adoptUser(identity, { ...signed, user })
    if (is === 'somebody else') {
      others.push(user.name)
      continue
    }
    if (is === 'new') {
      adopted.users++
      yield* opens('user', user.name, user.budget?.per, user.spentBefore)
    }
    for (const { status, spentBefore, ...key } of user.keys) {
      const [known] = yield ask('SELECT id FROM key WHERE hash = ? OR old_hash = ?', key.hash, key.hash)
      if (known) continue
      const made = yield* createKey(identity, {
        ...signed,
        key: { ...key, name: escapeUnprintable(key.name), user: user.name },
      })
      if (status === 'disabled') yield ask('UPDATE key SET status = ? WHERE id = ?', status, made.id)
      yield* opens('key', made.id, made.budgetPeriod, spentBefore)
      adopted.keys++
    }
  }
  if (adopted.keys > 0) yield ask(`UPDATE meta SET value = 1 WHERE name = 'foreign_keys' AND value = 0`)
  return { ...adopted, others }
}

function* adoptUser(
  identity: Scribe,
  { user, by, at }: Signed & { readonly user: AdoptedUser },
): QueryProgram<'new' | 'known' | 'somebody else'> {
  const { name, group, status, balance, budget } = user
  if (yield* findUser(name)) {
    const [made] = yield ask(
      `SELECT id FROM trail WHERE subject = ? AND action = 'user.create' AND actor = ? LIMIT 1`,
      name,
      by,
    )
    return made ? 'known' : 'somebody else'
  }
  if (yield* isErased(name)) return 'somebody else'
  yield* createUser(identity, { user: { name, group, role: 'user', passwordHash: null }, by, at })
  if (status === 'disabled') yield ask('UPDATE "user" SET status = ? WHERE name = ?', status, name)
  if (budget) {
    const change = { budget: budget.amount, budgetPeriod: budget.per }
    yield* changeUser(identity, { name, change, by, at })
  }
  // A balance of 0 is a limit too: users without a balance need none.
  if (balance === null) return 'new'
  if (balance === 0) yield ask('UPDATE "user" SET balance = 0 WHERE name = ?', name)
  else yield* topUp(identity, { name, amount: balance, note: 'balance taken over', by, at })
  return 'new'
}

/** Whether there are keys here that another gateway created. */
export function* readForeign(): QueryProgram<boolean> {
  const [row] = yield ask(`SELECT value FROM meta WHERE name = 'foreign_keys'`)
  return row !== undefined && whole(row, 'value') > 0
}
