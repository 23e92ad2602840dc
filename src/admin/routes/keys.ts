import {
  type BudgetPeriod,
  isOffered,
  type Key,
  type KeySettings,
  levelsAbove,
  type CompiledConfig,
  type Refused,
  tightestOf,
} from '../../domain/index.ts'
import { type Admits, formatMoney, parseAddressRange } from '../../util/index.ts'
import { keyView, parsePeriod, parseSettings, settingSchemas, unset } from '../../domain/shapes/key.ts'
import { keyAnswer, keysAnswer, keyTotalsAnswer, putKeyAnswer, secretAnswer } from '../response-schemas.ts'
import { type AdminRequest, defineRoute, Reply } from '../api.ts'
import { may } from '../duties.ts'
import { fail } from '../errors.ts'
import { refuse } from '../reasons.ts'
import { pageOf } from '../page-of.ts'
import { cursors, pageLimit, userName } from '../schemas.ts'
import { ownerOf, sessionUserOf } from '../session-user.ts'

const { name: label, ...settings } = settingSchemas

/** The settings in a request. */
type GivenSettings = Partial<Admits<{ readonly type: 'object'; readonly properties: typeof settingSchemas }>>

/** @throws Failure invalid with the name of the field */
export function readSettings(settings: GivenSettings, request: AdminRequest): Partial<KeySettings> {
  const plan = request.parts.plan()
  const { group, models, ips } = settings
  // Only users who may choose a group see the names of groups.
  if (typeof group === 'string' && isAdmin(request)) checkGroup(plan, group)
  const unknown = models?.find(model => !isOffered(plan, model))
  if (unknown !== undefined) throw refuse('invalid', 'model_unknown', { model: unknown }, { param: 'models' })
  const wrong = ips?.find(ip => parseAddressRange(ip) === undefined)
  if (wrong !== undefined) throw refuse('invalid', 'address', { address: wrong }, { param: 'ips' })
  checkPeriod(settings)
  const given = parseSettings(settings)
  const { expiresAt } = given
  if (typeof expiresAt === 'number' && !(expiresAt > request.parts.clock.now()))
    throw refuse('invalid', 'passed', {}, { param: 'expires' })
  return given
}

/** @throws Failure invalid */
export function checkPeriod(fields: Parameters<typeof parsePeriod>[0]): BudgetPeriod | undefined {
  const period = parsePeriod(fields)
  if (period === null) throw refuse('invalid', 'resets_on', {}, { param: 'budget_resets_on' })
  return period
}

/** @throws Failure invalid */
export function checkGroup(plan: CompiledConfig, group: string): void {
  if (!plan.groups.has(group))
    throw refuse('invalid', 'group_unknown', { group, known: [...plan.groups.keys()].join(', ') }, { param: 'group' })
}

/** A key that the user may see; other users' keys count as missing. @throws Failure not_found */
async function findKey(request: AdminRequest): Promise<Key> {
  const owner = ownerOf(request)
  const key = await request.parts.storage.keys.find(request.params['id'] ?? '')
  if (!key || key.kind !== 'key' || (owner !== undefined && key.user !== owner)) throw fail('not_found')
  return key
}

/** The keys with a name, at most one. @throws Failure conflict if several keys of the user have this name */
async function namedKeys(request: AdminRequest, user: string): Promise<readonly Key[]> {
  const name = request.params['name'] ?? ''
  const keys = await request.parts.storage.keys.named(user, name)
  if (keys.length > 1) throw refuse('conflict', 'name_shared', { name, user })
  return keys
}

/** @throws Failure not_found, conflict */
async function findNamed(request: AdminRequest, user: string): Promise<Key> {
  const [key] = await namedKeys(request, user)
  if (!key) throw fail('not_found')
  return key
}

async function show(request: AdminRequest, key: Key) {
  const [shown] = await showAll(request, [key])
  return shown as NonNullable<typeof shown>
}

async function showAll({ parts }: AdminRequest, keys: readonly Key[]) {
  const [plan, now] = [parts.plan(), parts.clock.now()]
  const above = levelsAbove(plan, keys)
  const sums = await parts.storage.books.levels(
    above,
    above.map(({ per }) => per),
  )
  return keys.map(key => {
    const tightest = tightestOf({ plan, sums, now }, key)
    return keyView.show({ key, plan, now, zone: plan.timeZone, tightest })
  })
}

