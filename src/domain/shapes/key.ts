import { type BudgetPeriod, joinPeriod, type ResetDay, splitPeriod } from '../budget-period.ts'
import { budgetUsed, renewalAt, type Spent } from '../budget.ts'
import type { Group, Limits } from '../model.ts'
import { type KeyBounds, keyBoundsSchema, showKeyBounds } from './bounds.ts'
import { formatMoney } from '../../util/units.ts'
import { modelsBarred } from '../model-names.ts'
import { type BudgetStatus, budgetView } from './budget.ts'
import { limitsSchema, showLimits } from './limits.ts'
import {
  type AnyMember,
  flag,
  json,
  moment,
  momentOrNull,
  money,
  moneyOrNull,
  oneOf,
  period,
  text,
  textOrNull,
  textsOrNull,
  type Values,
} from './member.ts'
import * as schemas from './schemas.ts'
import { computed, shownOf, viewOf } from './view.ts'

// All properties of a key: its members and their columns, its settings, and its JSON forms. The store, the API, the
// console and the command line all use these.

export const keyMembers = {
  id: text('id'),
  name: text('name'),
  user: text('user_name'),
  /** `session`: created for a person at the console, and not listed among the keys. */
  kind: oneOf('kind', ['key', 'session']),
  /** The key's own group, or null for the user's. */
  group: textOrNull('group_name'),
  /** The first characters and the last four of the secret, so that people can recognise it. */
  hint: text('hint'),
  status: oneOf('status', ['active', 'disabled', 'revoked']),
  /** Milliseconds since the epoch. */
  expiresAt: momentOrNull('expires_at'),
  /** The end of the validity of the previous secret after a rotation; null if there is none. */
  oldUntil: momentOrNull('old_until'),
  /** The models that the key may use; null for all. */
  models: textsOrNull('models'),
  /** The client addresses that may use the key; null for all. */
  ips: textsOrNull('ips'),
  /** The purpose of its requests; null for none. */
  tags: textsOrNull('tags'),
  /** Whether it uses cached answers: `on`, `off`, or null for the model's setting. */
  cache: textOrNull('cache'),
  /** Its own, tighter limits. */
  limits: json('limits', limitsSchema, (limits: Limits) => showLimits(limits)),
  budget: moneyOrNull('budget'),
  budgetPeriod: period('budget_period'),
  /** Its budget only reports and refuses nothing. */
  budgetSoft: flag('budget_soft'),
  /** The bounds for its holder's changes. */
  bounds: json('bounds', keyBoundsSchema, (bounds: KeyBounds) => showKeyBounds(bounds)),
  /** The total amount since its creation. */
  spent: money('spent'),
  held: money('held'),
  createdAt: moment('created_at'),
  lastUsedAt: momentOrNull('last_used_at'),
} as const

/** The data of a key's user that is shown with the key. */
export const ownerMembers = {
  userGroup: text('user_group'),
  /** A disabled user's keys are refused. */
  userStatus: oneOf('user_status', ['active', 'disabled']),
  /** The budget of all the user's keys; null for the group's setting. */
  userBudget: moneyOrNull('user_budget'),
  userBudgetPeriod: period('user_budget_period'),
  userBudgetSoft: flag('user_budget_soft'),
  /** The sum of the user's top-ups; null without any: then requests need no balance. */
  userBalance: moneyOrNull('user_balance'),
} as const

export type Key = Values<typeof keyMembers> &
  Values<typeof ownerMembers> & {
    readonly spentIn: Spent['spentIn']
  }

const listOrNull = {
  type: ['array', 'null'],
  minItems: 1,
  maxItems: 200,
  uniqueItems: true,
  items: { type: 'string', maxLength: 200 },
} as const
const limit = { type: 'integer', minimum: 1, maximum: 1_000_000_000 } as const

