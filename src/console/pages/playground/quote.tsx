import { useEffect, useState } from 'preact/hooks'
import { ApiError, call } from '../../api/call.ts'
import { useMay } from '../../api/session.ts'
import type { RequestExplanation } from '../../api/shapes.ts'
import { Button } from '../../kit/button.tsx'
import { Money } from '../../kit/money.tsx'
import { problemText } from '../../kit/problem.tsx'
import { amountOf, microsOf } from '../../money.ts'
import { shownExact } from '../../shown-money.ts'
import { language, t } from '../../words/index.ts'
import { tMismatch } from '../../words/mismatch.ts'
import { tWarning } from '../../words/warning.ts'
import type { Money as Amount } from './runs.ts'

type QuoteRequest = {
  readonly model: string
  readonly operation: string
  readonly size?: string
  readonly n?: number
  readonly quality?: string
}

/** The request waits until the user pauses typing. */
const pauseMs = 250

type QuoteState = {
  /** The question for this answer: if it is not the current question, the next answer is in flight. */
  readonly of?: string
  readonly explained?: RequestExplanation
  readonly error?: ApiError
}

/** The cost of the request, before it is sent. */
export function Quote({
  request,
  names = false,
  onQuote,
  onSize,
}: {
  readonly request: QuoteRequest
  /** Whether the quote includes the name of its model. */
  readonly names?: boolean
  readonly onQuote?: (atMost: Amount | undefined) => void
  /** Uses another size, which costs less. */
  readonly onSize?: (size: string) => void
}) {
  const readsConfig = useMay('operators')
  const [state, setState] = useState<QuoteState>({})
  const text = JSON.stringify(request)
  useEffect(() => {
    const abort = new AbortController()
    const timer = setTimeout(() => {
      call<RequestExplanation>('/explain', {
        method: 'POST',
        body: JSON.parse(text) as QuoteRequest,
        signal: abort.signal,
      }).then(
        explained => {
          setState({ of: text, explained })
          const { quote } = explained
          onQuote?.(quote ? { amount: quote.at_most, currency: quote.currency } : undefined)
        },
        (error: unknown) => error instanceof ApiError && setState({ of: text, error }),
      )
    }, pauseMs)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [text])
  if (state.error)
    return (
      <p class="note bad" role="status">
        {problemText(state.error)}
      </p>
    )
  if (!state.explained) return null
  const { quote, expected_size: comesBack, dropped } = state.explained
  return (
    <div class="notes" role="status" aria-busy={state.of !== text}>
      {names && <p class="quiet theirs">{request.model}</p>}
      {quote && (
        <div class="quote">
          <span class="quiet">{t('quote')}</span>
          <span class="sum">
            {quote.expected === null ? (
              t('quote.unknown')
            ) : (
              <Money exact amount={quote.expected} currency={quote.currency} />
            )}
          </span>
          <span>
            {t('quote.at_most')} <Money exact amount={quote.at_most} currency={quote.currency} />
          </span>
          {quote.tier && quote.price && (
            <span class="quiet">
              {quote.n} × {quote.price} ({quote.tier}){readsConfig && quote.price_at && <code> {quote.price_at}</code>}
            </span>
          )}
          {quote.beside?.map(({ name, price, price_at }) => (
            <span key={name} class="quiet">
              + {name} {price} {readsConfig && <code>{price_at}</code>}
            </span>
          ))}
        </div>
      )}
      {comesBack && <p>{t('quote.comes_back', { size: comesBack })}</p>}
      {dropped.length > 0 && <p class="quiet">{t('quote.dropped', { fields: dropped.join(', ') })}</p>}
      {warningsOf(state.explained).map(text => (
        <p key={text} class="note warn">
          {text}
        </p>
      ))}
      {onSize && <Cheaper of={state.explained} onSize={onSize} />}
    </div>
  )
}

/** The cheaper size with the same pixels, and its savings for all images of the request. */
function Cheaper({
  of: { mismatch, quote },
  onSize,
}: {
  readonly of: RequestExplanation
  readonly onSize: (size: string) => void
}) {
  const cheaper = mismatch?.cheaper
  if (!mismatch || !quote || !cheaper) return null
  const [billed, made] = [quote.prices[mismatch.billed], quote.prices[mismatch.made]]
  if (billed === undefined || made === undefined) return null
  const saved = (microsOf(billed) - microsOf(made)) * BigInt(quote.n)
  return (
    <div>
      <Button onClick={() => onSize(cheaper)}>
        {t('quote.use', { size: cheaper, saved: shownExact(amountOf(saved)), currency: quote.currency })}
      </Button>
    </div>
  )
}

/** In the gateway's own words if these are in the reader's language; otherwise from the facts. */
function warningsOf({ warnings, mismatch }: RequestExplanation): readonly string[] {
  if (language.value === 'en' || !mismatch) return warnings.map(text => tWarning(text) ?? text)
  return [tMismatch(mismatch)]
}
