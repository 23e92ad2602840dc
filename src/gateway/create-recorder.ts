import type { LogRow, Storage } from '../domain/index.ts'
import type { RequestContext } from '../plugin-api/index.ts'
import type { Clock } from '../util/index.ts'
import type { GatewayLog, Metrics, Observers, UnrecognisedAnswers, WatchedLedger } from '../observe/index.ts'
import type { Telemetry } from '../observe/otlp/telemetry.ts'

type RecorderParts = {
  readonly observers: Observers
  readonly storage: Pick<Storage, 'journal'>
  readonly charges: Pick<WatchedLedger, 'forget'>
  readonly log: GatewayLog
  readonly metrics: Metrics
  readonly unrecognised: UnrecognisedAnswers
  readonly telemetry: Telemetry | undefined
  readonly clock: Pick<Clock, 'now'>
}

/** Passes a settled request to all recorders. */
export function createRecorder(parts: RecorderParts): (row: LogRow, context: RequestContext) => void {
  const { observers, storage, charges, log, metrics, telemetry } = parts
  // Separate recorders: one that fails affects neither the others nor the request.
  const recorders: readonly ((row: LogRow, context: RequestContext) => void)[] = [
    observers.quiet('journal', row => storage.journal.append(row)),
    observers.quiet('log', row => log.request(row)),
    observers.quiet('unrecognised', (row, context) => {
      if (context.notes.unrecognised) noteUnrecognised(parts, row, context.notes.unrecognised.shape)
    }),
    ...(telemetry
      ? [observers.quiet('telemetry', (row: LogRow, context: RequestContext) => telemetry.ended(row, context))]
      : []),
    observers.quiet('metrics', (row, { notes }) => {
      metrics.settled(row)
      if (notes.limits) metrics.limited(notes.limits)
      if (notes.folded) metrics.folded(notes.folded)
    }),
  ]
  return (row, context) => {
    charges.forget(row.id)
    for (const record of recorders) record(row, context)
  }
}

function noteUnrecognised(
  { metrics, unrecognised, clock, log }: RecorderParts,
  { id, model, upstream, operation }: LogRow,
  shape: string,
): void {
  const answer = { model: model ?? '', upstream: upstream ?? '', operation, shape }
  metrics.unrecognised(answer.model, answer.upstream)
  unrecognised.note(answer, clock.now())
  log.warn(
    { request: id, ...answer },
    'an upstream response was not recognized and was withheld; its charge waits for review',
  )
}
