import type { LogRecord } from '../../api/shapes.ts'
import { Status } from '../../kit/status.tsx'

/** What became of a request: the status that its caller got, and why where that was not the end of it. */
export function Outcome({ of: { outcome, status } }: { readonly of: LogRecord }) {
  const failed = status === null || status >= 400
  return (
    <span class="inline">
      <code>{status ?? '–'}</code>
      <Status name={outcome === 'answered' && failed ? 'answered_error' : outcome} />
    </span>
  )
}