/** The settings of a key: by the name in requests, its member and its schema. */
export const keySettings = {
  name: { member: 'name', schema: schemas.label },
  group: {
    member: 'group',
    schema: {
      type: ['string', 'null'],
      maxLength: 100,
      description: 'Group of the key. Null for the group of its user. Administrators only.',
    },
  },
  expires: { member: 'expiresAt', schema: schemas.momentOrNull },
  models: {
    member: 'models',
    schema: {
      ...listOrNull,
      description: 'Models that the key may use. `*` in a name matches any text. Null for all models.',
    },
  },
  ips: {
    member: 'ips',
    schema: {
      ...listOrNull,
      description: 'Client addresses and CIDR blocks from which the key is accepted. Null for all addresses.',
    },
  },
  tags: {
    member: 'tags',
    schema: {
      ...listOrNull,
      maxItems: 16,
      items: { type: 'string', minLength: 1, maxLength: 128, pattern: '^[^,\\p{C}]+$' },
      description:
        'Tags of the requests with this key, if the plugin `attribution` has the source `key`. Null for none. Administrators only.',
    },
  },
  cache: {
    member: 'cache',
    schema: {
      type: ['string', 'null'],
      enum: ['on', 'off', null],
      description:
        'Whether requests with this key use the answer cache of models that have one. Null for the setting of the model. Administrators only.',
    },
  },
  limits: {
    member: 'limits',
    schema: {
      type: 'object',
      additionalProperties: false,
      properties: { rpm: limit, tpm: limit, concurrency: limit },
      description: 'Limits of the key, in addition to those of its group.',
    },
  },
  budget: { member: 'budget', schema: { type: ['string', 'null'], pattern: schemas.decimal } },
  budget_resets_on: { member: 'budgetPeriod', schema: schemas.resetsOnOrNull },
  budget_period: { member: 'budgetPeriod', schema: schemas.period },
  budget_soft: {
    member: 'budgetSoft',
    schema: { ...schemas.truth, description: 'Whether the budget only sends threshold events and refuses no request.' },
  },
} as const satisfies { readonly [name: string]: { readonly member: keyof typeof keyMembers; readonly schema: object } }

type SettingName = keyof typeof keySettings

/** The settings of a key that can be changed later. */
export type KeySettings = Pick<Key, (typeof keySettings)[SettingName]['member']>

/** The default settings of a key with only a name and a group. */
export const unset: Omit<KeySettings, 'name' | 'group'> = {
  expiresAt: null,
  models: null,
  ips: null,
  tags: null,
  cache: null,
  limits: {},
  budget: null,
  budgetPeriod: 'total',
  budgetSoft: false,
}

/** The members that are settings. */
export const settingMembers = Object.fromEntries(
  Object.values(keySettings).map(({ member }) => [member, keyMembers[member]]),
) as Pick<typeof keyMembers, keyof KeySettings>

/** The schemas of the settings, by their names in requests. */
export const settingSchemas = Object.fromEntries(
  Object.entries(keySettings).map(([name, { schema }]) => [name, schema]),
) as { readonly [N in SettingName]: (typeof keySettings)[N]['schema'] }

/** The settings in a request, by members of the key; settings that are not given are left out. */
export function parseSettings(given: { readonly [N in SettingName]?: unknown }): Partial<KeySettings> {
  const settings: { [member: string]: unknown } = {}
  for (const [name, { member }] of Object.entries(keySettings)) {
    const value = given[name as SettingName]
    if (value !== undefined) settings[member] = keyMembers[member].parse(value as never)
  }
  delete settings['budgetPeriod']
  const period = parsePeriod(given)
  if (period) settings['budgetPeriod'] = period
  return settings
}

/** The period in a request; null if it is not valid, or if only its reset day is given. */
export function parsePeriod(given: {
  readonly budget_period?: unknown
  readonly budget_resets_on?: unknown
}): BudgetPeriod | null | undefined {
  const { budget_period: per, budget_resets_on: day } = given
  if (per === undefined) return day === undefined || day === null ? undefined : null
  return joinPeriod(per as string, day as ResetDay | null | undefined) ?? null
}

/** The settings and status of a key, as in the audit log. */
export function settingsOf(key: Key): KeySettings & Pick<Key, 'status'> {
  const settings: { [member: string]: unknown } = {}
  for (const { member } of Object.values(keySettings)) settings[member] = key[member]
  return { ...(settings as KeySettings), status: key.status }
}

type Keyed = { readonly key: Key }
/** `zone`: the time zone of budget days and months. */
type AtMoment = Keyed & { readonly now: number; readonly zone: string }
/** A key and the groups of a configuration. */
type InPlan = AtMoment & {
  readonly plan: { readonly currency: string; readonly groups: ReadonlyMap<string, Pick<Group, 'limits' | 'models'>> }
  /** The state of the applicable budget with the least remaining. */
  readonly tightest: BudgetStatus | undefined
}

