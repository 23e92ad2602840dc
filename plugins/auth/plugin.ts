import {
  aheadMs,
  type Awaitable,
  type Caller,
  callerSlot,
  configuredModels,
  definePlugin,
  type RequestContext,
  Failure,
  hashSecret,
  type Key,
  keyOfClientSecret,
  andThen,
  isPromise,
  mayAsk,
  networkOf,
  readClientSecret,
  readSecret,
  type RerouteAsk,
  serves,
  type Target,
} from '../../src/plugin-api/index.ts'
import { listHas, readAddressList } from './address.ts'
import { BadKeyLog } from './bad-key-log.ts'
import { fail } from './errors.ts'
import { KeyCache, type KnownKey } from './key-cache.ts'
import { optionsSchema } from './schema.ts'

const retryMs = 1_000
/** The places for a key in a request, in most styles. */
const keyPlaces = '"Authorization: Bearer <API_KEY>" or "x-api-key: <API_KEY>"'
/** The maximum number of keys in different places of one request: each is looked up. */
const severalMax = 4
/** The pattern of other gateways' keys. */
const foreignPattern = /^sk-[\w.-]{13,253}$/

function badKey({ dialect }: RequestContext, what: string): Failure {
  return fail('invalid_api_key', { what, where: dialect.keyPlaces ?? keyPlaces })
}

/** @throws Failure model_not_allowed for the model, or for another one in the body, with its place */
function checkModels(caller: Caller, { model, further = [], alsoNamed = [] }: Target): void {
  check(caller, model.name, 'model')
  for (const { model: other, place } of further) check(caller, other.name, place)
  for (const { name, place } of alsoNamed) check(caller, name, place)
}

function check(caller: Caller, model: string, place: string): void {
  if (!mayAsk(caller, model)) throw fail('model_not_allowed', { model: model.slice(0, 120) }, { param: place })
}

/**
 * The only valid one of several keys: a client may send an old vendor key next to the gateway's key.
 * @throws Failure conflicting_api_keys for two valid ones, or more than are looked up; storage_unavailable
 */
async function judgeSeveral(
  texts: ReadonlySet<string>,
  find: (text: string) => Promise<KnownKey | undefined>,
): Promise<KnownKey | undefined> {
  if (texts.size > severalMax) throw fail('conflicting_api_keys')
  const found = await Promise.all([...texts].map(find))
  const known = found.filter(one => one !== undefined)
  if (new Set(known.map(({ key }) => key.id)).size > 1) throw fail('conflicting_api_keys')
  return known[0]
}

/**
 * Whether a request follows a link to an upload: the link contains a client secret, because some clients send no key
 * there.
 */
function continuesUpload({ route, head }: RequestContext): boolean {
  const { uploads } = route.object ?? {}
  return uploads !== undefined && new URLSearchParams(head.query).has(uploads.id)
}

/** The key, limited to the models of a client secret. */
function narrowed(key: Key, models: Key['models']): Key {
  const { models: own } = key
  return { ...key, models: models?.filter(name => serves(own, name)) ?? own }
}

/** Reads the storage. @throws Failure storage_unavailable */
function orUnavailable<T>(read: () => Awaitable<T>): Awaitable<T> {
  const refuse = (cause: unknown): never => {
    throw fail('storage_unavailable', {}, { cause, retryAfterMs: retryMs })
  }
  try {
    const found = read()
    return isPromise(found) ? found.catch(refuse) : found
  } catch (cause) {
    return refuse(cause)
  }
}

