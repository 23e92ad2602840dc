import type { UnitName } from '../../domain/index.ts'
import type { Cell } from './price-grid.ts'

/** The meaning of a price field of LiteLLM's table. */
export type PriceField = { readonly unit: UnitName; readonly cell: Cell }

/** Fields without their conditions. LiteLLM's prices are per token, the gateway's per million tokens. */
const unitsOfFields: { readonly [field: string]: UnitName } = {
  input_cost_per_token: 'input',
  input_cost_per_audio_token: 'input_audio',
  input_cost_per_image_token: 'input_image',
  input_cost_per_video_token: 'input_video',
  cache_read_input_token_cost: 'cached_input',
  input_cost_per_token_cache_hit: 'cached_input',
  cache_read_input_audio_token_cost: 'cached_input_audio',
  cache_read_input_image_token_cost: 'cached_input_image',
  cache_creation_input_token_cost: 'cache_write',
  cache_creation_input_token_cost_above_1hr: 'cache_write_1h',
  cache_creation_input_token_cost_above_12hr: 'cache_write_1h',
  output_cost_per_token: 'output',
  output_cost_per_reasoning_token: 'reasoning',
  output_cost_per_audio_token: 'output_audio',
  output_cost_per_image_token: 'output_image',
}

/** Endings of fields, with the service tier in answers. */
const tiersOfFields: { readonly [ending: string]: string } = {
  priority: 'priority',
  flex: 'flex',
  batches: 'batch',
  ultrafast: 'ultrafast',
  balanced: 'balanced',
}
const fieldText = /^(.+?)(?:_above_(\d+)(k?)_tokens)?(?:_(priority|flex|batches|ultrafast|balanced))?$/

/** Undefined if the field is not a price of tokens. */
export function readTokenField(name: string): PriceField | undefined {
  const [, base = '', size, thousands, tier] = fieldText.exec(name) ?? []
  const unit = Object.hasOwn(unitsOfFields, base) ? unitsOfFields[base] : undefined
  if (!unit) return undefined
  const above = size === undefined ? undefined : Number(size) * (thousands === 'k' ? 1000 : 1)
  return {
    unit,
    cell: { ...(tier !== undefined && { tier: tiersOfFields[tier] }), ...(above !== undefined && { above }) },
  }
}

/** Whether a field is a price, by its name. */
export const isPrice: RegExp = /(?:^|_)(?:cost|price|pricing|uplift|multiplier)(?:_|$)/

/**
 * Fields that repeat the listed fields in another form: an image or a second as a number of tokens, or its usual size.
 */
const restated: { readonly [field: string]: readonly string[] } = {
  output_cost_per_image: ['output_cost_per_image_token', 'output_cost_per_image_1K', 'output_cost_per_image_2K'],
  input_cost_per_image: ['input_cost_per_image_token', 'output_cost_per_image_token'],
  output_cost_per_second: ['output_cost_per_audio_token', 'output_cost_per_token'],
  input_cost_per_second: ['input_cost_per_audio_token', 'input_cost_per_token'],
  cost_per_second: ['input_cost_per_second'],
  // Prices in the units of one vendor, which also lists them in money.
  input_dbu_cost_per_token: ['input_cost_per_token'],
  output_dbu_cost_per_token: ['output_cost_per_token'],
}

/** Whether a field repeats others that are already charged. */
export function isRestated(name: string, charged: ReadonlySet<string>): boolean {
  return Object.hasOwn(restated, name) && (restated[name] ?? []).some(field => charged.has(field))
}

/** Whether a price is for an API that no request can use here, because there is no route for it. */
export function isUnreachable(name: string): boolean {
  return name.endsWith('_decisions')
}
