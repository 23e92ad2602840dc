import type { Failure, LogRow, Marks } from '../../domain/index.ts'
import type { Log, RequestContext } from '../../plugin-api/index.ts'
import type { Clock, Ids } from '../../util/index.ts'
import type { Deadlines } from '../deadlines.ts'
import type { HookFault, Pipeline } from '../pipeline.ts'
import type { UpstreamCall } from '../upstream-call.ts'

/** The engine's services for a session and its turns. */
export type SessionHost = {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly deadlines: Deadlines
  readonly pipeline: Pipeline
  readonly call: UpstreamCall
  readonly marks: Marks
  readonly onFault: (fault: HookFault, context: RequestContext) => void
  record(row: LogRow, context: RequestContext): void
  /** For a close before the setup was accepted: the failure if the upstream refused the gateway's key. */
  refusedSetup(reason: string): Failure | undefined
  /** Records the id with which the client may continue the session. */
  recordHandle(id: string): Promise<void>
}
