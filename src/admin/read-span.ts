import { refuse } from './reasons.ts'

/** The moments of a query with `since` and `until`, as far as they are given. @throws Failure if they are swapped */
export function readSpan({
  since,
  until,
}: {
  readonly since?: string | undefined
  readonly until?: string | undefined
}): { readonly since?: number; readonly until?: number } {
  const span = {
    ...(since !== undefined && { since: Date.parse(since) }),
    ...(until !== undefined && { until: Date.parse(until) }),
  }
  if (span.since !== undefined && span.until !== undefined && span.since > span.until)
    throw refuse('invalid', 'since_late', {}, { param: 'since' })
  return span
}
