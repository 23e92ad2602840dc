import {
  type Body,
  callerSlot,
  type ObjectReference,
  type ObjectStore,
  type ObjectTraits,
  type Reply,
  readField,
  serves,
  type Stage,
  type StoredObject,
} from '../../domain/index.ts'
import type { RequestContext, Target } from '../../plugin-api/index.ts'
import { type Awaitable, andThen, type Clock, isPromise } from '../../util/index.ts'
import { fail } from '../errors.ts'
import type { FoundId } from './id-reader.ts'
import { ListedObjectStage, ObjectStage } from './object-stage.ts'

/** Location of an object: only this upstream and this vendor account have it. */
export type Pin = { readonly upstream: string; readonly vendorKey: string | null }

/** Highest number of objects in one request. Each costs a lookup. */
const referencesMax = 256
const dayMs = 86_400_000
const retryMs = 1_000

type Creates = NonNullable<ObjectTraits['creates']>

/** Records of stored objects: which key made each one and where it is. */
export class ObjectRecords {
  readonly #store: ObjectStore
  readonly #clock: Clock

  constructor(store: ObjectStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** The object in the path. @throws Failure object_not_found, also for another key's object; object_store_unavailable */
  named({ route, params, payer }: RequestContext): Awaitable<StoredObject | undefined> {
    const of = route.object?.of
    if (!of) return undefined
    const { id = '' } = params
    return andThen(this.#find(payer, [{ kind: of.kind, id }]), ([found]) => {
      if (!found) throw notFound({ kind: of.kind, id, place: 'id' })
      return found
    })
  }

  /**
   * Location of the objects in a body; undefined if it names none, or only shared ones.
   * @throws Failure object_not_found, objects_apart, objects_too_many, object_store_unavailable
   */
  pinOf(
    { payer, route }: RequestContext,
    { family, body }: Pick<Target, 'body'> & Partial<Target>,
    more: readonly ObjectReference[] = [],
  ): Awaitable<Pin | undefined> {
    const declared = body.kind === 'json' && !route.runsNoTools ? body.json.declared.objects : []
    if (declared.length === 0 && more.length === 0) return undefined
    const { sharedObjects = [] } = family ?? {}
    const wanted = distinct([...declared, ...more]).filter(({ id }) => !serves(sharedObjects, id))
    if (wanted.length === 0) return undefined
    if (wanted.length > referencesMax) throw fail('objects_too_many', { max: referencesMax })
    return andThen(this.#find(payer, wanted), found => {
      const known = new Set(found.map(({ kind, id }) => `${kind} ${id}`))
      const missing = wanted.find(({ kind, id }) => !known.has(`${kind} ${id}`))
      if (missing) throw notFound(missing)
      return onePlace(found)
    })
  }

  #find(payer: string, wanted: readonly Pick<ObjectReference, 'kind' | 'id'>[]): Awaitable<readonly StoredObject[]> {
    return orUnavailable(() => this.#store.find(payer, wanted))
  }

  /** Checks the key's object and byte limits before a new object. @throws Failure objects_full, object_store_unavailable */
  admits({ route, slots, payer }: RequestContext, body: Body): Awaitable<void> {
    const { max, bytesMax } = slots.get(callerSlot)?.group.storedObjects ?? {}
    const isCounted = route.object?.creates && route.object.namesNoModel
    if (!isCounted || (max === undefined && bytesMax === undefined)) return undefined
    const coming = body.kind === 'stream' ? (body.bytes ?? 0) : 0
    return andThen(
      orUnavailable(() => this.#store.sizeOf(payer)),
      ({ count, bytes }) => {
        const isFull = count >= (max ?? Number.POSITIVE_INFINITY)
        const isLarge = bytes + coming > (bytesMax ?? Number.POSITIVE_INFINITY)
        const allowed = [max === undefined ? '' : `${max} objects`, bytesMax === undefined ? '' : `${bytesMax} bytes`]
        if (isFull || isLarge) throw fail('objects_full', { count, bytes, max: allowed.filter(Boolean).join(' and ') })
      },
    )
  }

  /** Stage that records the objects a response creates; undefined if it creates none. */
  stageOf(context: RequestContext, target: Target, { status, headers }: Pick<Reply, 'status' | 'headers'>) {
    const creates = context.route.object?.creates
    if (!creates || status < 200 || status > 299) return undefined
    if (creates.unlessFalse !== undefined && readField(target.body, creates.unlessFalse) === false) return undefined
    const { body } = target
    if (creates.member && !(body.kind === 'json' && body.json.declared.tools.length > 0)) return undefined
    return this.#stage(context, target, creates, headers['content-type'] ?? '')
  }

  #stage(context: RequestContext, target: Target, creates: Creates, type: string): Stage {
    if (creates.listed)
      return new ListedObjectStage((id, shown) =>
        this.#put([toListed(creates.kind, this.#base(context, target, creates), id, shown)]),
      )
    let parent: string | null = null
    return new ObjectStage(creates, type.startsWith('text/event-stream'), found => {
      parent ??= found.find(({ kind }) => kind === creates.kind)?.id ?? null
      const base = this.#base(context, target, creates)
      return this.#put(found.map(one => toObject(base, one, one.kind === creates.kind ? null : parent)))
    })
  }

  #base({ payer: keyId, id: requestId, plan }: RequestContext, { upstream, model }: Target, { days }: Creates) {
    const now = this.#clock.now()
    const expiresAt = days === undefined ? null : now + days * dayMs
    // An upstream with a single key needs no key name: a new secret is the same account.
    const isOnly = plan.upstreams.get(upstream.name)?.keys?.[0]?.isOnly === true
    const vendorKey = isOnly ? null : (upstream.key ?? null)
    const place = { upstream: upstream.name, vendorKey, model: model.name }
    return { keyId, requestId, ...place, bytes: 0, shown: null, createdAt: now, expiresAt, deletedAt: null }
  }

  /** Records an id that the upstream issued in a session. @throws Failure object_not_recorded */
  record(
    context: RequestContext,
    target: Target,
    { kind, id, days }: Creates & { readonly id: string },
  ): Promise<void> {
    return this.#put([
      { ...this.#base(context, target, { kind, ...(days !== undefined && { days }) }), kind, id, parent: null },
    ])
  }

  /** @throws Failure object_not_recorded; the client must then not receive the id */
  #put(objects: readonly StoredObject[]): Promise<void> {
    return this.#store.put(objects).catch((cause: unknown) => {
      throw fail('object_not_recorded', {}, { cause })
    })
  }

  /** Marks a deleted object as ended before the client receives the upstream's response. */
  async answered({ route, params, payer }: RequestContext, status: number): Promise<void> {
    const of = route.object?.of
    if (!of?.ends || status < 200 || status > 299) return
    await this.#store.end(payer, of.kind, params['id'] ?? '').catch((cause: unknown) => {
      throw fail('object_not_recorded', {}, { cause })
    })
  }
}

