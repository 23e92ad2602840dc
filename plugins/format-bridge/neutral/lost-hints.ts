import type { Conversation } from './conversation.ts'
import type { Feature, Loss } from './losses.ts'

/** Features for which a format may have no field. Excludes those that depend on a value or the model. */
const hints: readonly (readonly [feature: Feature, isIn: (conversation: Conversation) => boolean])[] = [
  ['top_k', ({ sampling }) => sampling.topK !== undefined],
  ['seed', ({ sampling }) => sampling.seed !== undefined],
  ['logit_bias', ({ sampling }) => sampling.logitBias !== undefined],
  ['logprobs', ({ logprobs }) => logprobs !== undefined],
  ['stop', ({ stop = [] }) => stop.length > 0],
  ['verbosity', ({ verbosity }) => verbosity !== undefined],
  ['cache_key', ({ cacheKey }) => cacheKey !== undefined],
  ['user', ({ user }) => user !== undefined],
  ['parallel_calls', ({ parallelCalls, tools }) => parallelCalls === false && tools.length > 0],
  ['prefill', ({ turns }) => turns.at(-1)?.role === 'assistant'],
  ['speaker_name', ({ turns }) => turns.some(({ name }) => name !== undefined)],
  ['cache_hint', ({ turns }) => turns.some(({ parts }) => parts.some(part => 'cache' in part && part.cache))],
]

/** The hints of a conversation that a format does not support. */
export function lostHints(conversation: Conversation, carries: ReadonlySet<Feature>): readonly Loss[] {
  return hints.flatMap(([feature, isIn]) => (carries.has(feature) || !isIn(conversation) ? [] : [{ feature }]))
}
