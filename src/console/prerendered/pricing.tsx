import type { VNode } from 'preact'
import type { PricingPage } from '../../admin/pages/page-data.ts'
import type { PricedModel, PriceList } from '../../domain/price-list.ts'
import type { PriceConditions } from '../../domain/usage.ts'
import { Empty } from '../kit/empty.tsx'
import { Money } from '../kit/money.tsx'
import { Notes } from '../kit/notes.tsx'
import { type Column, isShown, Table, TableHead, TableRows } from '../kit/table.tsx'
import { tConditions } from '../words/condition.ts'
import { tEdge } from '../words/edge.ts'
import { language, tName } from '../words/index.ts'
import { Calculator } from './calculator.tsx'
import { Document } from './document.tsx'
import { type ImageModel, imageModels, tRule } from './image-models.ts'
import { Sizes } from './sizes.tsx'
import { t } from './words.ts'

/** The place of the prices in the page: they are rendered once, because only the calculator's result differs. */
export const pricesPlace = '<!--prices-->'

export function Pricing({ of }: { readonly of: PricingPage }) {
  const { list, calculation } = of
  const drawn = imageModels(list.models)
  return (
    <Document
      title={t('nav.pricing')}
      description={t('pricing.description')}
      path="/pricing"
      {...(calculation && { query: queryOf(calculation.request) })}
    >
      <h1>{t('nav.pricing')}</h1>
      <p class="lead">{t('pricing.lead', { currency: list.currency })}</p>
      {drawn.length > 0 && <Calculator models={drawn} currency={list.currency} calculation={calculation} />}
      <div class="chapters" dangerouslySetInnerHTML={{ __html: pricesPlace }} />
    </Document>
  )
}

/** The calculator's inputs as parameters of the address. */
function queryOf({ fields, ...params }: NonNullable<PricingPage['calculation']>['request']) {
  const named = Object.entries(fields).map(([name, value]) => [`field.${name}`, value] as const)
  return { ...params, ...Object.fromEntries(named) }
}

/** A part of the prices: text as it is, or a node that is created in the language of its step. */
type Part = string | (() => VNode)

/** The number of rows that are rendered in one step. */
const together = 50

/** All prices: per image, and by use. */
export function* partsOfPrices({ currency, models }: PriceList): Generator<Part> {
  const drawn = imageModels(models)
  const used = models.filter(model => model.images === null || model.units.length > 0)
  if (models.length === 0) yield () => <Empty title={t('pricing.nothing')} />
  if (drawn.length > 0) {
    yield '<section class="chapter" aria-labelledby="images">'
    yield () => (
      <>
        <h2 id="images">{t('pricing.images')}</h2>
        <p>{t(drawn.every(isPlain) ? 'pricing.images.text' : 'pricing.images.more')}</p>
      </>
    )
    for (const model of drawn) yield () => <ImagePrices of={model} currency={currency} />
    yield '</section>'
  }
  if (used.length > 0) yield* partsOfUses(used, currency)
  yield () => (
    <p>
      <a href="/api/pricing">{t('pricing.json')}</a>
    </p>
  )
}

/** Whether a model's images have only the price of their long edge's tier. */
function isPlain({ images: { beside: extraLines, by, tiers } }: ImageModel): boolean {
  return !extraLines && !by && tiers.every(({ pixelsMax }) => pixelsMax === undefined)
}

type Tier = ImageModel['images']['tiers'][number]

function ImagePrices({ of, currency }: { readonly of: ImageModel; readonly currency: string }) {
  const { name, family, free, images, notes } = of
  const largest = Math.max(0, ...images.tiers.map(({ longEdgeMax }) => longEdgeMax ?? 0))
  const mostPixels = Math.max(0, ...images.tiers.map(({ pixelsMax }) => pixelsMax ?? 0))
  const bound: Column<Tier> =
    mostPixels > 0
      ? { head: t('bill.pixels'), cell: ({ pixelsMax }) => tEdge(pixelsMax ?? null, mostPixels) }
      : { head: t('bill.edge'), cell: ({ longEdgeMax }) => tEdge(longEdgeMax, largest) }
  const columns: readonly Column<Tier>[] = [
    {
      head: images.by ? images.by.join(' · ') || t('pricing.name') : t('label.tier'),
      heading: true,
      cell: ({ tier }) => tier,
    },
    ...(images.by ? [] : [bound]),
    {
      head: t('pricing.each'),
      cell: ({ price }) => (free ? t('free') : <Money exact amount={price} currency={currency} />),
    },
    {
      head: t('pricing.remark'),
      wide: true,
      sparse: true,
      cell: ({ reach }) => reach.kind !== 'yes' && reach.reason[language.value],
    },
  ]
  return (
    <article class="card" aria-labelledby={`m-${name}`}>
      <header class="inline">
        <h3 id={`m-${name}`}>{name}</h3>
        <span class="quiet">{t('pricing.family', { name: family })}</span>
      </header>
      <p>{tRule(images)}</p>
      <Table label={name} columns={columns} rows={images.tiers} rowKey={({ tier }) => tier} />
      {images.times?.map(({ when, by }) => (
        <p key={when}>{t('pricing.times', { by, when })}</p>
      ))}
      {images.beside && <ExtraLines rows={images.beside} currency={currency} />}
      {images.sizes.some(({ asked }) => asked !== null) && (
        <>
          <h4>{t('pricing.sizes')}</h4>
          <Sizes of={of} currency={currency} />
        </>
      )}
      {notes[language.value].length > 0 && (
        <>
          <h4>{t('models.notes')}</h4>
          <Notes of={notes} />
        </>
      )}
    </article>
  )
}

