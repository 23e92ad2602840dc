import { resultOf } from '../../../domain/log-result.ts'
import type { LogRecord } from '../../api/shapes.ts'
import { Icon } from '../../kit/icon.tsx'
import { toneOf } from '../../kit/status.tsx'
import { t, tName } from '../../words/index.ts'

/** The outcome of a request: the status for the client, and the result as in the filter. */
export function Outcome({ of }: { readonly of: LogRecord }) {
  const result = resultOf(of)
  const tone = toneOf(result)
  return (
    <span class="inline">
      <code>{of.status ?? '–'}</code>
      <span class={`status ${tone}`}>
        <Icon name={tone === 'fine' ? 'good' : tone} />
        {tName('result', result)}
      </span>
      {of.cache === 'hit' && <small>{t('cache.hit')}</small>}
    </span>
  )
}
