import type { LogRecord } from '../../api/shapes.ts'
import { Facts } from '../../kit/facts.tsx'
import { t, tell, tName } from '../../words/index.ts'
import { momentText } from '../../words/moment.ts'

/** Values that are names of the gateway's own, by the words that tell them. */
const named = new Set(['limit', 'counts', 'budget'])

/** What went wrong, in the reader's language, from the values that the gateway kept of it; and what the upstream said. */
export function Failure({ of: { error, error_values: values, upstream_said: said } }: { readonly of: LogRecord }) {
  if (!error && !said) return null
  const word = `failure.${error}`
  const all = Object.entries(values ?? {}).filter(([, value]) => value !== null && value !== '')
  const shown = Object.fromEntries(all.map(([name, value]) => [name, told(name, value ?? '')] as const))
  // A row of an earlier version has the code alone, of which a sentence with holes would be made.
  const text = values === null ? word : tell(word, shown)
  const isTold = text !== word && !/\{\w+\}/.test(text)
  return (
    <section class="section" aria-label={t('failure')}>
      <h3>{t('failure')}</h3>
      {isTold && <p class="note bad theirs">{text}</p>}
      {isTold && shown['renews'] && <p>{t('failure.renews', { renews: shown['renews'] })}</p>}
      {!isTold && (error || all.length > 0) && (
        <Facts
          of={[
            ...(error ? [[t('error'), <code>{error}</code>] as const] : []),
            ...Object.entries(shown).map(([name, value]) => [name, <span class="theirs">{value}</span>] as const),
          ]}
        />
      )}
      {said && (
        <figure class="said">
          <figcaption>{t('failure.said')}</figcaption>
          <blockquote class="theirs">{said}</blockquote>
        </figure>
      )}
    </section>
  )
}

function told(name: string, value: string | number): string {
  if (named.has(name)) return tName(`failure.${name}`, String(value))
  return name === 'renews' ? momentText(new Date(value)) : String(value)
}
