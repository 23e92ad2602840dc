import { codesAt, type Classification, type Refusal } from './classify.ts'
import { limitCodes, usualPlaces } from './outcome-table.ts'

/** The statuses that vendors use for words which an answer of status 200 may contain too. */
const statuses: readonly (readonly [status: number, codes: readonly string[]])[] = [
  [
    400,
    [
      'invalid_request_error',
      'invalid_request',
      'invalid_value',
      'moderation',
      'moderation_blocked',
      'content_moderation',
      'safety',
      'content_policy_violation',
      'content_filter',
      'context_length_exceeded',
      'INVALID_ARGUMENT',
      'FAILED_PRECONDITION',
    ],
  ],
  [404, ['not_found_error', 'model_not_found', 'NOT_FOUND']],
  [413, ['request_too_large']],
  [429, limitCodes],
  [500, ['api_error', 'server_error', 'internal_error', 'internal_server_error', 'INTERNAL']],
  [503, ['overloaded_error', 'server_overloaded', 'service_unavailable', 'UNAVAILABLE']],
  [504, ['timeout_error', 'DEADLINE_EXCEEDED']],
]

/** Suffixes of codes that blame the client. */
const callerFault = '_user_error'

/** The status that an error in an answer of status 200 would have had. */
export function statusInside(refusal: Refusal, classification: Classification | undefined): number {
  if (refusal.status !== undefined) return refusal.status
  if (classification?.key === 'cooling') return 429
  const codes = codesAt(refusal.body, usualPlaces)
  if (codes.some(code => code.endsWith(callerFault))) return 400
  return statuses.find(([, words]) => codes.some(code => words.includes(code)))?.[0] ?? 502
}
