import {
  type Answer,
  callerSlot,
  configuredModels,
  definePlugin,
  defineSlot,
  type Failure,
  type Host,
  imageRefusalSlot,
  type Reply,
  type RequestContext,
  type RerouteAsk,
  type Rerouted,
  withoutLength,
} from '../../src/plugin-api/index.ts'
import { ByteBudget } from '../../src/wire/index.ts'
import {
  ErrorStage,
  HeldAnswer,
  heldSlot,
  StreamStage,
  turnAnswer,
  type Turning,
  type TurningError,
  WholeStage,
} from './answer-stages.ts'
import { type Bridge, translateRequest } from './bridge.ts'
import { type Embedding, translateEmbedding, turnVectors } from './embeddings/index.ts'
import { estimateInput } from './estimate.ts'
import { fail } from './errors.ts'
import { inspect } from './inspect.ts'
import { withoutTranslatedThoughts } from './drop-translated-thoughts.ts'
import {
  answerStored,
  createResponseStore,
  StoreStage,
  type ResponseStore,
  conversationSlot,
  stateSlot,
  withConversation,
} from './stored-responses/index.ts'
import { type BridgeFacet, facetSchema, optionsSchema } from './schema.ts'
import { type Speech, translateSpeech } from './speech/index.ts'
import { type Transcribed, translateTranscript } from './transcripts/index.ts'

/** The maximum bytes of answers that are buffered for translation, for all requests together. */
const heldBytesMax = 512 * 1024 * 1024

/** The headers with fields that were not sent to the upstream, and with estimates. */
const droppedHeader = 'x-tollgate-dropped'
const estimateHeader = 'x-tollgate-estimate'
const headerCharsMax = 1_000

/** A translated request of any kind. */
type AnyBridge = Bridge | Embedding | Speech | Transcribed

const bridgeSlot = defineSlot<AnyBridge>('format-bridge')

function refuseImage(): Failure {
  const reason = "it has an image, which the client's API format cannot carry"
  return fail('upstream_answer_untranslatable', { reason })
}

/**
 * Lets clients of one API format call models of another (docs/translation.md). Translates the request to the upstream's
 * format before any other step reads it, and its answer to the client's format after all other steps. So limits,
 * charges, keys and failover work as for a request in the upstream's own format.
 */
export const formatBridge = definePlugin({
  name: 'format-bridge',
  options: optionsSchema,
  facet: facetSchema,
  needs: [callerSlot],
  gives: [bridgeSlot],
  accepts: true,
  inspect,

  reroute: (ask, facet, { responses }) => translate(ask, facet, responses !== undefined)?.rerouted,

  create(options, host) {
    if (!configuredModels(host.plan).some(model => model.accepts)) return {}
    const budget = host.keep('held', () => new ByteBudget(heldBytesMax))
    const store = createResponseStore(options, host)
    return {
      ...(store && {
        onBody: (context, body) => withConversation(context, body, host.plan, store),
        onObject: context => answerStored(context, store),
      }),
      onRoute(context, ask, facet) {
        const keepsState = context.slots.get(stateSlot) !== undefined
        const translated = translate(ask, facet, keepsState)
        if (!translated) return undefined
        const { bridge } = translated
        context.slots.put(bridgeSlot, bridge)
        if (bridge.kind === 'conversation' && bridge.client.answersNoImages)
          context.slots.put(imageRefusalSlot, refuseImage)
        return translated.rerouted
      },
      onAdmit(context) {
        const bridge = context.slots.get(bridgeSlot)
        return bridge?.kind === 'conversation' ? countAnswer(bridge) : undefined
      },
      onForward(context, out) {
        if (!context.client) {
          const body = withoutTranslatedThoughts(out.body)
          return body === out.body ? out : { ...out, body }
        }
        const { dropped = [] } = bridgeOf(context) ?? {}
        if (dropped.length > 0) context.notes.dropped = [...new Set([...context.notes.dropped, ...dropped])]
        return out
      },
      onReply(context, reply) {
        const bridge = bridgeOf(context)
        if (!bridge) return reply
        const held = new HeldAnswer(budget)
        context.slots.put(heldSlot, held)
        const { dropped } = bridge
        const named =
          dropped.length > 0 ? { ...reply, headers: { ...reply.headers, [droppedHeader]: headerOf(dropped) } } : reply
        if (bridge.kind === 'conversation')
          return withKept(translateReply(named, turningOf(context, bridge, host, held)), context, store)
        const { client = context, id: requestId } = context
        if (reply.status >= 400)
          return translateRefusal(named, { upstream: bridge.upstream, format: client.dialect, requestId, held })
        if (bridge.kind === 'vectors') return translateVectors(named, context, bridge, held)
        if (bridge.kind === 'transcript') return translateText(named, bridge, held)
        // Audio is the same in every format.
        return named
      },
      onSettle(context) {
        context.slots.get(heldSlot)?.take()
        context.slots.get(conversationSlot)?.free()
      },
    }
  },
})

/**
 * Translates the request as the first kind that matches; undefined if the model accepts it unchanged. @throws Failure
 */
