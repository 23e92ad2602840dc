import type { VNode } from 'preact'
import { renderToString } from 'preact-render-to-string'
import type { Pages } from '../../admin/pages/page-data.ts'
import type { PriceList } from '../../domain/price-list.ts'
import { onceFor } from '../../util/once-for.ts'
import type { Language } from '../words/index.ts'
import { partsOfPrices, pricesPlace, Pricing } from './pricing.tsx'
import { Reference } from './reference.tsx'
import { setPageLanguage } from './words.ts'

// The server loads this from the build: pages without a required script, rendered from the console's parts.

/** Characters that reverse or hide text, so that a name with them could imitate another. */
const invisible = /(?![\n\t])[\p{Cc}\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu

/** The rendered prices of a list in each language, which take most of the page's time. */
const written = new WeakMap<PriceList, Map<Language, Promise<string>>>()

function writePrices(list: PriceList, language: Language, pause: () => Promise<unknown>): Promise<string> {
  let ofList = written.get(list)
  if (!ofList) written.set(list, (ofList = new Map()))
  return onceFor(ofList, language, () => writeParts(list, language, pause))
}

async function writeParts(list: PriceList, language: Language, pause: () => Promise<unknown>): Promise<string> {
  const texts: string[] = []
  for (const part of partsOfPrices(list)) {
    await pause()
    // Another page may have been rendered since the last step.
    setPageLanguage(language)
    texts.push(typeof part === 'string' ? part : write(part()))
  }
  return texts.join('')
}

function write(node: VNode): string {
  return renderToString(node).replaceAll(invisible, '\ufffd')
}

function writeDocument(page: VNode): string {
  return `<!doctype html>\n${write(page)}\n`
}

/** The public price page. The calculator is a form with its result on the same page. */
export const renderPricing: Pages['renderPricing'] = async (page, pause) => {
  const prices = await writePrices(page.list, page.language, pause)
  setPageLanguage(page.language)
  const [before, after] = writeDocument(<Pricing of={page} />).split(pricesPlace)
  return [before, after].join(prices)
}

/** The public API reference, from the same document as `/openapi.json`. */
export const renderDocs: Pages['renderDocs'] = page => {
  setPageLanguage(page.language)
  return writeDocument(<Reference of={page} />)
}
