import {
  type Budget,
  type Group,
  showPeriod,
  type User,
  type UserChange,
  type UserFilter,
  userBoundsSetBy,
  waysIn,
} from '../../domain/index.ts'
import { type Admits, eachPage, formatMoney } from '../../util/index.ts'
import { settingSchemas, unset } from '../../domain/shapes/key.ts'
import { showLimits } from '../../domain/shapes/limits.ts'
import { userMembers, userView } from '../../domain/shapes/user.ts'
import { groupsAnswer, userAnswer, usersAnswer } from '../response-schemas.ts'
import { type AdminRequest, defineRoute, Reply } from '../api.ts'
import { fail } from '../errors.ts'
import { pageOf } from '../page-of.ts'
import { refuse } from '../reasons.ts'
import { optionalLimit, password, passwordGuess, role, userName, userStatus } from '../schemas.ts'
import { checkPassword } from '../session/check-password.ts'
import { needFreshSignIn } from '../session/need-fresh-sign-in.ts'
import { needRightsOver } from '../session/token-user.ts'
import { toMoment } from '../to-moment.ts'
import { sessionUserOf } from '../session-user.ts'
import { wholeList } from '../whole-list.ts'
import { checkGroup, checkPeriod, readSettings } from './keys.ts'

const group = { type: 'string', minLength: 1, maxLength: 100 } as const
const keysMax = {
  type: ['integer', 'null'],
  minimum: 0,
  maximum: 1_000_000,
  description: 'Maximum number of keys of the user. Null for the setting of the group.',
} as const
const { budget, budget_period, budget_resets_on, limits, models, ips, expires } = settingSchemas
const keyBounds = {
  type: ['object', 'null'],
  additionalProperties: false,
  properties: { budget, budget_period, budget_resets_on, limits, models, ips, expires },
  description: 'Bounds for the keys that the user creates or changes. Null for no bounds.',
} as const

const changeable = {
  group,
  role,
  status: userStatus,
  keys_max: keysMax,
  key_bounds: keyBounds,
  budget,
  budget_period,
  budget_resets_on,
  budget_soft: settingSchemas.budget_soft,
} as const

type RequestedChange = Partial<Admits<{ readonly type: 'object'; readonly properties: typeof changeable }>>

/** @throws Failure invalid with the name of the field */
function readChange(body: RequestedChange, request: AdminRequest, by: string): UserChange {
  const { keys_max, key_bounds, budget, budget_period, budget_resets_on, budget_soft: budgetSoft, ...same } = body
  const budgetPeriod = checkPeriod({ budget_period, budget_resets_on })
  const most = key_bounds && { ...unset, ...readSettings(key_bounds, request) }
  return {
    ...same,
    ...(keys_max !== undefined && { keysMax: keys_max }),
    ...(most !== undefined && { keyBounds: most === null ? {} : userBoundsSetBy(by, most) }),
    ...(budget !== undefined && { budget: budget === null ? null : userMembers.budget.parse(budget) }),
    ...(budgetPeriod !== undefined && { budgetPeriod }),
    ...(budgetSoft !== undefined && { budgetSoft }),
  }
}

/** The user after a change. @throws Failure conflict, not_found */
async function changeUser(request: AdminRequest, name: string, change: UserChange): Promise<User> {
  const { parts } = request
  const by = sessionUserOf(request).user.name
  // One administrator always remains, because users cannot remove their own administrator right.
  if (name === by && ((change.role ?? 'admin') !== 'admin' || change.status === 'disabled'))
    throw refuse('conflict', 'self', {})
  const user = await parts.storage.users.change(name, change, by, waysIn(parts.plan()))
  if (!user) throw fail('not_found')
  return user
}

/** Creates a user without a password. @returns false if another request has created the user meanwhile */
async function createUser(
  request: AdminRequest,
  name: string,
  { group = 'default', role = 'user' }: RequestedChange,
): Promise<boolean> {
  const { users } = request.parts.storage
  try {
    await users.create({ name, group, role, passwordHash: null }, sessionUserOf(request).user.name)
    return true
  } catch (error) {
    if ((error as { readonly code?: string }).code === 'user_exists') return false
    throw error
  }
}