function translate(
  ask: RerouteAsk,
  facet: BridgeFacet,
  keepsState: boolean,
): { readonly rerouted: Rerouted; readonly bridge: AnyBridge } | undefined {
  return (
    translateEmbedding(ask) ??
    translateSpeech(ask, facet) ??
    translateTranscript(ask) ??
    translateRequest(ask, facet, keepsState)
  )
}

/** Stores a response, if the client requests that, before its last byte is sent. */
function withKept(reply: Reply, context: RequestContext, store: ResponseStore | undefined): Reply {
  const state = context.slots.get(stateSlot)
  if (!store || !state?.isStored || reply.status >= 400) return reply
  const { client = context, id: requestId, notes, payer, params } = context
  const { before, input } = state
  const maker = { payer, requestId, model: params['model'] ?? '' }
  const isStream = reply.headers['content-type']?.startsWith('text/event-stream') === true
  const { dialect, route } = client
  const lateError = (failure: Failure): string => {
    notes.failed = failure.code
    return dialect.streamError(failure, requestId, route.operation) ?? ''
  }
  const stage = new StoreStage(isStream ? lateError : undefined, (id, response) =>
    store.keep(maker, id, { before, input, response }),
  )
  return { ...reply, stages: [...reply.stages, stage] }
}

/** A fallback may receive a request that was already translated for another model. */
function bridgeOf({ client, slots }: RequestContext): AnyBridge | undefined {
  return client && slots.get(bridgeSlot)
}

function translateVectors(reply: Reply, context: RequestContext, embedding: Embedding, held: HeldAnswer): Reply {
  const stage = new WholeStage(held, body => turnVectors(embedding, body, context.params['model'] ?? ''))
  const estimated = embedding.upstream.mayLackUsage ? { [estimateHeader]: 'usage' } : {}
  return { ...reply, headers: { ...jsonHeaders(reply), ...estimated }, stages: [...reply.stages, stage] }
}

function translateText(reply: Reply, { type, turn }: Transcribed, held: HeldAnswer): Reply {
  const headers = { ...withoutLength(reply.headers), 'content-type': type }
  return { ...reply, headers, stages: [...reply.stages, new WholeStage(held, turn)] }
}

function translateRefusal(reply: Reply, turning: TurningError): Reply {
  const status = statusOf(reply.status)
  return { ...reply, status, headers: jsonHeaders(reply), stages: [...reply.stages, new ErrorStage(turning, status)] }
}

function jsonHeaders({ headers }: Reply): Reply['headers'] {
  return { ...withoutLength(headers), 'content-type': 'application/json' }
}

/** Vendors count in different ways, and the count needs no request to them, so the figure is marked as an estimate. */
function countAnswer({ conversation, counts }: Bridge): Answer | undefined {
  if (counts === undefined) return undefined
  return {
    status: 200,
    headers: { 'content-type': 'application/json', [estimateHeader]: counts },
    body: JSON.stringify({ [counts]: estimateInput(conversation) }),
  }
}

function turningOf(context: RequestContext, bridge: Bridge, { clock }: Host, held: HeldAnswer): Turning {
  const { client = context, id, notes } = context
  const own = id.replaceAll(/[^A-Za-z0-9_]/g, '')
  const state = context.slots.get(stateSlot)
  const isList = client.dialect.streamForm?.(client.head) === 'list'
  return {
    bridge,
    parse: { issuer: bridge.issuer, id: own },
    write: {
      id: own,
      created: Math.floor(clock.now() / 1000),
      model: context.params['model'] ?? '',
      request: bridge.conversation,
      ...(state && { state }),
      // Computed on demand, because it reads the whole request, and few answers need it.
      get inputEstimate() {
        return estimateInput(bridge.conversation)
      },
      form: isList ? 'list' : 'events',
    },
    notes,
    format: client.dialect,
    operation: client.route.operation,
    requestId: id,
    held,
  }
}

function translateReply(reply: Reply, turning: Turning): Reply {
  const { status, stages } = reply
  const headers = withoutLength(reply.headers)
  const json = jsonHeaders(reply)
  if (status >= 400) return translateRefusal(reply, { ...turning, upstream: turning.bridge.upstream })
  const isStream = headers['content-type']?.startsWith('text/event-stream') === true
  if (!isStream)
    return {
      ...reply,
      headers: json,
      stages: [...stages, new WholeStage(turning.held, body => turnAnswer(turning, body))],
    }
  const isList = turning.write.form === 'list'
  return {
    ...reply,
    headers: isList ? json : headers,
    stages: [...stages, new StreamStage(turning)],
    // The last event shows whether the stream is complete.
    provesEnd: true,
  }
}

/** Converts a status that only one vendor uses to the standard one. */
function statusOf(status: number): number {
  return status === 529 ? 503 : status
}

function headerOf(names: readonly string[]): string {
  return names
    .join(', ')
    .replaceAll(/[^\x20-\x7e]/g, '?')
    .slice(0, headerCharsMax)
}
