import {
  aheadMs,
  type Awaitable,
  type Caller,
  callerSlot,
  definePlugin,
  type RequestContext,
  Failure,
  hashSecret,
  isPromise,
  mayAsk,
  networkOf,
  readSecret,
  type Target,
} from '../../src/plugin-api/index.ts'
import { listHas } from './address.ts'
import { BadKeyLog } from './bad-key-log.ts'
import { fail } from './errors.ts'
import { KeyCache, type KnownKey } from './key-cache.ts'
import { optionsSchema } from './schema.ts'

const retryMs = 1_000
/** Where callers put their key, as most styles have it. */
const keyPlaces = '"Authorization: Bearer <API_KEY>" or "x-api-key: <API_KEY>"'
/** Keys that one request may carry at different places: each is looked up. */
const severalMax = 4
/** What keys of other gateways look like. */
const foreignPattern = /^sk-[\w.-]{13,253}$/

function badKey({ dialect }: RequestContext, what: string): Failure {
  return fail('invalid_api_key', { what, where: dialect.keyPlaces ?? keyPlaces })
}

/** @throws Failure model_not_allowed for the model, or one that the body names further, with its place */
function checkModels(caller: Caller, { model, further = [], alsoNamed = [] }: Target): void {
  check(caller, model.name, 'model')
  for (const { model: other, place } of further) check(caller, other.name, place)
  for (const { name, place } of alsoNamed) check(caller, name, place)
}

function check(caller: Caller, model: string, place: string): void {
  if (!mayAsk(caller, model)) throw fail('model_not_allowed', { model: model.slice(0, 120) }, { param: place })
}

/**
 * The one of several keys that is known: a client's left-over key of a vendor may stand beside ours.
 * @throws Failure conflicting_api_keys for two that are known, or more than are looked up; storage_unavailable
 */
async function judgeSeveral(
  texts: ReadonlySet<string>,
  find: (text: string) => Promise<KnownKey | undefined>,
): Promise<KnownKey | undefined> {
  if (texts.size > severalMax) throw fail('conflicting_api_keys')
  const found = await Promise.all([...texts].map(find)).catch((cause: unknown) => {
    throw cause instanceof Failure ? cause : unavailable(cause)
  })
  const known = found.filter(one => one !== undefined)
  if (new Set(known.map(({ key }) => key.id)).size > 1) throw fail('conflicting_api_keys')
  return known[0]
}

function unavailable(cause: unknown): Failure {
  return fail('storage_unavailable', {}, { cause, retryAfterMs: retryMs })
}

/** The caller (`docs/rules.md#keys`): checks the key before a byte of the body is read, and gives the caller. */
export const auth = definePlugin({
  name: 'auth',
  options: optionsSchema,
  gives: [callerSlot],
  create(options, host) {
    const { stores, clock, log } = host
    const keys = new KeyCache(stores.keys, clock, log)
    const badKeys = host.keep('bad-keys', () => new BadKeyLog(clock))
    const groupsMissed = new Set<string>()

    function refuse(ex: RequestContext, why: string, known?: KnownKey): Failure {
      const waitMs = badKeys.count(networkOf(ex.head.remote), options.bad_keys_per_minute)
      if (waitMs > 0) return fail('too_many_bad_keys', { max: options.bad_keys_per_minute }, { retryAfterMs: waitMs })
      log.info({ request: ex.id, remote: ex.head.remote, key: known?.key.id ?? null, why }, 'an API key was refused')
      return badKey(ex, 'Incorrect API key provided.')
    }

    function admit(ex: RequestContext, known: KnownKey | undefined): void {
      if (!known) throw refuse(ex, 'unknown')
      const { key, addresses } = known
      if (key.status !== 'active') throw refuse(ex, key.status, known)
      if (key.userStatus !== 'active') throw refuse(ex, 'user disabled', known)
      if (key.expiresAt !== null && key.expiresAt <= clock.now()) throw refuse(ex, 'expired', known)
      // One that the console made by a clock ahead would be good for as long as that was.
      if (key.kind === 'session' && key.createdAt > clock.now() + aheadMs) throw refuse(ex, 'of a clock ahead', known)
      if (addresses && !listHas(addresses, ex.head.remote)) throw fail('address_not_allowed')
      const name = key.group ?? key.userGroup
      const group = ex.plan.groups.get(name)
      if (!group) {
        if (!groupsMissed.has(name))
          log.warn({ group: name, key: key.id }, 'a key belongs to a group that is not configured')
        groupsMissed.add(name)
        throw fail('group_unknown', { group: name })
      }
      ex.payer = key.id
      ex.slots.put(callerSlot, { key, group })
    }

    function find(hash: string) {
      try {
        return keys.find(hash)
      } catch (cause) {
        throw unavailable(cause)
      }
    }

    function judge(ex: RequestContext, secret: string): Awaitable<void> {
      const found = find(hashSecret(secret))
      if (!isPromise(found)) return admit(ex, found)
      return found.then(
        known => admit(ex, known),
        (cause: unknown) => {
          throw unavailable(cause)
        },
      )
    }

    /** What this gateway cannot have made is looked up only where keys of another one were taken over. */
    function judgeForeign(ex: RequestContext, text: string): Awaitable<void> {
      if (!foreignPattern.test(text)) throw refuse(ex, 'malformed')
      const has = hasForeign()
      if (has === false) throw refuse(ex, 'malformed')
      if (!isPromise(has)) return judge(ex, text)
      return has.then(
        isTaken => {
          if (!isTaken) throw refuse(ex, 'malformed')
          return judge(ex, text)
        },
        (cause: unknown) => {
          throw unavailable(cause)
        },
      )
    }

    function hasForeign(): Awaitable<boolean> {
      try {
        return keys.hasForeign()
      } catch (cause) {
        throw unavailable(cause)
      }
    }

    async function findAny(text: string): Promise<KnownKey | undefined> {
      const isOurs = readSecret(text) !== undefined
      if (!isOurs && !(foreignPattern.test(text) && (await hasForeign()))) return undefined
      return find(hashSecret(text))
    }

    return {
      onRequest(ex) {
        const presented = ex.dialect.credentials(ex.head)
        const [text] = presented
        if (text === undefined) throw badKey(ex, 'The API key is missing.')
        if (presented.some(other => other !== text))
          return judgeSeveral(new Set(presented), findAny).then(known => admit(ex, known))
        return readSecret(text) === undefined ? judgeForeign(ex, text) : judge(ex, text)
      },
      onTarget(ex, target) {
        checkModels(ex.slots.need(callerSlot), target)
      },
      close: () => keys.close(),
    }
  },
})
