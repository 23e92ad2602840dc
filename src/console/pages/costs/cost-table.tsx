import { useLocation } from 'preact-iso'
import type { CostSplit } from '../../../domain/costs.ts'
import type { CostsAnswer } from '../../api/shapes.ts'
import { Choices } from '../../kit/choices.tsx'
import { later } from '../../kit/later.tsx'
import { Money, moneyColumn } from '../../kit/money.tsx'
import { listPlace } from '../../kit/page.tsx'
import { Swatch } from '../../kit/swatch.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { Tag } from '../../kit/tag.tsx'
import { Time } from '../../kit/time.tsx'
import { amountOf } from '../../money.ts'
import { changeOf, count, shareOf } from '../../numbers.ts'
import { shownAmount } from '../../shown-money.ts'
import { t } from '../../words/index.ts'
import { dateIn } from '../../zone.ts'
import { barLabel, hoursTwice } from './bar-labels.ts'
import { sessionKeys } from './fold-sessions.ts'
import { nameOf, partName } from './parts.ts'
import { daysOfBar, type Range } from './range.ts'
import { Picked } from './picked.tsx'
import type { Part, CurrencyCosts } from './currency-costs.ts'
import { TokenKinds } from './token-kinds.tsx'
import { unitCostOf, unitCostsOf } from './unit-cost.ts'
import { statementMonthOf } from './statement-month.ts'
import { StatementRow } from './statement-row.tsx'
import type { Where } from './where.ts'

const Bars = later(async () => (await import('../../kit/bars.tsx')).Bars, 'bars')

type Given = {
  readonly of: CurrencyCosts
  readonly isFirst: boolean
  readonly answer: CostsAnswer
  readonly range: Range
  readonly by: CostSplit
  /** The filters of costs. */
  readonly where: Where
  readonly parts: readonly CostSplit[]
  /** The names of the rows to compare. */
  readonly picked: readonly string[]
  readonly hrefOf: (change: { readonly [name: string]: string | null }) => string
}

/** The costs in one currency: their sum, their course, and their parts. */
export function CostTable(given: Given) {
  const { of: sheet, isFirst, answer, range, by, where, parts, picked, hrefOf } = given
  const month = statementMonthOf(range, where, dateIn(answer.zone, new Date()))
  const { currency } = sheet
  const { route } = useLocation()
  const rows: readonly Row[] = [
    ...sheet.parts.map((part, at) => ({ ...part, at })),
    ...(sheet.parts.length > 1 ? [{ ...totalOf(sheet), at: 0, isTotal: true as const }] : []),
  ]
  return (
    <section class="stack" aria-label={`${t('nav.costs')} ${currency}`}>
      <div class="figures">
        <div class="figure first">
          <span>{t('costs.spent')}</span>
          <span>
            <Money amount={amountOf(sheet.net)} currency={currency} />
          </span>
          <span class="quiet">
            {changeOf(sheet.net, sheet.before)} ·{' '}
            {t('costs.before', { amount: shownAmount(amountOf(sheet.before)), days: count(daysBefore(answer)) })}
          </span>
        </div>
        <Figure name={t('costs.charges')} value={count(sheet.charges)} />
        {sheet.images > 0 && <Figure name={t('costs.images')} value={count(sheet.images)} />}
        {sheet.tokens > 0 && <Figure name={t('costs.tokens')} value={count(sheet.tokens)} />}
        {sheet.refunded > 0n && (
          <div class="figure">
            <span>{t('costs.refunded')}</span>
            <span>
              <Money amount={amountOf(sheet.refunded)} currency={currency} />
            </span>
          </div>
        )}
        {sheet.saved > 0n && (
          <div class="figure">
            <span>{t('costs.saved')}</span>
            <span>
              <Money amount={amountOf(sheet.saved)} currency={currency} />
            </span>
            <span class="quiet">{t('costs.saved.text')}</span>
          </div>
        )}
      </div>
      <div class="card">
        <Choices
          label={t('costs.by')}
          of={parts.map(part => [part, partName(part)] as const)}
          chosen={by}
          hrefOf={part => hrefOf({ by: part, pick: null })}
        />
        <Course {...given} />
      </div>
      <Picked
        parts={sheet.parts.filter(({ what }) => what !== null && picked.includes(what))}
        all={sheet.parts}
        by={by}
        currency={currency}
        nameOf={what => nameOf(by, what, answer.names) || t('costs.nameless')}
        hrefOf={hrefOf}
      />
      <div class="sheet" {...(isFirst && listPlace)}>
        <Table
          label={t('costs.table', { part: partName(by) })}
          rows={rows}
          rowKey={({ what, isTotal }) => JSON.stringify([what, isTotal])}
          rowClass={({ isTotal }) => (isTotal ? 'total' : '')}
          isLast={({ isTotal }) => isTotal === true}
          columns={columns(given, rows, href => route(href, true))}
        />
      </div>
      {sheet.tokens > 0 && where.tier === undefined && <TokenKinds answer={answer} where={where} currency={currency} />}
      {month !== undefined && <StatementRow month={month} zone={answer.zone} where={where} currency={currency} />}
    </section>
  )
}