/** Reads from storage. @throws Failure object_store_unavailable */
function orUnavailable<T>(read: () => Awaitable<T>): Awaitable<T> {
  const refuse = (cause: unknown): never => {
    throw fail('object_store_unavailable', {}, { cause, retryAfterMs: retryMs })
  }
  try {
    const found = read()
    return isPromise(found) ? found.catch(refuse) : found
  } catch (cause) {
    return refuse(cause)
  }
}

type Base = Omit<StoredObject, 'id' | 'kind' | 'parent'>

function toObject(base: Base, { kind, id }: FoundId, parent: string | null): StoredObject {
  return { ...base, kind, id, parent }
}

function toListed(
  kind: StoredObject['kind'],
  base: Base,
  id: string,
  shown: { readonly [name: string]: unknown },
): StoredObject {
  const { bytes, expires_at: expires } = shown
  const expiresAt = isWhole(expires) && expires > 0 ? expires * 1_000 : base.expiresAt
  return { ...base, kind, id, parent: null, bytes: isWhole(bytes) ? bytes : 0, shown: JSON.stringify(shown), expiresAt }
}

function isWhole(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value * 1_000) && value >= 0
}

function distinct(references: readonly ObjectReference[]): readonly ObjectReference[] {
  return [...new Map(references.map(one => [`${one.kind} ${one.id}`, one])).values()]
}

/** @throws Failure objects_apart */
function onePlace(found: readonly StoredObject[]): Pin | undefined {
  const [first] = found
  const other = first && found.find(one => one.upstream !== first.upstream || one.vendorKey !== first.vendorKey)
  if (other) throw fail('objects_apart', { one: first.id, other: other.id })
  return first && { upstream: first.upstream, vendorKey: first.vendorKey }
}

function notFound({ kind, id, place }: ObjectReference): Error {
  return fail('object_not_found', { kind, id: id.slice(0, 120) }, { param: place })
}

/** Combines the locations of the path's object and the body's. @throws Failure objects_apart */
export function joinPins(named: StoredObject | undefined, pin: Pin | undefined): Pin | undefined {
  if (!named) return pin
  if (pin && (pin.upstream !== named.upstream || pin.vendorKey !== named.vendorKey))
    throw fail('objects_apart', { one: named.id, other: 'an object of the body' })
  return { upstream: named.upstream, vendorKey: named.vendorKey }
}

/** Store that records nothing. */
export const noObjects: ObjectStore = {
  put: () => Promise.resolve(),
  find: () => [],
  end: () => Promise.resolve(false),
  page: () => [],
  sizeOf: () => ({ count: 0, bytes: 0 }),
  list: () => [],
}