/** Settings by administrators limit all other users. */
function isAdmin(request: AdminRequest): boolean {
  return may(sessionUserOf(request).user, 'admin')
}

/** @throws Failure out_of_bounds if the user's bounds are lower */
function allowed<T>(result: T | Refused): T {
  if (typeof result !== 'object' || result === null || !('refused' in result)) return result
  const { field, allowed, by, values } = result.refused
  throw fail('out_of_bounds', { field, allowed, by }, { param: field, values: { ...values, by } })
}

const revoked = () => refuse('conflict', 'revoked', {})

/** The owner in a query of keys; undefined for all. @throws Failure for another user, as in all lists */
function ownerOfQuery(request: AdminRequest, wanted: string | undefined): string | undefined {
  const owner = ownerOf(request)
  if (owner !== undefined && wanted !== undefined && wanted !== owner) throw fail('forbidden', {}, { param: 'user' })
  return owner ?? wanted
}

export const keyRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/keys',
    access: 'user',
    summary: 'List API keys, newest first.',
    query: {
      type: 'object',
      additionalProperties: false,
      properties: {
        limit: pageLimit,
        before: cursors.keys,
        user: { type: 'string', maxLength: 64 },
        search: {
          type: 'string',
          minLength: 1,
          maxLength: 100,
          description: 'Only keys whose name contains this text.',
        },
      },
    },
    answer: keysAnswer,
    async handle(request) {
      const { limit, before, user: wanted, search } = request.query
      const user = ownerOfQuery(request, wanted)
      const { rows, next } = await pageOf(
        limit,
        (key: Key) => key.id,
        limit =>
          request.parts.storage.keys.list({
            limit,
            ...(before !== undefined && { before }),
            ...(user !== undefined && { user }),
            ...(search !== undefined && { search }),
          }),
      )
      return { keys: await showAll(request, rows), next }
    },
  }),
  defineRoute({
    method: 'GET',
    url: '/api/keys/totals',
    access: 'user',
    summary: 'Get the number of API keys, and their total spend and holds.',
    query: { type: 'object', additionalProperties: false, properties: { user: { type: 'string', maxLength: 64 } } },
    answer: keyTotalsAnswer,
    async handle(request) {
      const user = ownerOfQuery(request, request.query.user)
      const { keys, active, spent, held } = await request.parts.storage.keys.totals(user)
      const { currency } = request.parts.plan()
      return { keys, active, currency, spent: formatMoney(spent), held: formatMoney(held) }
    },
  }),
  defineRoute({
    method: 'POST',
    url: '/api/keys',
    access: 'keys',
    summary: 'Create an API key. Its secret is only in this response.',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['name'],
      properties: {
        name: label,
        user: { ...userName, description: 'Owner of the key. The default is the signed-in user. Administrators only.' },
        ...settings,
      },
    },
    answer: secretAnswer,
    status: 201,
    async handle(request) {
      const found = sessionUserOf(request)
      const { name: user, group: ownGroup } = found.user
      const { user: wanted, ...settings } = request.body
      if (wanted === undefined && 'token' in found)
        throw refuse('invalid', 'missing', { field: 'user' }, { param: 'user' })
      if (wanted !== undefined && wanted !== user && !isAdmin(request)) throw fail('forbidden', {}, { param: 'user' })
      const { secret, hash, hint } = request.parts.newSecret()
      const chosen = readSettings(settings, request)
      const made = { group: null, ...chosen, name: settings.name, user: wanted ?? user, hash, hint }
      const { keys } = request.parts.storage
      const keysMax = request.parts.plan().groups.get(ownGroup)?.keysMax
      const key = isAdmin(request) ? await keys.create(made, user) : allowed(await keys.createOwn(made, user, keysMax))
      return { key: await show(request, key), secret }
    },
  }),
  defineRoute({
    method: 'GET',
    url: '/api/keys/by-name/:name',
    access: 'readers',
    summary: 'Get an API key of a user by its name.',
    query: { type: 'object', additionalProperties: false, required: ['user'], properties: { user: userName } },
    answer: keyAnswer,
    handle: async request => show(request, await findNamed(request, request.query.user)),
  }),
  defineRoute({
    method: 'PUT',
    url: '/api/keys/by-name/:name',
    access: 'admin',
    summary:
      'Create or update an API key of a user by its name. Settings that are not sent are unset. The secret is only in the response that creates the key.',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['user'],
      properties: {
        user: { ...userName, description: 'Owner of the key.' },
        status: {
          type: 'string',
          enum: ['active', 'disabled'],
          description: 'Status of the key. Absent: unchanged, and active for a new key.',
        },
        ...settings,
      },
    },
    answer: putKeyAnswer,
    async handle(request) {
      const { user, status, ...settings } = request.body
      const name = request.params['name'] ?? ''
      if (name.length > label.maxLength || !new RegExp(label.pattern, 'u').test(name))
        throw refuse('invalid', 'not_label', { field: 'name' }, { param: 'name' })
      const { secret, hash, hint } = request.parts.newSecret()
      const key = { ...unset, group: null, ...readSettings(settings, request), name, user, hash, hint }
      const put = await request.parts.storage.keys.put(key, status ?? null, sessionUserOf(request).user.name)
      if (put.kind === 'shared') throw refuse('conflict', 'name_shared', { name, user })
      const created = put.kind === 'created'
      const answer = { created, key: await show(request, put.key), secret: created ? secret : null }
      const headers = { 'content-type': 'application/json; charset=utf-8' }
      return new Reply(created ? 201 : 200, headers, JSON.stringify(answer))
    },
  }),
  defineRoute({
    method: 'DELETE',
    url: '/api/keys/by-name/:name',
    access: 'admin',
    summary: 'Revoke an API key of a user by its name, permanently. Without such a key, nothing is changed.',
    query: { type: 'object', additionalProperties: false, required: ['user'], properties: { user: userName } },
    status: 204,
    async handle(request) {
      const { keys } = request.parts.storage
      for (const { id } of await namedKeys(request, request.query.user))
        await keys.revoke(id, sessionUserOf(request).user.name)
      return null
    },
  }),
  defineRoute({
    method: 'GET',
    url: '/api/keys/:id',
    access: 'user',
    summary: 'Get an API key.',
    answer: keyAnswer,
    handle: async request => show(request, await findKey(request)),
  }),
  defineRoute({
    method: 'PATCH',
    url: '/api/keys/:id',
    access: 'keys',
    summary: 'Update an API key. Fields that are not sent stay unchanged.',
    body: {
      type: 'object',
      additionalProperties: false,
      minProperties: 1,
      properties: { name: label, status: { type: 'string', enum: ['active', 'disabled'] }, ...settings },
    },
    answer: keyAnswer,
    async handle(request) {
      const { status, ...settings } = request.body
      const { id } = await findKey(request)
      const change = { ...readSettings(settings, request), ...(status !== undefined && { status }) }
      const { keys } = request.parts.storage
      const by = sessionUserOf(request).user.name
      const key = isAdmin(request) ? await keys.change(id, change, by) : allowed(await keys.changeOwn(id, change, by))
      if (!key) throw revoked()
      return show(request, key)
    },
  }),
  defineRoute({
    method: 'POST',
    url: '/api/keys/:id/rotate',
    access: 'keys',
    summary: 'Rotate an API key. The old secret stays valid for a time.',
    body: {
      type: 'object',
      additionalProperties: false,
      properties: { overlap_seconds: { type: 'integer', minimum: 0, maximum: 604_800, default: 3_600 } },
    },
    answer: secretAnswer,
    async handle(request) {
      const { id } = await findKey(request)
      const { secret, hash, hint } = request.parts.newSecret()
      const rotation = { hash, hint, overlapMs: request.body.overlap_seconds * 1_000 }
      const key = await request.parts.storage.keys.rotate(id, rotation, sessionUserOf(request).user.name)
      if (!key) throw revoked()
      return { key: await show(request, key), secret }
    },
  }),
  defineRoute({
    method: 'DELETE',
    url: '/api/keys/:id',
    access: 'keys',
    summary: 'Revoke an API key permanently. The next request with it is refused.',
    status: 204,
    async handle(request) {
      const { id } = await findKey(request)
      await request.parts.storage.keys.revoke(id, sessionUserOf(request).user.name)
      return null
    },
  }),
]
