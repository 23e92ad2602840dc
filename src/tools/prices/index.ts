import { readLitellmTable } from './litellm-table.ts'
import { readNewApiRatios } from './new-api-ratios.ts'
import { readOpenrouterTable } from './openrouter-table.ts'
import type { SourceTable } from './source-table.ts'

export { multiply, readDecimal, shiftPoint, toDecimal, toPrice, withoutNoise } from './decimals.ts'
export { parseExact, type SourceTable, withoutUndercharging } from './source-table.ts'
export { isPrice } from './litellm-fields.ts'
export { readLitellmPrices, readLitellmTable } from './litellm-table.ts'
export { ratioMapsOf, readNewApiRatios } from './new-api-ratios.ts'

export const priceSources = ['litellm', 'openrouter', 'new-api'] as const

export type PriceSource = (typeof priceSources)[number]

/** An example of each source, for messages. */
export const tableExamples: { readonly [source in PriceSource]: string } = {
  litellm: 'model_prices_and_context_window.json',
  openrouter: 'a response of /api/v1/models',
  'new-api': 'its options, or a response of /api/pricing or /api/ratio_config, with 500000 quota per USD',
}

const readers: { readonly [source in PriceSource]: (text: string) => SourceTable | undefined } = {
  litellm: readLitellmTable,
  openrouter: readOpenrouterTable,
  'new-api': text => readNewApiRatios(text),
}

/** Reads a foreign table; undefined if the text is not one. */
export function readSourceTable(from: PriceSource, text: string): SourceTable | undefined {
  return readers[from](text)
}
