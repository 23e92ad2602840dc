import {
  type Attribution,
  type Caller,
  type Group,
  type Key,
  type LimitKind,
  type LimitRequest,
  type Model,
  ownerOfKey,
  slotsOfJobs,
  slotsOfUpstream,
  type Upstream,
} from '../../src/plugin-api/index.ts'

/** A limit in the form that applies to one request. */
export type Limit = LimitRequest & {
  readonly name:
    | 'user_rpm'
    | 'user_tpm'
    | 'key_concurrency'
    | 'key_jobs'
    | `all_keys_${LimitKind}`
    | `group_${LimitKind}`
    | `end_user_${LimitKind}`
    | 'model_rpm'
    | 'upstream_concurrency'
  readonly counts: 'requests' | 'tokens' | 'places'
  /** The owner of the limit, for the log: a group, a model, an upstream. */
  readonly of: string
  readonly owner: string
  /** A description of the owner, if others than the key share the limit. */
  readonly sharedBy?: string
}

type Shape = Pick<Limit, 'name' | 'counts' | 'kind'>
const ofUsers: { readonly [kind in LimitKind]: Shape } = {
  rpm: { name: 'user_rpm', counts: 'requests', kind: 'window' },
  tpm: { name: 'user_tpm', counts: 'tokens', kind: 'window' },
  concurrency: { name: 'key_concurrency', counts: 'places', kind: 'places' },
}
/** The units that a request takes from a limit; another plugin provides its tokens. */
const unitsPerRequest = { requests: 1, tokens: 0, places: 1 } as const
const kinds = Object.keys(ofUsers) as readonly LimitKind[]

/** Computed once for a key and its group in their current version: every request needs them twice. */
const limitsOfKeys = new WeakMap<Key, { readonly group: Group; readonly limits: readonly Limit[] }>()

/**
 * The limits of a client (`docs/rules.md#limits`): the group's value, counted per key or per user, and the key's own,
 * which is counted per key and applies if it is tighter; then those that all keys of the user share, and those of the
 * whole group. None takes tokens yet.
 */
export function userLimits({ key, group }: Caller): readonly Limit[] {
  const known = limitsOfKeys.get(key)
  if (known?.group === group) return known.limits
  const limits = findUserLimits(key, group)
  limitsOfKeys.set(key, { group, limits })
  return limits
}

function findUserLimits(key: Key, group: Group): readonly Limit[] {
  const limits: Limit[] = []
  const owner = ownerOfKey(key, group)
  const add = (
    shape: Shape,
    counted: Pick<Limit, 'id' | 'owner' | 'sharedBy'>,
    limit: number,
    shadow = false,
  ): void => {
    // A shadow limit has its own counter: it counts requests that it would have refused next to a limit that does
    // refuse.
    const id = `${shadow ? 'shadow ' : ''}${counted.id}`
    const at = limits.findIndex(one => one.id === id)
    if (at !== -1 && (limits[at] as Limit).limit <= limit) return
    const tighter = { ...shape, ...counted, id, limit, amount: unitsPerRequest[shape.counts], shadow, of: group.name }
    if (at === -1) limits.push(tighter)
    else limits[at] = tighter
  }
  const [ofKey, ofUser, ofGroup] = [`key ${key.id}`, `user ${key.user}`, `group ${group.name}`]
  for (const kind of kinds) {
    const who = group.limitScope === 'user' && kind !== 'concurrency' ? ofUser : ofKey
    for (const [whose, from] of [
      [who, group.limits],
      [ofKey, key.limits],
    ] as const) {
      const limit = from[kind]
      if (limit === undefined) continue
      add(ofUsers[kind], { id: `${kind} ${whose}`, owner }, limit, from.shadow?.includes(kind) === true)
    }
  }
  // Narrow limits come first: a client over its own limit takes nothing from the shared ones.
  for (const [from, whose, name, sharedBy] of [
    [group.limitsPerUser, ofUser, 'all_keys', `all keys of user ${key.user}`],
    [group.limitsInAll, ofGroup, 'group', `all keys of group ${group.name}`],
  ] as const)
    for (const kind of kinds) {
      const limit = from?.[kind]
      if (limit === undefined) continue
      const shape = { ...ofUsers[kind], name: `${name}_${kind}` } as const
      add(shape, { id: `${kind} ${whose}`, owner: whose, sharedBy }, limit)
    }
  return limits
}

/**
 * The limits of the end user of a request. A user's end users are counted separately from those of other users, which
 * may have the same names.
 */
export function endUserLimits({ key, group }: Caller, attribution: Attribution | undefined): readonly Limit[] {
  const { limitsPerEndUser: from } = group
  if (!from || !attribution || attribution.endUserId === null) return []
  const owner = `end user ${attribution.endUserId} of ${key.user}`
  return kinds.flatMap(kind => {
    const limit = from[kind]
    if (limit === undefined) return []
    const shape = { ...ofUsers[kind], name: `end_user_${kind}` } as const
    const sharedBy = 'all requests for this end user'
    const counted = { id: `${kind} ${owner}`, owner, sharedBy, of: group.name }
    return [{ ...shape, ...counted, limit, amount: unitsPerRequest[shape.counts], shadow: false }]
  })
}

/** Open jobs that a key may have if its group sets no limit. */
const jobsMax = 100

/** The maximum number of open jobs of the key whose clients do not wait. */
export function jobsLimit({ key, group }: Caller): Limit {
  return {
    name: 'key_jobs',
    counts: 'places',
    kind: 'places',
    ...slotsOfJobs(key, group),
    limit: group.jobs ?? jobsMax,
    amount: unitsPerRequest.places,
    shadow: false,
    of: group.name,
  }
}

/** The limits of the model: for all requests together, or for each key (`docs/rules.md#limits`). */
export function modelLimits(model: Model, { key, group }: Caller): readonly Limit[] {
  const { rpm, scope, shadow } = model.limits
  // All names of a wildcard count together: a client that invents names gets no additional requests.
  const name = model.wildcard ?? model.name
  if (rpm === undefined) return []
  const isShadow = shadow?.includes('rpm') === true
  const whose = scope === 'key' ? ` key ${key.id}` : ''
  return [
    {
      name: 'model_rpm',
      counts: 'requests',
      kind: 'window',
      id: `${isShadow ? 'shadow ' : ''}rpm model ${name}${whose}`,
      owner: scope === 'key' ? ownerOfKey(key, group) : `model ${name}`,
      limit: rpm,
      amount: unitsPerRequest.requests,
      shadow: isShadow,
      of: name,
    },
  ]
}

/** The concurrency limit of an upstream; undefined if it has none. */
export function upstreamLimit({ name, concurrency, shadow }: Upstream): Limit | undefined {
  if (concurrency === undefined) return undefined
  return {
    name: 'upstream_concurrency',
    counts: 'places',
    kind: 'places',
    ...slotsOfUpstream(name),
    limit: concurrency,
    amount: unitsPerRequest.places,
    shadow: shadow?.includes('concurrency') === true,
    of: name,
  }
}