function daysBefore({ since, before }: CostsAnswer): number {
  return Math.round((Date.parse(since) - Date.parse(before.since)) / 86_400_000)
}

function Figure({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div class="figure">
      <span>{name}</span>
      <span>{value}</span>
    </div>
  )
}

type Row = Part & { readonly at: number; readonly isTotal?: true }

/** All parts together. A charge with two tiers counts once. */
function totalOf({ net, before, charges, images, tokens, parts }: CurrencyCosts): Part {
  const quantity = parts.reduce((sum, part) => sum + part.quantity, 0)
  return { what: null, net, before, charges, images, quantity, tokens, bars: [] }
}

function columns(
  { of: sheet, answer, by, where, picked, hrefOf }: Given,
  rows: readonly Row[],
  go: (href: string) => void,
): readonly Column<Row>[] {
  const isOfUnits = by === 'tier' || where.tier !== undefined
  const pick = (what: string) =>
    go(hrefOf({ pick: picked.includes(what) ? without(picked, what) : [...picked, what].join('|') }))
  return [
    {
      head: partName(by),
      heading: true,
      wide: true,
      sortBy: ({ what }) => (what === null ? null : nameOf(by, what, answer.names)),
      cell: ({ what, at, isTotal }) => (
        <span class="named">
          {what !== null && what !== '' && what !== sessionKeys && sheet.parts.length > 1 && (
            <input
              type="checkbox"
              checked={picked.includes(what)}
              aria-label={t('costs.pick', { name: nameOf(by, what, answer.names) })}
              onChange={() => pick(what)}
            />
          )}
          {!isTotal && <Swatch at={at} />}
          {isTotal ? (
            t('totals')
          ) : what === null ? (
            <span class="quiet">{t('costs.rest')}</span>
          ) : what === sessionKeys ? (
            nameOf(by, what, answer.names)
          ) : (
            <a class="theirs" href={hrefOf({ [by]: what, by: null })}>
              {nameOf(by, what, answer.names) || t('costs.nameless')}
            </a>
          )}
          {what !== null && answer.gone.includes(what) && <Tag>{t('costs.gone')}</Tag>}
        </span>
      ),
    },
    moneyColumn<Row>({
      head: t('costs.spent'),
      rows,
      amount: ({ net }) => amountOf(net),
      currency: sheet.currency,
    }),
    { head: t('costs.share'), numeric: true, sortBy: ({ net }) => net, cell: ({ net }) => shareOf(net, sheet.net) },
    moneyColumn<Row>({ head: t('costs.earlier'), rows, amount: ({ before }) => amountOf(before) }),
    { head: t('costs.change'), numeric: true, sortBy: changeRank, cell: ({ net, before }) => changeOf(net, before) },
    {
      head: t('costs.charges'),
      numeric: true,
      sortBy: ({ charges }) => charges,
      cell: ({ charges }) => count(charges),
    },
    ...(sheet.images > 0
      ? [{ head: t('costs.images'), numeric: true, sortBy: imagesOf, cell: (part: Part) => count(part.images) }]
      : []),
    ...(isOfUnits
      ? [
          {
            head: t('costs.quantity'),
            numeric: true,
            sparse: true,
            sortBy: ({ quantity }: Part) => quantity,
            cell: quantityOf,
          },
        ]
      : [
          {
            head: t('costs.tokens'),
            numeric: true,
            sparse: true,
            sortBy: ({ tokens }: Part) => tokens,
            cell: ({ tokens }: Part) => tokens > 0 && count(tokens),
          },
        ]),
    ...(isOfUnits
      ? [
          {
            head: t('costs.unit'),
            numeric: true,
            sparse: true,
            cell: (part: Row) => {
              if (part.isTotal && by === 'tier') return null
              const cost = unitCostOf(part, by === 'tier' ? (part.what ?? '') : (where.tier ?? null))
              return cost && <Money amount={cost.amount} currency={sheet.currency} per={cost.per} />
            },
          },
        ]
      : (['image', 'tokens', 'request'] as const).map(unit =>
          moneyColumn<Row>({
            head: t(`costs.per.${unit}`),
            rows,
            amount: part => unitCostsOf(part)[unit],
            isPrecise: true,
          }),
        )),
  ]
}

