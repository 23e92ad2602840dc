import { moment, oneOf, text, type Values } from './member.ts'
import * as schemas from './schemas.ts'
import { computed, shownOf, viewOf } from './view.ts'

// All that a user is: members and columns, what may be changed, and how one is shown.

export const userMembers = {
  name: text('name'),
  group: text('group_name'),
  role: oneOf('role', ['user', 'admin']),
  status: oneOf('status', ['active', 'disabled']),
  hasPassword: {
    column: 'password_hash',
    schema: schemas.truth,
    read: (cell: unknown): boolean => cell !== null,
    // What it is, is written by itself, and never read with the rest.
    write: (): string | null => null,
    show: (value: boolean) => value,
    parse: (value: boolean) => value,
  },
  createdAt: moment('created_at'),
} as const

export type User = Values<typeof userMembers>

/** What may be changed of a user. */
export type UserSettings = Pick<User, 'group' | 'role' | 'status'>

const own = shownOf(userMembers, (user: User) => user)

/** A user as the console's interface shows them. */
export const userView = viewOf<User>()({
  name: own('name'),
  role: own('role'),
  group: own('group'),
  status: own('status'),
  has_password: computed(schemas.truth, (user: User) => user.hasPassword),
  created: own('createdAt'),
})
