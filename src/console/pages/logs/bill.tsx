import { useMay } from '../../api/session.ts'
import type { BillingRecord } from '../../api/shapes.ts'
import { Money } from '../../kit/money.tsx'
import { Status } from '../../kit/status.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { count } from '../../numbers.ts'
import { groupNumbers } from '../../shown-money.ts'
import { tConditions } from '../../words/condition.ts'
import { tEdge } from '../../words/edge.ts'
import { language, t, tName } from '../../words/index.ts'
import { tWarning } from '../../words/warning.ts'
import { tFactors, tKeptRule, tReason, tWhy } from '../../words/why.ts'
import { label, sourceText } from './labels.ts'

type Line = BillingRecord['lines'][number]
type Row = BillingRecord['rule']['rows'][number]

/**
 * The cost of a request, as the line with six labels and its parts, and the reason. `id`: of the second charge of a
 * request.
 */
export function Bill({ of, id }: { readonly of: BillingRecord; readonly id?: string }) {
  const images = of.count !== null
  return (
    <section class="section" aria-label={id ?? t('bill')}>
      <div class="inline">
        <span class="sum">
          <Money exact amount={of.amount} currency={of.currency} />
        </span>
        <Status name={of.state} />
        {Number(of.held) > 0 && (
          <span class="quiet">
            {t('bill.held')} <Money exact amount={of.held} currency={of.currency} />
          </span>
        )}
        {Number(of.refunded) > 0 && (
          <span class="quiet">
            {t('bill.refunded')} <Money exact amount={of.refunded} currency={of.currency} />
          </span>
        )}
        {of.vendor_cost !== null && (
          <span class="quiet">
            {t('bill.vendor')} <Money exact amount={of.vendor_cost} currency={of.currency} />
          </span>
        )}
      </div>
      {of.lines.length > 0 && (
        <p class="line-text theirs" lang="zh-CN">
          {of.text}
        </p>
      )}
      {images && of.lines.length > 0 && <SixParts of={of} />}
      {!images && language.value !== 'zh' && <Counted of={of} />}
      {!images && Object.keys(of.facts).length > 0 && <p>{t('bill.facts', { facts: tConditions(of.facts) })}</p>}
      {of.reason && (
        <p>
          {t('reason')}
          {t('colon')}
          <span class="theirs">{tReason(of.reason)}</span>
        </p>
      )}
      {of.lines.length > 0 ? <Why of={of} /> : <Hints of={of} />}
    </section>
  )
}

/** The counts in the reader's language, because the line above is in Chinese. */
function Counted({ of: { lines } }: { readonly of: BillingRecord }) {
  const counted = lines.filter(({ quantity }) => quantity !== null)
  if (counted.length === 0) return null
  return (
    <p>
      {counted.map(({ tier, quantity }) => `${tName('unit', tier)}${t('colon')}${count(quantity ?? 0)}`).join(' · ')}
    </p>
  )
}

