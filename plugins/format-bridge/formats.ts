import type { Model } from '../../src/plugin-api/index.ts'
import { chat } from './chat/index.ts'
import { generate } from './generate/index.ts'
import { messages } from './messages/index.ts'
import { type Adapter, optional } from './neutral/index.ts'
import { responses } from './responses/index.ts'

/** The formats, in order of preference if an upstream supports several. */
const adapters: readonly Adapter[] = [chat, responses, messages, generate]

export const formatNames: readonly string[] = adapters.map(({ operation }) => operation)

type Counting = { readonly operation: string; readonly member: string; readonly wrapper?: string }

/**
 * Operations that count the tokens of a request, with the format of that request. `wrapper`: the member that may
 * contain the complete request.
 */
const counting: ReadonlyMap<string, Counting> = new Map([
  ['messages.count', { operation: 'messages', member: 'input_tokens' }],
  ['responses.tokens', { operation: 'responses', member: 'input_tokens' }],
  ['generate.count', { operation: 'generate', member: 'totalTokens', wrapper: 'generateContentRequest' }],
])

export function adapterOf(operation: string): Adapter | undefined {
  return adapters.find(one => one.operation === operation)
}

type ClientFormat = { readonly adapter: Adapter; readonly counts?: string; readonly wrapper?: string }

/** The format of a client's request; `counts` is the member of the answer for requests that only count tokens. */
export function clientFormat(operation: string): ClientFormat | undefined {
  const count = counting.get(operation)
  const adapter = adapterOf(count?.operation ?? operation)
  return adapter && { adapter, ...(count && { counts: count.member, ...optional('wrapper', count.wrapper) }) }
}

/** Whether requests of an operation are translated for the model. */
export function isTranslated({ family: { forward }, accepts }: Model, operation: string): boolean {
  if (forward.size === 0 || forward.has(operation)) return false
  const format = clientFormat(operation)
  return format !== undefined && accepts?.has(format.adapter.operation) === true
}

/**
 * The format in which the gateway calls a model's upstream: `wanted`, or the first that the model's family forwards.
 */
export function upstreamFormat({ family }: Pick<Model, 'family'>, wanted: string | undefined): Adapter | undefined {
  const own = adapters.filter(({ operation }) => family.forward.has(operation))
  return own.find(({ operation }) => operation === wanted) ?? own[0]
}
