import type { IncomingMessage } from 'node:http'
import {
  type Body,
  callerSlot,
  goneStatuses,
  type JobStore,
  type ListedMembers,
  type ObjectReference,
  type ObjectStore,
  type ObjectTraits,
  type Reply,
  readField,
  resultFiles,
  serves,
  type Stage,
  type StoredObject,
  withLinks,
} from '../../domain/index.ts'
import type { RequestContext, Target } from '../../plugin-api/index.ts'
import { type Awaitable, andThen, type Clock, isPromise } from '../../util/index.ts'
import { fail } from '../errors.ts'
import type { FoundId } from './id-reader.ts'
import { ListedObjectStage, ObjectStage } from './object-stage.ts'
import { type CreateLinkSecret, linkHere, readLink, uploadIn } from './upload-link.ts'

/** Location of an object: only this upstream and this vendor account have it. */
export type Pin = { readonly upstream: string; readonly vendorKey: string | null }

/** Highest number of objects in one request. Each costs a lookup. */
const referencesMax = 256
const dayMs = 86_400_000
const retryMs = 1_000

type Creates = NonNullable<ObjectTraits['creates']>

/** Records of stored objects: the key that made each one, and its upstream. */
export class ObjectRecords {
  readonly #store: ObjectStore
  readonly #clock: Clock
  readonly #createSecret: CreateLinkSecret | undefined
  readonly #jobs: Pick<JobStore, 'find'> | undefined

  /** @param parts `jobs`: those that poll objects and charge them; `createLinkSecret`: for links to uploads */
  constructor(
    store: ObjectStore,
    clock: Clock,
    parts: {
      readonly createLinkSecret?: CreateLinkSecret | undefined
      readonly jobs?: Pick<JobStore, 'find'> | undefined
    } = {},
  ) {
    this.#store = store
    this.#clock = clock
    this.#createSecret = parts.createLinkSecret
    this.#jobs = parts.jobs
  }

  /**
   * The object in the path, or the upload in the query.
   * @throws Failure object_not_found, also for another key's object; object_unsettled, object_store_unavailable
   */
  named({ route, params, payer, head }: RequestContext): Awaitable<StoredObject | undefined> {
    const { of, uploads } = route.object ?? {}
    if (of)
      return andThen(this.#need(payer, { kind: of.kind, id: idIn(of, params), place: 'id' }), found =>
        of.ends ? andThen(this.#refuseUnsettled(found), () => found) : found,
      )
    const id = uploads && uploadIn(head, uploads)
    return id === undefined ? undefined : this.#need(payer, { kind: 'upload', id, place: uploads?.id ?? '' })
  }

  #need(payer: string, wanted: ObjectReference): Awaitable<StoredObject> {
    return andThen(this.#find(payer, [wanted]), ([found]) => {
      if (!found) throw notFound(wanted)
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
    const isRead = body.kind === 'json' && (!route.runsNoTools || route.deferred)
    const declared = isRead ? body.json.declared.objects : []
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

  /** What has not been charged must not be deleted: its usage would be lost. @throws Failure object_unsettled */
  #refuseUnsettled({ id, requestId }: StoredObject): Awaitable<void> {
    const jobs = this.#jobs
    if (!jobs) return undefined
    return andThen(
      orUnavailable(() => jobs.find(requestId)),
      job => {
        if (job?.state === 'running') throw fail('object_unsettled', { id }, { retryAfterMs: retryMs })
      },
    )
  }

  #find(payer: string, wanted: readonly Pick<ObjectReference, 'kind' | 'id'>[]): Awaitable<readonly StoredObject[]> {
    return orUnavailable(() => this.#store.find(payer, wanted))
  }

  /** Checks the key's object and byte limits before a new object. @throws Failure objects_full, object_store_unavailable */
  admits({ route, slots, payer, head }: RequestContext, body: Body): Awaitable<void> {
    const { max, bytesMax } = slots.get(callerSlot)?.group.storedObjects ?? {}
    const { creates, of, namesNoModel } = route.object ?? {}
    const isCounted = creates && !of && (namesNoModel || creates.modelPrefix || creates.listed)
    if (!isCounted || (max === undefined && bytesMax === undefined)) return undefined
    const named = Number(head.headers[route.object?.uploads?.bytes ?? ''] ?? 0)
    const coming = Math.max(body.kind === 'stream' ? (body.bytes ?? 0) : 0, Number.isSafeInteger(named) ? named : 0)
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
    const isUnstored = creates.unlessFalse !== undefined && readField(target.body, creates.unlessFalse) === false
    const { when } = context.route.deferred ?? {}
    // Clients poll work that goes on, stored or not.
    if (isUnstored && !(when !== undefined && readField(target.body, when) === true)) return undefined
    const { body } = target
    if (creates.member && !(body.kind === 'json' && body.json.declared.tools.length > 0)) return undefined
    return this.#stage(context, target, creates, headers['content-type'] ?? '')
  }

  #stage(context: RequestContext, target: Target, creates: Creates, type: string): Stage {
    const { listed } = creates
    if (listed)
      return new ListedObjectStage(listed, (id, object) => this.#list(context, target, listed, { id, object }))
    let parent: string | null = null
    return new ObjectStage(creates, type.startsWith('text/event-stream'), found => {
      parent ??= found.find(({ kind }) => kind === creates.kind)?.id ?? null
      const base = this.#base(context, target, creates)
      return this.#put(found.map(one => toObject(base, one, one.kind === creates.kind ? null : parent)))
    })
  }

  /** Records an object, or its new state, with the files that it has produced. @returns the object for the client */
  async #list(
    context: RequestContext,
    target: Target,
    listed: ListedMembers,
    { id, object }: Listed,
  ): Promise<Listed['object']> {
    const { creates, of } = context.route.object ?? {}
    if (!creates) return object
    const shown = withLinks(creates, id, object)
    // Its first request owns it, whichever request shows it.
    const [known] = of ? await this.#find(context.payer, [{ kind: creates.kind, id }]) : []
    if (of && !known) return shown
    const base = known ?? { ...this.#base(context, target, creates), kind: creates.kind, id, parent: null }
    const own = toListed(listed, base, shown)
    await this.#put([own, ...resultFiles(creates, own, object, this.#clock.now())])
    return shown
  }

  #base(
    { payer: keyId, id: requestId, plan }: RequestContext,
    { upstream, model }: Target,
    { days }: { readonly days?: number },
  ) {
    const now = this.#clock.now()
    const expiresAt = days === undefined ? null : now + days * dayMs
    // An upstream with a single key needs no key name: a new secret is the same account.
    const isOnly = plan.upstreams.get(upstream.name)?.keys?.[0]?.isOnly === true
    const vendorKey = isOnly ? null : (upstream.key ?? null)
    const place = { upstream: upstream.name, vendorKey, model: model.name }
    return { keyId, requestId, ...place, bytes: 0, shown: null, createdAt: now, expiresAt, deletedAt: null }
  }

