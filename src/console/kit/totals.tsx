import type { ComponentChildren } from 'preact'
import { t } from '../words/index.ts'

/** The totals above a list: names and figures on one line. */
export function Totals({
  of,
  label = t('totals'),
  children,
}: {
  /** Required if a page has several. */
  readonly label?: string
  readonly of: readonly (readonly [name: string, value: ComponentChildren])[]
  readonly children?: ComponentChildren
}) {
  return (
    <section class="totals" aria-label={label}>
      <dl>
        {of.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {children}
    </section>
  )
}
