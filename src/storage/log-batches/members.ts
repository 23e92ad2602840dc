import type { AttemptRecord, CacheResult, FailureValues } from '../../domain/index.ts'
import { logMembers, type markMembers } from '../../domain/shapes/log-row.ts'
import type { Columns } from '../../domain/shapes/member.ts'

const {
  id: _,
  time: __,
  keyId,
  user,
  group,
  durationMs: ___,
  clientRequestId: ____,
  inputTokens: _____,
  ...rest
} = logMembers
const { outputTokens: ______, ...what } = rest

/** The client: stored in a batch once for all of its rows. */
export const whoMembers = { keyId, user, group } as const
/** The result: stored in a batch once for all rows that differ only in client, time, duration and counts. */
export const whatMembers = what

/** The phases reached: stored in separate lists. */
export type MarkColumn = keyof Columns<typeof markMembers>

export type Who = Columns<typeof whoMembers> & {
  /** Ids of labels; absent without any. */
  readonly attribution?: string
}
export type What = Columns<typeof whatMembers> & {
  /** The result of the answer cache; absent for models without a cache. */
  readonly cache?: CacheResult
}

/** A batch in its JSON form: lists of one value for each row, in the order of the ids, and shared values. */
export type LogBatchBody = {
  /** The common beginning of all ids, and the rest of each. */
  readonly id: string
  readonly ids: readonly string[]
  /** The start time of the first row's request, and the milliseconds from it to the start of each request. */
  readonly time: number
  readonly times: readonly number[]
  readonly duration_ms: readonly number[]
  /** One value for each row; absent if no row has one. */
  readonly client_request_id?: readonly (string | null)[]
  readonly input_tokens?: readonly (number | null)[]
  readonly output_tokens?: readonly (number | null)[]
  readonly error_values?: readonly (FailureValues | null)[]
  readonly upstream_said?: readonly (string | null)[]
  readonly attempts?: readonly (readonly AttemptRecord[] | null)[]
  /** The cost that hits of the answer cache saved, in micro-units. */
  readonly saved?: readonly (number | null)[]
  readonly alias?: readonly (string | null)[]
  /** For each row its index in the lists of the same name. */
  readonly who: readonly number[]
  readonly what: readonly number[]
  readonly whos: readonly Who[]
  readonly whats: readonly What[]
} & { readonly [C in MarkColumn]?: readonly (number | null)[] }
