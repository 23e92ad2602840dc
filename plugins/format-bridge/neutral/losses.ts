/**
 * The features that an adapter may lose. `refuse`: a feature that would change the meaning or the price of the result.
 * `drop`: a hint. A model's `on_loss` overrides this for all of them.
 */
export const losses = {
  n: 'refuse',
  stop: 'refuse',
  service_tier: 'refuse',
  state: 'refuse',
  media: 'refuse',
  media_link: 'refuse',
  vendor_file: 'refuse',
  output_modality: 'refuse',
  hosted_tool: 'refuse',
  output_schema: 'refuse',
  json_output: 'refuse',
  tool_choice: 'refuse',
  logprobs: 'refuse',
  prefill: 'refuse',
  cached_content: 'refuse',
  call_arguments: 'refuse',
  unknown_part: 'refuse',
  result_media: 'refuse',
  token_ids: 'refuse',
  embedding_task: 'refuse',
  sound_format: 'refuse',
  sound_events: 'refuse',
  transcript_format: 'refuse',
  transcript_events: 'refuse',
  parallel_calls: 'drop',
  web_search: 'drop',
  tool_search: 'drop',
  past_search: 'drop',
  sampling: 'drop',
  top_k: 'drop',
  seed: 'drop',
  penalties: 'drop',
  logit_bias: 'drop',
  verbosity: 'drop',
  speaking_style: 'drop',
  spelling_hint: 'drop',
  transcript_segments: 'drop',
  reasoning: 'drop',
  thought: 'drop',
  cache_hint: 'drop',
  cache_key: 'drop',
  detail: 'drop',
  speaker_name: 'drop',
  media_name: 'drop',
  citations: 'drop',
  grammar: 'drop',
  strict: 'drop',
  user: 'drop',
  metadata: 'drop',
  safety: 'drop',
  unknown_field: 'drop',
} as const satisfies { readonly [feature: string]: 'refuse' | 'drop' }

/** A feature that one of the formats supports and another does not. */
export type Feature = keyof typeof losses

/**
 * One feature of a request that does not reach the upstream. Parsers set the client's field: `messages[2].content[0]`.
 * Writers do not know it; the plugin then uses `says` of the client's adapter.
 */
export type Loss = { readonly feature: Feature; readonly field?: string }
