import type { Statement } from '../../api/shapes.ts'
import { moneyColumn } from '../../kit/money.tsx'
import { Table } from '../../kit/table.tsx'
import { count } from '../../numbers.ts'
import { t } from '../../words/index.ts'

type Row = Statement['labels'][number]

/** The month by end user or tag, with a table for each currency. `hrefOf`: the statement of one of them. */
export function Labels({
  of,
  kind,
  hrefOf,
}: {
  readonly of: readonly Row[]
  readonly kind: 'end_user' | 'tag'
  readonly hrefOf: (label: string) => string
}) {
  const part = t(`costs.${kind}`)
  return [...Map.groupBy(of, ({ currency }) => currency)].map(([currency, rows]) => {
    const title = `${t('costs.table', { part })} ${currency}`
    const moneyOf = (name: 'charged' | 'refunded' | 'costs', head: string) =>
      moneyColumn<Row>({ head, rows, amount: row => row[name], currency, isFixed: true, isExact: true })
    return (
      <section key={currency} class="card statement" aria-label={title}>
        <h2>{title}</h2>
        <p class="quiet">{t(`statements.split.${kind}`)}</p>
        <Table
          label={title}
          rows={rows}
          rowKey={({ label }) => JSON.stringify(label)}
          columns={[
            {
              head: part,
              heading: true,
              wide: true,
              cell: ({ label }) =>
                label === null ? (
                  <span class="quiet">{t('statements.unlabelled')}</span>
                ) : (
                  <a class="theirs" href={hrefOf(label)}>
                    {label}
                  </a>
                ),
            },
            { head: t('statements.charges'), numeric: true, cell: ({ charges }) => count(charges) },
            moneyOf('charged', t('statements.charged')),
            moneyOf('refunded', t('costs.refunded')),
            moneyOf('costs', t('statements.costs')),
          ]}
        />
      </section>
    )
  })
}