function showGroup(group: Group) {
  const {
    name,
    limits,
    multiplier,
    limitScope,
    keysMax,
    models,
    budget,
    userBudget,
    endUserBudget,
    limitsPerUser,
    limitsInAll,
  } = group
  return {
    name,
    limits: showLimits(limits),
    multiplier,
    limit_scope: limitScope,
    keys_max: keysMax ?? null,
    models: models ?? null,
    budget: showBudget(budget),
    user_budget: showBudget(userBudget),
    end_user_budget: showBudget(endUserBudget),
    limits_per_user: showLimits(limitsPerUser ?? {}),
    limits_in_all: showLimits(limitsInAll ?? {}),
  }
}

function showBudget(budget: Budget | undefined) {
  return budget ? { amount: formatMoney(budget.amount), ...showPeriod(budget.per), soft: budget.soft === true } : null
}

const usersAtOnce = 1_000

type ShownUser = Awaited<ReturnType<typeof readUsers>>[number]

/** Users with the use of their keys. */
async function readUsers({ storage }: AdminRequest['parts'], filter: UserFilter) {
  const users = await storage.users.list(filter)
  const uses = await storage.keys.uses(users.map(({ name }) => name))
  const used = new Map(uses.map(use => [use.user, use]))
  return users.map(user => {
    const { lastUsedAt = null, spent = 0 } = used.get(user.name) ?? {}
    return {
      ...userView.show(user),
      last_used: lastUsedAt === null ? null : toMoment(lastUsedAt),
      spent: formatMoney(spent),
    }
  })
}

