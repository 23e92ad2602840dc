import {
  aliasesOf,
  type Body,
  type CompiledConfig,
  defineSlot,
  type Host,
  type Json,
  parseDuration,
  readField,
  type RequestContext,
  withFields,
} from '../../../src/plugin-api/index.ts'
import { ByteBudget, type ByteClaim } from '../../../src/wire/index.ts'
import { clientFormat, isTranslated } from '../formats.ts'
import { asList, type WriteFacts } from '../neutral/index.ts'
import type { BridgeOptions } from '../schema.ts'
import { TextCipher } from './cipher.ts'
import { ResponseStore } from './response-store.ts'

export { answerStored } from './answer-stored.ts'
export { StoreStage } from './store-stage.ts'
export type { ResponseStore } from './response-store.ts'

/** The fields of a request that concern stored responses. `input` is its own, without the earlier conversation. */
export type RequestedState = NonNullable<WriteFacts['state']> & { readonly input: readonly Json[] }

export const stateSlot = defineSlot<RequestedState>('format-bridge.state')

/** The memory of the request's conversation, which is freed at every end of the request. */
export const conversationSlot = defineSlot<ByteClaim>('format-bridge.conversation')

export function createResponseStore({ responses }: BridgeOptions, host: Host): ResponseStore | undefined {
  if (!responses) return undefined
  const cipher = new TextCipher([responses.secret, ...responses.old_secrets], host.random)
  const budget = host.keep('conversations', () => new ByteBudget())
  return new ResponseStore(host, cipher, parseDuration(responses.keep) as number, budget)
}

/**
 * The request with its complete conversation as input, for a model whose upstream does not store any. All later steps,
 * including a fallback to the client's own format, get a request without references.
 * @throws Failure of the store
 */
export async function withConversation(
  context: RequestContext,
  body: Body,
  plan: CompiledConfig,
  store: ResponseStore,
): Promise<Body> {
  const format = clientFormat(context.route.operation)
  if (!format?.adapter.hasState || body.kind !== 'json') return body
  const name = readField(body, 'model')
  const model = typeof name === 'string' ? plan.models.get(aliasesOf(context)?.get(name) ?? name) : undefined
  if (!model || !isTranslated(model, context.route.operation)) return body
  const given = readField(body, 'input')
  // The parser refuses any other value; it would be lost if it were appended as a list.
  if (given !== undefined && given !== null && typeof given !== 'string' && !Array.isArray(given)) return body
  const input = typeof given === 'string' ? [{ type: 'message', role: 'user', content: given }] : asList(given)
  const previous = readField(body, 'previous_response_id')
  const before = typeof previous === 'string' && previous !== '' ? previous : null
  const isStored = format.counts === undefined && readField(body, 'store') !== false
  context.slots.put(stateSlot, { before, isStored, input })
  if (before === null) return body
  const memory = store.claim(context.payer, plan.server.memoryBytesMax)
  context.slots.put(conversationSlot, memory)
  const known = await store.conversation(context.payer, before, memory)
  return withFields(
    body,
    new Map<string, Json | undefined>([
      ['previous_response_id', undefined],
      ['input', [...known, ...input]],
    ]),
  )
}