/** The six labels of `docs/rules.md#billing-labels`, with their English next to them. */
function SixParts({ of }: { readonly of: BillingRecord }) {
  const pictures = imagesOf(of)
  const parts = [
    ['大小', 'label.size', of.size ?? '-'],
    ['请求品质', 'label.quality', of.quality ?? '-'],
    ['生成数量', 'label.count', String(of.count ?? of.lines.length)],
    ['图片档位', 'label.tier', grouped(pictures.map(line => line.tier))],
    ['来源', 'label.source', grouped(pictures.map(line => sourceText(line.source)))],
    ['实际尺寸', 'label.actual', grouped(pictures.map(line => line.size ?? '-'))],
  ] as const
  return (
    <dl class="six">
      {parts.map(([chinese, english, value]) => (
        <div key={chinese}>
          <dt>
            <span lang="zh-CN">{chinese}</span>
            {t(english) !== chinese && <span> {t(english)}</span>}
          </dt>
          <dd class="theirs">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Items other than images have a quantity. A person's decision applies to all. */
function imagesOf({ lines }: BillingRecord): readonly Line[] {
  return lines.some(line => line.quantity === null) ? lines.filter(line => line.quantity === null) : lines
}

/** `2K`, or `2K×3, 4K×1` if they differ. */
function grouped(values: readonly string[]): string {
  const counts = Map.groupBy(values, value => value)
  if (counts.size === 0) return '-'
  if (counts.size === 1) return values[0] ?? '-'
  return [...counts].map(([value, { length }]) => `${value}×${length}`).join(', ')
}

function Why({ of }: { readonly of: BillingRecord }) {
  const { rule, lines, currency } = of
  const readsConfig = useMay('operators')
  const columns: readonly Column<Line>[] = [
    { head: '#', cell: line => line.index + 1 },
    { head: t('bill.reading'), wide: true, cell: line => <span class="theirs">{tWhy(of, line)}</span> },
    { head: t('amount'), numeric: true, cell: line => <Money exact amount={line.price} currency={currency} /> },
  ]
  return (
    <>
      <h3>{t('bill.why')}</h3>
      <p>{ruleText(of)}</p>
      {rule.rows.length > 0 && <Prices of={of} />}
      <div class="sheet">
        <Table
          label={t('bill.lines')}
          rows={lines}
          rowKey={line => String(line.index)}
          columns={
            readsConfig
              ? [...columns, { head: t('bill.at'), place: true, cell: ({ at }) => <Place at={at} /> }]
              : columns
          }
        />
      </div>
      <p class="sum-text">{groupNumbers(of.sum)}</p>
      <p class="quiet">{multiplierText(rule)}</p>
      <Hints of={of} />
    </>
  )
}

/** A line of the configuration, for users who may read it. */
function Place({ at }: { readonly at: string | null }) {
  const line = /:(\d+)$/.exec(at ?? '')?.[1]
  if (line === undefined) return <code>{at ?? '–'}</code>
  return (
    <a href={`/console/config?line=${line}`}>
      <code>{at}</code>
    </a>
  )
}

/** Flags and warnings of a charge. */
function Hints({ of }: { readonly of: BillingRecord }) {
  return (
    <>
      {flagsOf(of).map(flag => (
        <p key={flag} class="note warn">
          {flagText(flag)}
        </p>
      ))}
      {of.warnings.map(text => {
        const translated = tWarning(text)
        return (
          <p key={text} class="note warn theirs" {...(translated === undefined && { lang: 'en' })}>
            {translated ?? text}
          </p>
        )
      })}
    </>
  )
}

/** The flags of a charge. The reason of a charge to be reviewed names the units without a price itself. */
function flagsOf({ flags, reason }: BillingRecord): readonly string[] {
  return reason?.startsWith('unpriced: ') ? flags.filter(flag => !flag.startsWith('unpriced:')) : flags
}

/** In the reader's language if the console has a text; a third-party plugin has its own. */
function ruleText(of: BillingRecord): string {
  const { kind, text } = of.rule
  if (kind === 'usage') return t('bill.usage')
  if (language.value === 'en') return text
  if (kind === 'cached_response') return tKeptRule(text)
  if (kind !== 'tiers') return text
  return t(isCombined(of) ? 'bill.combined' : 'bill.tiers')
}

/** Whether the charge depends on more than a tier. */
function isCombined({ rule, lines }: BillingRecord): boolean {
  return rule.by !== undefined || lines.some(({ quantity, tier }) => quantity !== null && tier !== 'decided')
}

function multiplierText({ kind, multiplier }: BillingRecord['rule']): string {
  if (kind === 'tiers') return t('bill.no_multiplier')
  if (language.value === 'en') return multiplier
  if (kind === 'cached_response') return t('bill.kept.multiplier')
  return kind === 'usage' ? tFactors(multiplier) : multiplier
}

/** The rows of the rule; those that were applied are marked. */
function Prices({ of: { rule, lines, currency } }: { readonly of: BillingRecord }) {
  const readsConfig = useMay('operators')
  const matched = new Set(lines.map(line => line.tier))
  const tiered = rule.kind === 'tiers'
  const columns: readonly Column<Row>[] = [
    {
      head: tiered ? label('图片档位', t('label.tier')) : t('bill.unit'),
      cell: ({ tier }) => (
        <span>
          {tiered ? tier : tName('unit', tier)}
          {matched.has(tier) && <span class="matched-sign"> {t('bill.matched')}</span>}
        </span>
      ),
    },
    {
      head: t('price'),
      numeric: true,
      cell: ({ price, per }) => <Money exact amount={price} currency={currency} per={per} />,
    },
    ...(readsConfig ? [{ head: t('bill.at'), place: true, cell: ({ at }: Row) => <Place at={at} /> }] : []),
  ]
  const largest = Math.max(0, ...rule.rows.map(row => row.long_edge_max ?? 0))
  const byPixels = rule.rows.some(row => row.pixels_max !== undefined)
  const most = Math.max(0, ...rule.rows.map(row => row.pixels_max ?? 0))
  const edge: Column<Row> = byPixels
    ? { head: t('bill.pixels'), cell: ({ pixels_max: max }) => tEdge(max ?? null, most) }
    : { head: t('bill.edge'), cell: ({ long_edge_max: max }) => tEdge(max, largest) }
  const isSized = tiered && rule.by === undefined
  return (
    <div class="sheet">
      <Table
        label={t('bill.rows')}
        rows={rule.rows}
        rowKey={row => row.tier}
        rowClass={row => (matched.has(row.tier) ? 'matched' : '')}
        columns={isSized ? columns.toSpliced(1, 0, edge) : columns}
      />
    </div>
  )
}

/** `unpriced:web_search` names units without a price. */
function flagText(flag: string): string {
  const [name, what] = flag.split(':', 2)
  return name === 'unpriced' && what !== undefined
    ? t('flag.unpriced', { name: tName('unit', what) })
    : tName('flag', flag)
}
