import type { FailureValues } from '../../domain/index.ts'
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

/** The caller: in a batch once for all of their rows. */
export const whoMembers = { keyId, user, group } as const
/** What came to pass: in a page once for all rows that differ in nothing but who, when, how long and how much. */
export const whatMembers = what

/** How far each came: in lists of their own. */
export type MarkColumn = keyof Columns<typeof markMembers>

export type Who = Columns<typeof whoMembers>
export type What = Columns<typeof whatMembers>

/** A page as its JSON says it: lists of one value for each row, in the order of the ids, and what many rows share. */
export type LogBatchBody = {
  /** What all ids begin with, and of each the rest. */
  readonly id: string
  readonly ids: readonly string[]
  /** When the first row's request began, and after that how many milliseconds later each did. */
  readonly time: number
  readonly times: readonly number[]
  readonly duration_ms: readonly number[]
  /** Of all rows; left out where no row has any. */
  readonly client_request_id?: readonly (string | null)[]
  readonly input_tokens?: readonly (number | null)[]
  readonly output_tokens?: readonly (number | null)[]
  readonly error_values?: readonly (FailureValues | null)[]
  readonly upstream_said?: readonly (string | null)[]
  /** Of each row the place of its own in the lists of the same name. */
  readonly who: readonly number[]
  readonly what: readonly number[]
  readonly whos: readonly Who[]
  readonly whats: readonly What[]
} & { readonly [C in MarkColumn]?: readonly (number | null)[] }