const own = shownOf(keyMembers, ({ key }: Keyed) => key)
const groupOf = ({ key }: Keyed): string => key.group ?? key.userGroup

const group = computed(schemas.text, groupOf)
const oldUntil = computed(keyMembers.oldUntil.schema, ({ key, now }: AtMoment) =>
  keyMembers.oldUntil.show(key.oldUntil !== null && key.oldUntil > now ? key.oldUntil : null),
)

/** The JSON form of a key in the console's API, without its secret and hash. */
export const keyView = viewOf<InPlan>()({
  id: own('id'),
  name: own('name'),
  user: own('user'),
  group,
  own_group: own('group'),
  hint: own('hint'),
  status: own('status'),
  expires: own('expiresAt'),
  old_secret_until: oldUntil,
  models: own('models'),
  models_barred: computed(
    {
      type: 'array',
      items: schemas.text,
      description: 'Entries of `models` of which the group of the key allows no model. Requests for them are refused.',
    },
    (from: InPlan) => [...modelsBarred(from.key.models, from.plan.groups.get(groupOf(from)))],
  ),
  ips: own('ips'),
  tags: own('tags'),
  cache: own('cache'),
  limits: own('limits'),
  group_limits: computed(limitsSchema, (from: InPlan) => showLimits(from.plan.groups.get(groupOf(from))?.limits ?? {})),
  budget: own('budget'),
  budget_period: computed(schemas.period, ({ key }: Keyed) => splitPeriod(key.budgetPeriod).per),
  budget_resets_on: computed(schemas.resetsOnOrNull, ({ key }: Keyed) => splitPeriod(key.budgetPeriod).resetsOn),
  budget_soft: own('budgetSoft'),
  budget_used: computed(schemas.text, ({ key, now, zone }: AtMoment) => formatMoney(budgetUsed(key, now, zone))),
  tightest: computed(
    {
      ...budgetView.schema,
      type: ['object', 'null'],
      description:
        'Of the budgets of the key, its user and its group and the balance, the one with the least remaining. Null if there is none.',
    },
    ({ tightest }: InPlan) => (tightest ? budgetView.show(tightest) : null),
  ),
  spent: own('spent'),
  held: own('held'),
  currency: computed(schemas.text, ({ plan }: InPlan) => plan.currency),
  bounds: own('bounds'),
  created: own('createdAt'),
  last_used: own('lastUsedAt'),
})

/** The form of a key on the command line, one member per line. */
export const keyLineView = viewOf<AtMoment>()({
  id: own('id'),
  name: own('name'),
  user: own('user'),
  group,
  hint: own('hint'),
  status: own('status'),
  models: own('models'),
  ips: own('ips'),
  tags: own('tags'),
  cache: own('cache'),
  limits: own('limits'),
  expires: own('expiresAt'),
  old_key_until: oldUntil,
  budget: own('budget'),
  budget_period: computed(schemas.period, ({ key }: Keyed) => splitPeriod(key.budgetPeriod).per),
  budget_resets_on: computed(schemas.resetsOnOrNull, ({ key }: Keyed) => splitPeriod(key.budgetPeriod).resetsOn),
  budget_soft: own('budgetSoft'),
  budget_used: computed(schemas.textOrNull, ({ key, now, zone }: AtMoment) =>
    key.budget === null ? null : formatMoney(budgetUsed(key, now, zone)),
  ),
  budget_renews: computed(schemas.momentOrNull, ({ key, now, zone }: AtMoment) =>
    keyMembers.expiresAt.show(key.budget === null ? null : renewalAt(key.budgetPeriod, now, zone)),
  ),
  spent: own('spent'),
  held: own('held'),
  created: own('createdAt'),
  last_used: own('lastUsedAt'),
})

/** Members of a key that the audit log shows, by their names in the API. */
export const auditedMembers: { readonly [member: string]: { readonly name: string; readonly member: AnyMember } } = {
  ...Object.fromEntries(
    Object.entries(keySettings).map(([name, { member }]) => [member, { name, member: keyMembers[member] }]),
  ),
  oldUntil: { name: 'old_secret_until', member: keyMembers.oldUntil },
  bounds: { name: 'bounds', member: keyMembers.bounds },
}
