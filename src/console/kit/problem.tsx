import { ApiError } from '../api/call.ts'
import { sessionState } from '../api/session.ts'
import { tBound } from '../words/bound.ts'
import { t, translate } from '../words/index.ts'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'

/** An error in the chosen language if the console has a text for it; otherwise in the gateway's own words. */
export function problemText(error: ApiError): string {
  if (error.code === 'out_of_bounds')
    return t('problem.out_of_bounds', {
      most: tBound(error.field ?? '', { currency: currencyNow(), ...error.values }),
      by: error.values['by'] ?? '',
    })
  const word = error.reason === null ? `problem.${error.code}` : `refusal.${error.reason}`
  const translated = translate(word, error.values)
  const text = translated === word ? error.message : translated
  return error.retryAfter === null ? text : `${text} ${t('problem.retry', { seconds: error.retryAfter })}`
}

/** The same for whatever was thrown. */
export function faultText(error: unknown): string {
  return error instanceof ApiError ? problemText(error) : String(error)
}

function currencyNow(): string | null {
  const state = sessionState.value
  return state.kind === 'in' ? state.session.gateway.currency : null
}

/** Shown instead of content that failed to load. */
export function Problem({ error, onRetry }: { readonly error: ApiError; readonly onRetry?: () => void }) {
  return (
    <div class="problem" role="alert">
      <Icon name="warn" />
      <p>{problemText(error)}</p>
      {error.requestId && <p class="quiet">{t('problem.request', { id: error.requestId })}</p>}
      {onRetry && <Button onClick={onRetry}>{t('retry')}</Button>}
    </div>
  )
}
