import type { LogRecord } from '../../api/shapes.ts'
import { Facts } from '../../kit/facts.tsx'
import { tFailure, tFailureValues } from '../../words/failure.ts'
import { t } from '../../words/index.ts'

/** All requests to upstreams, if there was more than one. */
export function Attempts({ of: { attempts } }: { readonly of: LogRecord }) {
  if (!attempts) return null
  return (
    <section class="section" aria-label={t('attempts')}>
      <h3>{t('attempts')}</h3>
      <Facts
        of={attempts.map(({ upstream, key, model, answer, ms }, i) => {
          const by = [model, upstream, key].filter(Boolean).join(' / ')
          return [`${i + 1}. ${by}`, <code>{t('attempts.answer', { answer, ms })}</code>] as const
        })}
      />
    </section>
  )
}

/** The error in the reader's language, from the stored values; and the upstream's message. */
export function Failure({ of: { error, error_values: values, upstream_said: message } }: { readonly of: LogRecord }) {
  if (!error && !message) return null
  const shown = tFailureValues(values)
  const text = error ? tFailure(error, shown) : undefined
  return (
    <section class="section" aria-label={t('failure')}>
      <h3>{t('failure')}</h3>
      {text && <p class="note bad theirs">{text}</p>}
      {text && shown['renews'] && <p>{t('failure.renews', { renews: shown['renews'] })}</p>}
      {!text && (error || Object.keys(shown).length > 0) && (
        <Facts
          of={[
            ...(error ? [[t('error'), <code>{error}</code>] as const] : []),
            ...Object.entries(shown).map(([name, value]) => [name, <span class="theirs">{value}</span>] as const),
          ]}
        />
      )}
      {message && (
        <figure class="said">
          <figcaption>{t('failure.said')}</figcaption>
          <blockquote class="theirs">{message}</blockquote>
        </figure>
      )}
    </section>
  )
}
