import { queryText } from '../../api/call.ts'
import { useMay } from '../../api/session.ts'
import type { Avoidable } from '../../api/shapes.ts'
import { Icon } from '../../kit/icon.tsx'
import { count } from '../../numbers.ts'
import { shownAmount } from '../../shown-money.ts'
import { t } from '../../words/index.ts'
import type { Where } from './where.ts'

const shown = 3

/** Possible savings, with links to the requests and to the line of their price. */
export function AvoidableSpend({ of: value, where }: { readonly of: Avoidable | undefined; readonly where: Where }) {
  const readsConfig = useMay('operators')
  const makes = useMay('keys')
  if (!value || value.rows.length === 0) return null
  const { since, until, saved, rows } = value
  return (
    <section class="card avoidable" aria-labelledby="avoidable">
      <header class="inline">
        <Icon name="warn" />
        <h2 id="avoidable">
          {t('avoidable', {
            amount: saved.map(({ amount, currency }) => `${shownAmount(amount)} ${currency}`).join(', '),
          })}
        </h2>
      </header>
      <ul class="bare notes">
        {rows.slice(0, shown).map(row => {
          const { model, size, source, tier, ...facts } = { ...row, tier: row.billed }
          // None of these sums include refunded charges.
          const evidence = { since, until, ...where, model, size, source, tier, charge: 'settled', refunded: 'false' }
          const [, place, line] = /([^/]+:(\d+))$/.exec(row.at ?? '') ?? []
          return (
            <li key={JSON.stringify([model, size, source, row.billed, row.made, row.ask])}>
              <p>
                <span class="theirs">{model}</span>
                {t('colon')}
                {t(size === null ? 'avoidable.row.default' : 'avoidable.row', {
                  images: count(facts.images),
                  size: size ?? '',
                  billed: facts.billed,
                  made: facts.made,
                  ask: facts.ask,
                  saved: shownAmount(facts.saved),
                  currency: facts.currency,
                })}
              </p>
              <p class="inline">
                {makes && (
                  <a class="button" href={`/console/playground${queryText({ model, size: facts.ask })}`}>
                    {t('avoidable.use', { size: facts.ask, saved: facts.saved, currency: facts.currency })}
                  </a>
                )}
                <a href={`/console/logs${queryText(evidence)}`}>{t('avoidable.evidence')}</a>
                {place !== undefined && readsConfig && (
                  <a href={`/console/config?line=${line}`}>
                    {t('avoidable.price')} <code>{place}</code>
                  </a>
                )}
              </p>
            </li>
          )
        })}
      </ul>
      {rows.length > shown && <p class="quiet">{t('avoidable.more', { count: rows.length - shown })}</p>}
    </section>
  )
}
