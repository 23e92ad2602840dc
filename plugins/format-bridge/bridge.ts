import { createHash } from 'node:crypto'
import {
  type Body,
  type Model,
  readField,
  type RerouteAsk,
  type Rerouted,
  withFields,
} from '../../src/plugin-api/index.ts'
import { withCacheMarks } from './cache-marks.ts'
import { fail } from './errors.ts'
import { clientFormat, isTranslated, upstreamFormat } from './formats.ts'
import { withoutFreeform } from './freeform.ts'
import { checkLosses } from './check-losses.ts'
import {
  type Adapter,
  asObject,
  type Conversation,
  type Loss,
  type UpstreamFacts,
  withSafeNames,
} from './neutral/index.ts'
import { readRequest } from './read-request.ts'
import type { BridgeFacet } from './schema.ts'

/** A translated request, with the data that its answer needs. */
export type Bridge = {
  readonly kind: 'conversation'
  readonly client: Adapter
  readonly upstream: Adapter
  /** The client's request. */
  readonly conversation: Conversation
  /** The clients' tool names, by the names that were sent. */
  readonly names: ReadonlyMap<string, string>
  /** Tools whose calls contain text for the client, by the clients' names. */
  readonly freeform: ReadonlySet<string>
  readonly issuer: string
  /** If the client only counts tokens: the member of the answer with the count. */
  readonly counts?: string
  readonly dropped: readonly string[]
}

/** Fields that the gateway itself handles if it stores responses, so that no upstream gets them. */
const stateOfGateway = new Map([
  ['store', undefined],
  ['previous_response_id', undefined],
])

/**
 * The request in the upstream's format; undefined if the model accepts it unchanged.
 * @param keepsState whether the gateway stores responses at the client's request @throws Failure
 */
export function translateRequest(
  ask: RerouteAsk,
  facet: BridgeFacet,
  keepsState = false,
): { readonly rerouted: Rerouted; readonly bridge: Bridge } | undefined {
  const { operation, model, body } = ask
  const format = clientFormat(operation)
  if (!format || body.kind !== 'json' || !isTranslated(model, operation)) return undefined
  const client = format.adapter
  const upstream = upstreamFormat(model, facet.upstream_format)
  if (!upstream) return undefined
  const issuer = issuerOf(model)
  const isStream = format.counts === undefined && (ask.stream ?? wantsStream(body))
  const conversation = readRequest(keepsState ? withFields(body, stateOfGateway) : body, value =>
    client.parseRequest({
      body: (format.wrapper && asObject(value[format.wrapper])) || value,
      stream: isStream,
      issuer: 'client',
    }),
  )
  const plain = upstream.carries.has('grammar') ? conversation : withoutFreeform(conversation)
  const { conversation: safe, names } = withSafeNames(plain)
  const isMarked = facet.prompt_cache === 'auto' && upstream.writesCacheMarks === true && format.counts === undefined
  const written = upstream.writeRequest(isMarked ? withCacheMarks(safe) : safe, factsOf(ask, facet, issuer))
  const lost = [...withoutNeed(conversation), ...lossOfAll(conversation), ...written.losses]
  const own = [...model.family.forward.keys()].find(name => clientFormat(name)) ?? ''
  const dropped = checkLosses(lost, { model, says: client.says, format: own })
  const bytes = Buffer.from(JSON.stringify(written.body))
  const rerouted: Rerouted = {
    operation: upstream.operation,
    body: { kind: 'json', json: ask.parseObject(bytes) },
    stream: isStream,
    query: upstream.query?.(isStream) ?? '',
    dropped,
  }
  const freeform = new Set(conversation.tools.filter(tool => tool.freeform).map(tool => tool.name))
  const counts = format.counts === undefined ? {} : { counts: format.counts }
  return {
    rerouted,
    bridge: { kind: 'conversation', client, upstream, conversation, names, freeform, issuer, dropped, ...counts },
  }
}

/**
 * The same as for untranslated requests, because a client that expects events reads anything else as an empty answer.
 */
function wantsStream(body: Body): boolean {
  const value = readField(body, 'stream') ?? false
  if (typeof value === 'boolean') return value
  throw fail('untranslatable_request', { field: 'stream', expected: 'a boolean' }, { param: 'stream' })
}

/**
 * Coding agents include a web search with their own tools in every request, but work without it. A request without
 * another tool, or with a required call, needs the search.
 */
function withoutNeed({ losses, tools, toolChoice }: Conversation): readonly Loss[] {
  const isForced =
    toolChoice?.kind === 'required' ||
    toolChoice?.kind === 'tool' ||
    (toolChoice?.kind === 'allowed' && toolChoice.isRequired)
  if (tools.length > 0 && !isForced) return losses
  return losses.map(loss => (loss.feature === 'web_search' ? { ...loss, feature: 'hosted_tool' } : loss))
}

/** More than one answer costs more, and only one format supports that. */
function lossOfAll({ n }: Conversation): readonly Loss[] {
  return n !== undefined && n !== 1 ? [{ feature: 'n' }] : []
}

function factsOf({ model }: RerouteAsk, facet: BridgeFacet, issuer: string): UpstreamFacts {
  const { max_tokens, reasoning, efforts, sampling, links, limit_field } = facet
  return {
    // The engine replaces this name with the upstream's.
    model: model.name,
    issuer,
    maxTokens: max_tokens,
    reasoning,
    efforts,
    sampling,
    links,
    limitField: limit_field,
  }
}

const issuers = new WeakMap<Model, string>()

/** The issuer of seals for one model at one set of upstreams. It contains no name, because clients see it. */
function issuerOf(model: Model): string {
  let issuer = issuers.get(model)
  if (issuer === undefined) {
    const at = model.upstreams.map(({ upstream }) => upstream.name).join()
    issuer = createHash('sha256').update(`${model.name}\n${at}`).digest('base64url').slice(0, 12)
    issuers.set(model, issuer)
  }
  return issuer
}
