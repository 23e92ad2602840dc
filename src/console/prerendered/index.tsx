import type { VNode } from 'preact'
import { renderToString } from 'preact-render-to-string'
import type { Pages } from '../../admin/pages/page-data.ts'
import type { PriceList } from '../../domain/price-list.ts'
import type { Language } from '../words/index.ts'
import { Prices, Pricing } from './pricing.tsx'
import { Reference } from './reference.tsx'
import { setPageLanguage } from './words.ts'

// The server loads this from the build: pages without a required script, rendered from the console's parts.

/** Characters that reverse or hide text, so that a name with them could imitate another. */
const invisible = /(?![\n\t])[\p{Cc}\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu

/** The rendered prices of a list in each language, which take most of the page's time. */
const written = new WeakMap<PriceList, Map<Language, string>>()

function writePrices(list: PriceList, language: Language): string {
  let ofList = written.get(list)
  if (!ofList) written.set(list, (ofList = new Map()))
  let prices = ofList.get(language)
  if (prices === undefined) ofList.set(language, (prices = renderToString(<Prices of={list} />)))
  return prices
}

function writeDocument(page: VNode): string {
  return `<!doctype html>\n${renderToString(page).replaceAll(invisible, '\ufffd')}\n`
}

/** The public price page. The calculator is a form with its result on the same page. */
export const renderPricing: Pages['renderPricing'] = page => {
  setPageLanguage(page.language)
  return writeDocument(<Pricing of={page} prices={writePrices(page.list, page.language)} />)
}

/** The public API reference, from the same document as `/openapi.json`. */
export const renderDocs: Pages['renderDocs'] = page => {
  setPageLanguage(page.language)
  return writeDocument(<Reference of={page} />)
}