export const peopleRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/users',
    access: 'readers',
    summary: 'List users, by name. Without `limit`, all of them.',
    query: {
      type: 'object',
      additionalProperties: false,
      properties: {
        limit: optionalLimit,
        after: { type: 'string', minLength: 1, maxLength: 256, description: 'The `next` of the previous page.' },
        search: {
          type: 'string',
          minLength: 1,
          maxLength: 100,
          description: 'Only users whose name or group contains this text.',
        },
      },
    },
    answer: usersAnswer,
    async handle(request) {
      const { parts, query } = request
      const { limit, ...which } = query
      const totals = await parts.storage.users.totals()
      if (limit === undefined) {
        const pages = eachPage<ShownUser>(usersAtOnce, last =>
          readUsers(parts, { ...which, limit: usersAtOnce, ...(last && { after: last.name }) }),
        )
        return wholeList(request, 'users', pages, () => ({ ...totals, next: null }))
      }
      const { rows, next } = await pageOf(
        limit,
        (user: ShownUser) => user.name,
        limit => readUsers(parts, { ...which, limit }),
      )
      return { users: rows, ...totals, next }
    },
  }),
  defineRoute({
    method: 'GET',
    url: '/api/users/:name',
    access: 'readers',
    summary: 'Get a user.',
    answer: userAnswer,
    async handle({ parts, params }) {
      const user = await parts.storage.users.find(params['name'] ?? '')
      if (!user) throw fail('not_found')
      return userView.show(user)
    },
  }),
  defineRoute({
    method: 'POST',
    url: '/api/users',
    access: 'admin',
    summary: 'Create a user. Without a password, the user cannot sign in yet.',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['name'],
      properties: {
        name: userName,
        group: { ...group, default: 'default' },
        role: { ...role, default: 'user' },
        password: { ...password, type: ['string', 'null'] },
      },
    },
    answer: userAnswer,
    status: 201,
    async handle(request) {
      const { parts, body, door } = request
      needRightsOver(request, body.role)
      checkGroup(parts.plan(), body.group)
      const chosen = body.password ?? null
      if (chosen !== null) checkPassword(chosen, body.name)
      const passwordHash = chosen === null ? null : await door.hashes.run(() => parts.hashPassword(chosen))
      const { name, group, role } = body
      await parts.storage.users.create({ name, group, role, passwordHash }, sessionUserOf(request).user.name)
      const user = await parts.storage.users.find(name)
      if (!user) throw fail('not_found')
      return userView.show(user)
    },
  }),
  defineRoute({
    method: 'PATCH',
    url: '/api/users/:name',
    access: 'admin',
    summary:
      'Update the group, role, status, budget or ceilings of a user. Disabling a user or changing the role ends their sessions immediately.',
    body: {
      type: 'object',
      additionalProperties: false,
      minProperties: 1,
      properties: changeable,
    },
    answer: userAnswer,
    async handle(request) {
      const { parts, body, params } = request
      const by = sessionUserOf(request).user.name
      const name = params['name'] ?? ''
      needRightsOver(request, body.role, (await parts.storage.users.find(name))?.role)
      if (body.group !== undefined) checkGroup(parts.plan(), body.group)
      return userView.show(await changeUser(request, name, readChange(body, request, by)))
    },
  }),
  defineRoute({
    method: 'PUT',
    url: '/api/users/:name',
    access: 'admin',
    summary: 'Create or update a user. Fields that are not sent stay unchanged, or are the defaults of a new user.',
    body: { type: 'object', additionalProperties: false, properties: changeable },
    answer: userAnswer,
    async handle(request) {
      const { parts, body } = request
      const by = sessionUserOf(request).user.name
      const name = request.params['name'] ?? ''
      if (name.length > userName.maxLength || !new RegExp(userName.pattern, 'u').test(name))
        throw refuse('invalid', 'not_user_name', { field: 'name' }, { param: 'name' })
      const known = await parts.storage.users.find(name)
      needRightsOver(request, body.role, known?.role)
      if (body.group !== undefined) checkGroup(parts.plan(), body.group)
      const change = readChange(body, request, by)
      const isNew = !known && (await createUser(request, name, body))
      const user = await changeUser(request, name, change)
      if (!isNew) return userView.show(user)
      const headers = { 'content-type': 'application/json; charset=utf-8' }
      return new Reply(201, headers, JSON.stringify(userView.show(user)))
    },
  }),
  defineRoute({
    method: 'DELETE',
    url: '/api/users/:name',
    access: 'admin',
    summary:
      'Erase a user and all their data, except what the ledger must prove. Refused while requests of the user are in progress.',
    body: {
      type: 'object',
      additionalProperties: false,
      properties: {
        password: {
          ...passwordGuess,
          description: 'Password of the signed-in user. Required if they signed in more than 10 minutes ago.',
        },
      },
    },
    status: 204,
    async handle(request) {
      const { parts, params, body } = request
      const by = sessionUserOf(request).user.name
      await needFreshSignIn(request, body.password)
      needRightsOver(request, (await parts.storage.users.find(params['name'] ?? ''))?.role)
      if (!(await parts.storage.users.erase(params['name'] ?? '', by, waysIn(parts.plan())))) throw fail('not_found')
      return null
    },
  }),
  defineRoute({
    method: 'POST',
    url: '/api/users/:name/password',
    access: 'admin',
    summary: 'Set the password of another user, whose sessions end. For your own, use POST /api/account/password.',
    body: { type: 'object', additionalProperties: false, required: ['password'], properties: { password } },
    status: 204,
    async handle(request) {
      const { parts, body, params, door } = request
      const { user } = sessionUserOf(request)
      const name = params['name'] ?? ''
      // Otherwise a session without the password could set the password that other actions require.
      if (name === user.name) throw refuse('conflict', 'own_password', {})
      needRightsOver(request, (await parts.storage.users.find(name))?.role)
      checkPassword(body.password, name)
      const hash = await door.hashes.run(() => parts.hashPassword(body.password))
      if (!(await parts.storage.users.setPassword(name, hash, user.name))) throw fail('not_found')
      return null
    },
  }),
  defineRoute({
    method: 'GET',
    url: '/api/groups',
    access: 'readers',
    summary: 'List the configured groups, with their numbers of users and API keys.',
    answer: groupsAnswer,
    async handle({ parts }) {
      const members = new Map((await parts.storage.keys.members()).map(one => [one.group, one]))
      return {
        groups: [...parts.plan().groups.values()].map(group => {
          const { users = 0, keys = 0 } = members.get(group.name) ?? {}
          return { ...showGroup(group), users, keys }
        }),
      }
    },
  }),
]
