import type { courseMembers, factMembers, lineMembers } from '../kit/charge.ts'
import type { keyMembers } from '../kit/shapes/key.ts'
import type { logMembers } from '../kit/shapes/log-row.ts'
import type { Columns } from '../kit/shapes/member.ts'
import type { userMembers } from '../kit/shapes/user.ts'

/** The tables as Kysely's query builder sees them: those that are read by filters. */
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
  log: Columns<typeof logMembers>
  charge: Columns<typeof factMembers> & Columns<typeof courseMembers>
  line: Columns<typeof lineMembers> & { charge_id: string }
  segment: {
    first_id: string
    last_id: string
    at: number | null
    key_id: string | null
    user_name: string | null
    model: string | null
    currency: string | null
    amount: number | null
  }
  reversal: { charge_id: string; amount: number }
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