  /**
   * The response's headers with the gateway's link in place of the upstream's, once the upload is recorded.
   * @throws Failure object_not_recorded, upload_link_invalid
   */
  linked(
    context: RequestContext,
    target: Target,
    req: IncomingMessage,
    headers: { readonly [name: string]: string },
  ): Awaitable<{ readonly [name: string]: string }> {
    const { uploads } = context.route.object ?? {}
    if (!uploads) return headers
    const link = headers[uploads.link]
    const hidden = new Set([uploads.link, ...uploads.others])
    const rest = Object.fromEntries(Object.entries(headers).filter(([name]) => !hidden.has(name)))
    if (link === undefined) return rest
    const found = readLink(link, uploads)
    if (!found) throw fail('upload_link_invalid', { name: uploads.link })
    const base = this.#base(context, target, uploads)
    const { expiresAt } = base
    return this.#put([{ ...base, kind: 'upload', id: found.id, parent: null }])
      .then(() => this.#createSecret?.(context, target.model.name, expiresAt ?? 0))
      .then(secret => {
        const query = secret === undefined ? found.query : `${found.query}&${uploads.key}=${secret}`
        return { ...rest, [uploads.link]: linkHere(req, context, query) }
      })
  }

  /** Records an id that the upstream issued in a session. @throws Failure object_not_recorded */
  record(
    context: RequestContext,
    target: Target,
    { id, ...creates }: Creates & { readonly id: string },
  ): Promise<void> {
    return this.#put([{ ...this.#base(context, target, creates), kind: creates.kind, id, parent: null }])
  }

  /** @throws Failure object_not_recorded; the client must then not receive the id */
  #put(objects: readonly StoredObject[]): Promise<void> {
    return this.#store.put(objects).catch((cause: unknown) => {
      throw fail('object_not_recorded', {}, { cause })
    })
  }

  /**
   * Marks a deleted object as ended before the client receives the upstream's response. So does a response that the
   * object is gone: otherwise its record would count for ever.
   */
  async answered({ route, params, payer }: RequestContext, status: number): Promise<void> {
    const of = route.object?.of
    const isDeleted = (status >= 200 && status <= 299) || goneStatuses.has(status)
    if (!of?.ends || !isDeleted) return
    await this.#store.end(payer, of.kind, idIn(of, params)).catch((cause: unknown) => {
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
type Listed = { readonly id: string; readonly object: { readonly [name: string]: unknown } }

function toObject(base: Base, { kind, id }: FoundId, parent: string | null): StoredObject {
  return { ...base, kind, id, parent }
}

function idIn({ prefix = '' }: { readonly prefix?: string }, params: { readonly [name: string]: string }): string {
  return prefix + (params['id'] ?? '')
}

function toListed(
  members: ListedMembers,
  base: StoredObject,
  shown: { readonly [name: string]: unknown },
): StoredObject {
  const bytes = Number(members.bytes === undefined ? base.bytes : shown[members.bytes])
  const expiresAt = momentOf(members.expires === undefined ? undefined : shown[members.expires]) ?? base.expiresAt
  const size = Number.isSafeInteger(bytes) && bytes > 0 ? bytes : 0
  return { ...base, bytes: size, shown: JSON.stringify(shown), expiresAt }
}

/** Seconds since the epoch or an RFC 3339 time, in milliseconds. */
function momentOf(value: unknown): number | undefined {
  const time = typeof value === 'number' ? value * 1_000 : typeof value === 'string' ? value : Number.NaN
  // NaN for a time that no date can have.
  const at = new Date(time).getTime()
  return at > 0 ? at : undefined
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