type ExtraLine = NonNullable<ImageModel['images']['beside']>[number]

/** Charges in addition to images. */
function ExtraLines({ rows, currency }: { readonly rows: readonly ExtraLine[]; readonly currency: string }) {
  const columns: readonly Column<ExtraLine>[] = [
    { head: t('pricing.name'), heading: true, cell: ({ name }) => name },
    { head: t('pricing.count'), cell: ({ per }) => t(`pricing.per.${per}`) },
    { head: t('pricing.when'), cell: ({ once }) => t(once ? 'pricing.once' : 'pricing.each.image') },
    { head: t('price'), cell: ({ price }) => <Money exact amount={price} currency={currency} /> },
  ]
  return (
    <>
      <h4>{t('pricing.beside')}</h4>
      <Table label={t('pricing.beside')} columns={columns} rows={rows} rowKey={({ name }) => name} />
    </>
  )
}

/** One row of the table: the prices of a model, or those that apply under a condition. */
type Use = {
  readonly model: string
  readonly when?: PriceConditions
  readonly prices: PricedModel['units']
  /** A factor for token prices. */
  readonly by?: string
  readonly free?: true
}

/** Units with their own column; all others share one. */
const mainUnits = ['input', 'cached_input', 'output'] as const

function usesOf({ name: model, units, overrides, times, free }: PricedModel): readonly Use[] {
  if (free || units.length === 0) return [{ model, prices: [], free: true }]
  return [
    { model, prices: units },
    ...overrides.map(one => ({ model, prices: one.units, when: one.if })),
    ...times.map(one => ({ model, prices: [], by: one.by, when: one.if })),
  ]
}

function* partsOfUses(models: readonly PricedModel[], currency: string): Generator<Part> {
  const rows = models.flatMap(usesOf)
  const shown = columnsOfUses(currency).map(column => isShown(column, rows))
  // In the language of each step.
  const columns = () => columnsOfUses(currency).filter((_, i) => shown[i])
  yield '<section class="chapter" aria-labelledby="use">'
  yield () => (
    <>
      <h2 id="use">{t('pricing.use')}</h2>
      <p>{t('pricing.use.text')}</p>
      {rows.some(({ when }) => when) && <p>{t('pricing.use.overrides')}</p>}
    </>
  )
  yield '<div class="sheet"><table class="table" role="table" aria-labelledby="use">'
  yield () => <TableHead columns={columns()} />
  for (let at = 0; at < rows.length; at += together)
    yield () => (
      <TableRows
        columns={columns()}
        rows={rows.slice(at, at + together)}
        rowKey={({ model, when, by }) => `${model} ${JSON.stringify(when)} ${by ?? ''}`}
      />
    )
  yield '</table></div></section>'
}

function columnsOfUses(currency: string): readonly Column<Use>[] {
  return [
    { head: t('model'), heading: true, wide: true, cell: ({ model }) => model },
    { head: t('pricing.use.when'), sparse: true, wide: true, cell: ({ when }) => when && tConditions(when) },
    ...mainUnits.map(unit => ({
      head: tName('unit', unit),
      sparse: true,
      numeric: true,
      cell: ({ prices }: Use) => {
        const found = prices.find(one => one.unit === unit)
        return found && <Money exact amount={found.price} currency={currency} per={found.per} />
      },
    })),
    {
      head: t('pricing.use.other'),
      sparse: true,
      cell: use => {
        if (use.free) return t('free')
        if (use.by !== undefined) return `${t('price.factor')} × ${use.by}`
        return otherPrices(use, currency)
      },
    },
  ]
}

/** Prices of units without a column; nothing if there are none. */
function otherPrices({ prices }: Use, currency: string) {
  const others = prices.filter(({ unit }) => !mainUnits.some(one => one === unit))
  if (others.length === 0) return null
  return (
    <ul class="bare">
      {others.map(({ unit, price, per }) => (
        <li key={unit}>
          {tName('unit', unit)} <Money exact amount={price} currency={currency} per={per} />
        </li>
      ))}
    </ul>
  )
}
