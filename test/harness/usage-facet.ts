import type { UsageFacet } from '../../plugins/token-usage/schema.ts'

/**
 * The section `token-usage` of a family whose only setting is that its streams report usage without a request for it.
 */
export const usageFacet: UsageFacet = {
  include_usage: false,
  free_operations: [],
  beside_images: 'bill',
  image_tools: 'refuse',
  missing_usage: 'estimate',
  on_caller_gone: 'estimate',
  unseen_tokens_max: 1_000_000,
  estimate: { bytes_per_token: 4, file_tokens: 1500, output_tokens: 4096, calls: 10 },
  unpriced: 'parent',
}
