import {
  Failure,
  type ImaginedRequest,
  type PricedModel,
  type PriceList,
  type RequestExplanation,
  type TierPrice,
} from '../../kit/index.ts'
import { renderFrame } from './frame.ts'
import { type Fragment, type Html, html } from './html.ts'
import type { Language } from './language.ts'
import { type ImageModel, imageModels, renderSizes } from './sizes.ts'
import { renderTable } from './table.ts'
import { type Words, words } from './words.ts'

/** What the calculator was asked, as the address has it. */
export type Calculation = {
  readonly model: string
  readonly operation: string
  readonly size: string
  readonly n: string
}

export type PricingPage = {
  readonly language: Language
  readonly list: PriceList
  /** Undefined before anything was asked. */
  readonly calculation: Calculation | undefined
  /** @throws Failure the one that a caller would be answered with */
  readonly explain: (request: ImaginedRequest) => RequestExplanation
}

type Text = Words['pricing']

/** The public page of prices. It needs no script: the calculator is a form that is answered with this page. */
export function renderPricing(page: PricingPage): string {
  const { language, list, calculation } = page
  const text = words[language].pricing
  const drawn = imageModels(list.models)
  const used = list.models.filter(model => model.images === null || model.units.length > 0)
  const main = html`
    <h1>${text.title}</h1>
    <p class="lead">${text.lead(list.currency)}</p>
    ${list.models.length === 0 && html`<p>${text.nothing}</p>`}
    ${drawn.length > 0 && renderCalculator(page, text, drawn)}
    ${
      drawn.length > 0 &&
      html`<section aria-labelledby="images">
        <h2 id="images">${text.images}</h2>
        <p>${text.perImage}</p>
        ${drawn.map(model => renderImageModel(text, model, list.currency, language))}
      </section>`
    }
    ${used.length > 0 && renderUse(text, used, list.currency)}
    <p class="quiet"><a href="/api/pricing">${text.json}</a></p>`
  const { title, description } = text
  return renderFrame({
    language,
    title,
    description,
    path: '/pricing',
    ...(calculation && { query: calculation }),
    main,
  })
}

function renderCalculator(page: PricingPage, text: Text, models: readonly ImageModel[]): Html {
  const { calculation, language } = page
  const labels = [...new Set(models.flatMap(model => model.images.labels))]
  const sizes = [...new Set(models.flatMap(model => model.images.sizes.map(row => row.asked)))]
  const operations = [...new Set(models.flatMap(model => model.images.sizes.map(row => row.operation)))]
  const option = (value: string, chosen: string | undefined, name: string): Html =>
    html`<option value="${value}"${value === chosen && html` selected`}>${name}</option>`
  return html`
    <section class="card calculator" aria-labelledby="calculator">
      <h2 id="calculator">${text.calculator}</h2>
      <form action="/pricing#calculator" method="get">
        <input type="hidden" name="lang" value="${language}">
        <label>${text.model}
          <select name="model">${models.map(({ name }) => option(name, calculation?.model, name))}</select>
        </label>
        <label>${text.operation}
          <select name="operation">${operations.map(name => option(name, calculation?.operation, text.operations[name] ?? name))}</select>
        </label>
        <label>${text.size}
          <input name="size" value="${calculation?.size ?? '1024x1024'}" list="sizes" maxlength="40" autocomplete="off" aria-describedby="size-hint">
        </label>
        <label>${text.count}
          <input name="n" type="number" min="1" value="${calculation?.n ?? 1}" inputmode="numeric" required>
        </label>
        <button type="submit">${text.calculate}</button>
        <datalist id="sizes">${sizes.map(size => size !== null && html`<option value="${size}"></option>`)}</datalist>
        <p class="hint" id="size-hint">${text.sizeHint(labels)}</p>
      </form>
      ${calculation && renderResult(page, text, calculation)}
    </section>`
}

function renderResult({ explain, list }: PricingPage, text: Text, calculation: Calculation): Html {
  const { model, operation, size } = calculation
  if (!/^[1-9]\d{0,8}$/.test(calculation.n)) return html`<p class="result refused" role="alert">${text.countWrong}</p>`
  const n = Number(calculation.n)
  try {
    const explained = explain({ model, operation, size: size === '' ? undefined : size, quality: undefined, n })
    return renderQuote(text, explained, list.currency)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return html`<p class="result refused" role="alert">${text.refused} <span lang="en">${error.message}</span></p>`
  }
}

function renderQuote(text: Text, { quote, expected_size, mismatch }: RequestExplanation, currency: string): Html {
  if (!quote) return html`<p class="result">${text.undecided}</p>`
  const { n, tier, source, price, expected, at_most } = quote
  const sum =
    expected === null ? html`≤ ${at_most} ${currency}` : html`${n} × ${price} = <b>${expected}</b> ${currency}`
  return html`
    <div class="result" role="status">
      <p class="sum">${sum}</p>
      <p>${tier === null ? text.undecided : text.expected(tier, text.sources[source ?? ''] ?? '')}
        ${expected_size !== null && text.comesBack(expected_size)}
        ${expected !== at_most && text.atMost(`${at_most} ${currency}`)}</p>
      ${mismatch && html`<p class="warning">${text.mismatch(mismatch)}</p>`}
    </div>`
}

function renderImageModel(text: Text, model: ImageModel, currency: string, language: Language): Html {
  const { name, family, free, images, notes } = model
  const { tiers, tierFrom, otherwise } = images
  return html`
    <article class="card" aria-labelledby="m-${name}">
      <header><h3 id="m-${name}">${name}</h3><p class="quiet">${text.family(family)}</p></header>
      <p>${text.rule(tierFrom, otherwise)}</p>
      ${renderTable(
        name,
        [text.tier, text.longEdge, text.pricePerImage, text.remark],
        tiers.map((tier, i) => [
          html`<b>${tier.tier}</b>`,
          writeEdges(text, tier, tiers[i - 1]),
          free ? text.free : html`<span class="money">${tier.price} ${currency}</span>`,
          tier.reach.kind !== 'yes' && text[tier.reach.kind](tier.reach.edge),
        ]),
      )}
      ${images.sizes.length > 0 && html`<h4>${text.sizes}</h4>${renderSizes(text, model, currency)}`}
      ${notes[language].length > 0 && html`<h4>${text.notes}</h4><ul>${notes[language].map(note => html`<li>${note}</li>`)}</ul>`}
    </article>`
}

function writeEdges({ edges }: Text, { longEdgeMax }: TierPrice, before: TierPrice | undefined): string {
  const from = (before?.longEdgeMax ?? 0) + 1
  if (longEdgeMax === null) return before ? edges.last(from) : edges.all
  return before ? edges.middle(from, longEdgeMax) : edges.first(longEdgeMax)
}

function renderUse(text: Text, models: readonly PricedModel[], currency: string): Html {
  const rows = models.flatMap(({ name, units, free }): readonly (readonly Fragment[])[] => {
    const heading = html`<b>${name}</b>`
    if (free || units.length === 0) return [[heading, null, text.free, null]]
    return units.map(({ unit, price }) => [
      heading,
      text.units[unit] ?? unit,
      html`<span class="money">${price} ${currency}</span>`,
      text.per[unit],
    ])
  })
  return html`
    <section aria-labelledby="use">
      <h2 id="use">${text.use}</h2>
      <p>${text.useLead}</p>
      ${renderTable(text.use, [text.model, text.unit, text.price, ''], rows)}
    </section>`
}
