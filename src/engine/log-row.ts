import { type AttemptRecord, attributionSlot, callerSlot, type FailureValues, type LogRow } from '../domain/index.ts'
import type { Notes, Outcome, RequestContext } from '../plugin-api/index.ts'
import { clipSnippet } from './error-snippet.ts'
import type { ActiveRequest } from './active-request.ts'

/** How many of a request's field names a row stores, and how much of each. */
const namesMax = 100
const nameCharsMax = 100
/** The same for an error's message. */
const valuesMax = 16

/** The first requests to upstreams, of more. */
const attemptsMax = 32

/** Facts of a request for its log row that plugins do not see. */
type LoggedRequest = Pick<ActiveRequest, 'target' | 'marks' | 'errorSnippet'> & {
  readonly call: { readonly upstream: { readonly name: string } } | undefined
  readonly attempts?: readonly AttemptRecord[]
}

/** The log row of a settled request. `durationMs` is its duration. */
export function toLogRow(
  request: LoggedRequest,
  context: RequestContext,
  outcome: Outcome,
  durationMs: number,
): LogRow {
  const { target } = request
  const caller = context.slots.get(callerSlot)
  const attribution = context.slots.get(attributionSlot)
  const failure = 'failure' in outcome ? outcome.failure : undefined
  const { blocked } = context.notes
  const client = context.head.headers['x-request-id']
  return {
    id: context.id,
    time: context.startedAt,
    keyId: caller?.key.id ?? null,
    user: caller?.key.user ?? null,
    group: caller?.group.name ?? null,
    model: (target?.requested ?? target?.model)?.name ?? null,
    ...(target?.alias !== undefined && { alias: target.alias }),
    operation: context.route.operation,
    status: outcome.status ?? null,
    outcome: outcomeOf(outcome, context.notes),
    errorCode: failure?.code ?? context.notes.failed ?? (blocked ? 'response_blocked' : null),
    durationMs: Math.round(durationMs),
    upstream: request.call?.upstream.name ?? null,
    configRevision: context.plan.revision,
    forwarded: clipNames(context.notes.forwarded),
    dropped: clipNames(context.notes.dropped),
    clientRequestId: typeof client === 'string' ? client.slice(0, 128) : null,
    inputTokens: context.notes.inputTokens,
    outputTokens: context.notes.outputTokens,
    marks: request.marks,
    errorValues: clipValues(failure?.values ?? blocked ?? {}),
    upstreamSaid: request.errorSnippet?.words ?? null,
    attempts: listedAttempts(request.attempts),
    ...(context.notes.cache && { cache: context.notes.cache.result, saved: context.notes.cache.saved ?? null }),
    ...(attribution && attribution.ids !== '' && { attribution: attribution.ids }),
  }
}

/** Requests to upstreams: of several, or by a fallback of the model. */
function listedAttempts(all: readonly AttemptRecord[] = []): readonly AttemptRecord[] | null {
  return all.length > 1 || all[0]?.model !== undefined ? all.slice(0, attemptsMax) : null
}

/** The names as a row stores them: clients choose them, and may send megabytes of them. */
function clipNames(names: readonly string[]): readonly string[] {
  if (names.length <= namesMax && names.every(name => name.length <= nameCharsMax)) return names
  const kept = names
    .slice(0, namesMax)
    .map(name => (name.length > nameCharsMax ? `${name.slice(0, nameCharsMax)}…` : name))
  return names.length > namesMax ? [...kept, `… ${names.length - namesMax} more`] : kept
}

/** An error's values, some of which clients chose; null if there are none. */
function clipValues(values: FailureValues): FailureValues | null {
  const all = Object.entries(values).slice(0, valuesMax)
  if (all.length === 0) return null
  return Object.fromEntries(
    all.map(([name, value]) => [name, typeof value === 'string' ? clipSnippet(value) : value] as const),
  )
}

/** An answer of status 200 may have failed, or been blocked, after it had begun. */
function outcomeOf(outcome: Outcome, { failed, blocked }: Notes): LogRow['outcome'] {
  if (outcome.kind !== 'answered') return outcomeName(outcome)
  if (failed !== undefined) return 'upstream_cut'
  return blocked ? 'refused' : 'answered'
}

function outcomeName(outcome: Outcome): LogRow['outcome'] {
  if (outcome.kind !== 'cut') return outcome.kind
  if (outcome.by === 'caller') return 'caller_gone'
  return outcome.by === 'deadline' ? 'deadline' : 'upstream_cut'
}
