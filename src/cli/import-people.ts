import type { Adoption } from '../index.ts'
import { countOf } from './count-of.ts'
import { say } from './exit.ts'
import { withStorage } from './with-storage.ts'

/** The number of users that are written in one step, with their keys. Repeating a step is harmless. */
const together = 200

/** The number of new users, and users whose names belong to another person here. */
export type Made = {
  readonly users: number
  readonly keys: number
  readonly others: readonly string[]
  readonly opened: number
}

/** Imports users and keys of another gateway into the storage of a configuration. */
export async function importPeople({ users, groups = [] }: Adoption, from: string, config: string): Promise<Made> {
  const made = { users: 0, keys: 0, others: [] as string[], opened: 0 }
  await withStorage(config, async storage => {
    for (let at = 0; at === 0 || at < users.length; at += together) {
      const some = { users: users.slice(at, at + together), groups: at === 0 ? groups : [] }
      const found = await storage.keys.adopt(some, `import ${from}`)
      made.users += found.users
      made.keys += found.keys
      made.opened += found.opened
      made.others.push(...found.others)
    }
  })
  return made
}

export function reportPeople(adoption: Adoption, made: Made | undefined): void {
  const [users, keys] = [countOf(adoption.users.length, 'user'), countOf(keysOf(adoption), 'key')]
  say(
    made
      ? `${made.users} of ${users} and ${made.keys} of ${keys} were imported; the rest already existed`
      : `to be imported: ${users}, ${keys}`,
  )
  if (made && made.opened > 0)
    say(
      made.opened === 1
        ? '1 budget starts with the amount already spent in its current period'
        : `${made.opened} budgets start with the amount already spent in their current period`,
    )
  if (made && made.others.length > 0)
    say(`skipped, with their keys and balances, because the name is already in use: ${made.others.join(', ')}`)
}

/** The same as data. */
export function recordOfPeople(adoption: Adoption, made: Made | undefined) {
  return {
    users: { all: adoption.users.length, made: made?.users ?? 0, others: made?.others ?? [] },
    keys: { all: keysOf(adoption), made: made?.keys ?? 0 },
    opened: made?.opened ?? 0,
  }
}

function keysOf({ users }: Adoption): number {
  return users.reduce((sum, user) => sum + user.keys.length, 0)
}
