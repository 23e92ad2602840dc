import type { LogRecord } from '../../api/shapes.ts'
import { Status } from '../../kit/status.tsx'
import { t } from '../../words/index.ts'

/** The outcome of a request: the client's status, and the reason if it did not end there. */
export function Outcome({ of: { outcome, status, cache } }: { readonly of: LogRecord }) {
  const failed = status === null || status >= 400
  return (
    <span class="inline">
      <code>{status ?? '–'}</code>
      <Status name={outcome === 'answered' && failed ? 'answered_error' : outcome} />
      {cache === 'hit' && <small>{t('cache.hit')}</small>}
    </span>
  )
}