const imagesOf = ({ images }: Part) => images

/** The growth of a part; new parts have the largest. */
function changeRank({ net, before }: Part): number | null {
  if (before === 0n) return net === 0n ? null : Number.POSITIVE_INFINITY
  return Number(((net - before) * 10_000n) / before)
}

function without(picked: readonly string[], what: string): string | null {
  return picked.filter(one => one !== what).join('|') || null
}

function quantityOf({ quantity, isTotal }: Row): string | false {
  return !isTotal && quantity > 0 && count(quantity)
}

/** The course of costs, as bars and as a table; each links to its own days. */
function Course({ of: sheet, answer, range, by, hrefOf }: Given) {
  const { route } = useLocation()
  const { step } = range
  const twice = step === 'hour' ? hoursTwice(answer.bars, answer.zone) : new Map<string, string>()
  const bars = answer.bars.map((at, i) => ({
    at,
    offset: twice.get(at),
    label: [barLabel(at, step, answer.zone), twice.get(at)].filter(Boolean).join(' '),
    href: step === 'hour' ? null : hrefOf({ range: null, ...daysOfBar(range, dateIn(answer.zone, new Date(at))) }),
    sum: sheet.parts.reduce((sum, part) => sum + (part.bars[i] ?? 0n), 0n),
    parts: sheet.parts.map(part => part.bars[i] ?? 0n),
  }))
  const columns = bars.map(({ label, href, sum, parts }) => ({
    label,
    title: [
      `${label}${t('colon')}${shownAmount(amountOf(sum))} ${sheet.currency}`,
      ...sheet.parts.flatMap(({ what }, i) =>
        parts[i]
          ? [
              `${what === null ? t('costs.rest') : nameOf(by, what, answer.names)}${t('colon')}${shownAmount(amountOf(parts[i]))}`,
            ]
          : [],
      ),
    ].join('\n'),
    parts,
    onPick: () => void (href && route(href)),
  }))
  const spent = bars.filter(({ sum }) => sum > 0n)
  return (
    <div class="chart">
      <Bars of={columns} />
      <details>
        <summary>{t('chart.table')}</summary>
        <Table
          label={t('costs.course')}
          rows={spent}
          rowKey={({ at }) => at}
          columns={[
            {
              head: t('time'),
              heading: true,
              cell: ({ at, offset, label, href }) =>
                href ? (
                  <a href={href}>{label}</a>
                ) : (
                  <>
                    <Time at={at} /> {offset}
                  </>
                ),
            },
            moneyColumn({
              head: t('costs.spent'),
              rows: spent,
              amount: ({ sum }) => amountOf(sum),
              currency: sheet.currency,
            }),
          ]}
        />
      </details>
    </div>
  )
}
