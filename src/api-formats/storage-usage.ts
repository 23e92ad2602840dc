import type { Json, Usage } from '../domain/index.ts'
import type { Operation } from '../operations/index.ts'
import { readCount, readMember } from './read-members.ts'

type Stored = NonNullable<NonNullable<Operation['usage']>['stored']>

const hourMs = 3_600_000

/**
 * Tokens that an upstream stores, in token-hours until their end; rounded up. For an object that was stored before,
 * only the time after its former end: the rest is paid. Null if the answer does not report the number or the time.
 */
export function storageUsage({ tokens: at, from, until, writes }: Stored, body: Json, before?: Json): Usage | null {
  const tokens = readCount(body, ...at) ?? readCount(before, ...at)
  const [begin, end, paid] = [momentIn(body, from), momentIn(body, until), momentIn(before, until)]
  if (tokens === null || begin === null || end === null) return null
  const ms = Math.max(0, end - Math.max(begin, paid ?? 0))
  const hours = Math.ceil((tokens * ms) / hourMs)
  return { counts: { input: writes ? tokens : 0, output: 0, cache_storage: hours }, facts: {} }
}

function momentIn(value: Json | undefined, name: string): number | null {
  const text = readMember(value, name)
  const at = typeof text === 'string' ? Date.parse(text) : Number.NaN
  return Number.isSafeInteger(at) ? at : null
}
