import type { keyMembers } from '../domain/shapes/key.ts'
import type { Columns } from '../domain/shapes/member.ts'
import type { userMembers } from '../domain/shapes/user.ts'

/** The tables for Kysely's query builder: those that are read with filters. */
export type Tables = {
  key: Columns<typeof keyMembers> & {
    hash: string
    old_hash: string | null
    day_start: number
    day_spent: number
    month_start: number
    month_spent: number
  }
  user: Columns<typeof userMembers>
  trail: {
    id: string
    at: number
    actor: string
    action: string
    subject: string
    was: string | null
    became: string | null
    reason: string | null
  }
}
