import type { Json } from '../../../src/plugin-api/index.ts'
import { type AnswerUsage, asNumber, asObject, compact, type JsonObject, valueAt } from '../neutral/index.ts'

/** The usage of chat completions or responses, with the same numbers as the charge. */
export function parseUsage(usage: Json | undefined): AnswerUsage | undefined {
  const own = asObject(usage)
  if (!own) return undefined
  const read = own['prompt_tokens_details'] ?? own['input_tokens_details']
  const made = own['completion_tokens_details'] ?? own['output_tokens_details']
  const input = asNumber(own['prompt_tokens']) ?? asNumber(own['input_tokens']) ?? 0
  const reasoning = asNumber(valueAt(made, 'reasoning_tokens')) ?? asNumber(own['reasoning_tokens'])
  return compact({
    input,
    output: outputOf(own, input, reasoning ?? 0),
    cacheRead:
      asNumber(valueAt(read, 'cached_tokens')) ??
      asNumber(own['prompt_cache_hit_tokens']) ??
      asNumber(own['cached_tokens']),
    cacheWrite5m: asNumber(valueAt(read, 'cache_write_tokens')) ?? asNumber(valueAt(read, 'cache_creation_tokens')),
    inputAudio: asNumber(valueAt(read, 'audio_tokens')),
    reasoning,
    outputAudio: asNumber(valueAt(made, 'audio_tokens')),
  }) as AnswerUsage
}

/** Some vendors count reasoning only in the total, and not in the completion. */
function outputOf(usage: JsonObject, input: number, reasoning: number): number {
  const completion = asNumber(usage['completion_tokens']) ?? asNumber(usage['output_tokens']) ?? 0
  const total = asNumber(usage['total_tokens'])
  if (total === undefined) return reasoning > completion ? completion + reasoning : completion
  return Math.max(completion, total - input)
}