/** Identifies the client (`docs/rules.md#keys`): checks the key before any byte of the body is read. */
export const auth = definePlugin({
  name: 'auth',
  options: optionsSchema,
  gives: [callerSlot],
  create(options, host) {
    const { stores, clock, log } = host
    const keys = new KeyCache(stores.keys, clock, log)
    const badKeys = host.keep('bad-keys', () => new BadKeyLog(clock))
    const groupsMissed = new Set<string>()

    function refuse(context: RequestContext, why: string, known?: KnownKey): Failure {
      const waitMs = badKeys.count(networkOf(context.head.remote), options.bad_keys_per_minute)
      if (waitMs > 0) return fail('too_many_bad_keys', { max: options.bad_keys_per_minute }, { retryAfterMs: waitMs })
      log.info(
        { request: context.id, remote: context.head.remote, key: known?.key.id ?? null, why },
        'an API key was refused',
      )
      return badKey(context, 'Incorrect API key provided.')
    }

    function admit(context: RequestContext, known: KnownKey | undefined): void {
      if (!known) throw refuse(context, 'unknown')
      const { key, addresses } = known
      if (key.status !== 'active') throw refuse(context, key.status, known)
      if (key.userStatus !== 'active') throw refuse(context, 'user disabled', known)
      if (key.expiresAt !== null && key.expiresAt <= clock.now()) throw refuse(context, 'expired', known)
      // Only `judgeClient` accepts client secrets.
      if (keyOfClientSecret(key) !== undefined) throw refuse(context, 'a client secret', known)
      // A session key that was created while a clock was ahead would be valid for too long.
      if (key.kind === 'session' && key.createdAt > clock.now() + aheadMs)
        throw refuse(context, 'created by a clock that is ahead', known)
      if (addresses && !listHas(addresses, context.head.remote)) throw fail('address_not_allowed')
      const name = key.group ?? key.userGroup
      const group = context.plan.groups.get(name)
      if (!group) {
        if (!groupsMissed.has(name))
          log.warn({ group: name, key: key.id }, 'a key belongs to a group that is not configured')
        groupsMissed.add(name)
        throw fail('group_unknown', { group: name })
      }
      context.payer = key.id
      context.slots.put(callerSlot, { key, group })
    }

    function judge(context: RequestContext, secret: string): Awaitable<void> {
      return andThen(
        orUnavailable(() => keys.find(hashSecret(secret))),
        known => admit(context, known),
      )
    }

    /** A client secret opens sessions of its models with the key of its creator, which is looked up each time. */
    async function judgeClient(context: RequestContext, secret: string): Promise<void> {
      const known = await orUnavailable(() => keys.find(hashSecret(secret)))
      const id = known && keyOfClientSecret(known.key)
      if (!known || id === undefined) throw refuse(context, 'unknown')
      const { status, expiresAt, models } = known.key
      if (status !== 'active' || (expiresAt !== null && expiresAt <= clock.now()))
        throw refuse(context, 'expired', known)
      if (!context.part && !continuesUpload(context)) throw refuse(context, 'a client secret', known)
      const key = await orUnavailable(() => stores.keys.find(id))
      if (!key) throw refuse(context, 'unknown')
      admit(context, { key: narrowed(key, models), addresses: key.ips && readAddressList(key.ips) })
    }

    /** Looks up a key that this gateway cannot have created only if keys of another gateway were imported. */
    function judgeForeign(context: RequestContext, text: string): Awaitable<void> {
      if (!foreignPattern.test(text)) throw refuse(context, 'malformed')
      return andThen(hasForeign(), isTaken => {
        if (!isTaken) throw refuse(context, 'malformed')
        return judge(context, text)
      })
    }

    function hasForeign(): Awaitable<boolean> {
      return orUnavailable(() => keys.hasForeign())
    }

    async function findAny(text: string): Promise<KnownKey | undefined> {
      const isOurs = readSecret(text) !== undefined
      if (!isOurs && !(foreignPattern.test(text) && (await hasForeign()))) return undefined
      return orUnavailable(() => keys.find(hashSecret(text)))
    }

    return {
      onRequest(context) {
        const presented = context.dialect.credentials(context.head)
        const [text] = presented
        if (text === undefined) throw badKey(context, 'The API key is missing.')
        const client = readClientSecret(text)
        if (client !== undefined) return judgeClient(context, client)
        if (presented.some(other => other !== text))
          return judgeSeveral(new Set(presented), findAny).then(known => admit(context, known))
        return readSecret(text) === undefined ? judgeForeign(context, text) : judge(context, text)
      },
      // Runs before a translation refuses fields of the request: without access those errors are of no use.
      ...(configuredModels(host.plan).some(model => model.accepts) && { onRoute: checkAccess }),
      onTarget(context, target) {
        checkModels(context.slots.need(callerSlot), target)
      },
      close: () => keys.close(),
    }
  },
})

/** @throws Failure if the key has no access to the model */
function checkAccess(context: RequestContext, { model }: RerouteAsk): undefined {
  check(context.slots.need(callerSlot), model.name, 'model')
}
