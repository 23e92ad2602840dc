import { cacheScopes } from '../domain/answer-cache.ts'
import { configHows } from '../domain/config-history.ts'
import { userBoundsSchema } from '../domain/shapes/bounds.ts'
import { budgetView } from '../domain/shapes/budget.ts'
import { billOrNull, logView } from '../domain/log-record.ts'
import { keyView } from '../domain/shapes/key.ts'
import { liveSessionSchema } from '../domain/shapes/live-session.ts'
import { limitsSchema } from '../domain/shapes/limits.ts'
import { priceConditions } from '../domain/shapes/price-conditions.ts'
import { upstreamKeyView } from '../domain/shapes/upstream-key.ts'
import {
  moment,
  momentOrNull,
  moneyList,
  number,
  text,
  textOrNull,
  texts,
  textsOrNull,
  truth,
  whole,
  wholeOrNull,
  period,
  resetsOnOrNull,
} from '../domain/shapes/schemas.ts'
import { incomparable } from '../domain/reprice.ts'
import { usageView } from '../domain/shapes/usage-row.ts'
import { userView } from '../domain/shapes/user.ts'

// The answers of the endpoints: the types of the server's handlers follow from these, the reference shows them, and the
// console derives its types from them. Nothing here runs in a browser, and nothing here depends on Node.

/** An object with these members, all of which are always present. */
function object<const P extends { readonly [name: string]: object }>(properties: P) {
  return {
    type: 'object',
    additionalProperties: false,
    required: Object.keys(properties) as unknown as readonly (keyof P & string)[],
    properties,
  } as const
}

function listOf<const S extends object>(items: S) {
  return { type: 'array', items } as const
}

export const keyAnswer = keyView.schema
export const keysAnswer = object({ keys: listOf(keyAnswer), next: textOrNull })
export const keyTotalsAnswer = object({ keys: whole, active: whole, currency: text, spent: text, held: text })
export const secretAnswer = object({ key: keyAnswer, secret: { ...text, description: 'Shown this once.' } })

export const putKeyAnswer = object({
  created: { ...truth, description: 'Whether the key is new.' },
  key: keyAnswer,
  secret: { ...textOrNull, description: 'Of a new key, this once; null if the key existed.' },
})

const topUp = object({ id: text, amount: text, at: text, by: text, note: textOrNull })
export const topUpAnswer = topUp
export const budgetsAnswer = object({
  currency: text,
  budgets: listOf(
    object({
      ...budgetView.schema.properties,
      called: { ...textOrNull, description: 'The name of a key; null for what is named by `name`.' },
      forecast: {
        ...textOrNull,
        description:
          'Expected spending until it renews, at the current pace. Null for a budget that never renews, and early in its period.',
      },
      refused_since: {
        ...momentOrNull,
        description:
          'Since when requests are refused in this period because they might cost more than what is left; null if none was.',
      },
    }),
  ),
  end_users: {
    ...whole,
    description:
      'End users with a budget who have spent or held anything. Of these, `budgets` has the 100 with the least left.',
  },
  month: {
    ...object({
      since: moment,
      until: moment,
      zone: text,
      spent: listOf(object({ currency: text, amount: text, forecast: textOrNull })),
    }),
    description: 'What the month has come to, less what was given back, and what it will at that pace.',
  },
})
export const balanceAnswer = object({
  currency: text,
  balance: { ...budgetView.schema, type: ['object', 'null'], description: 'Null where nothing was ever paid in.' },
  topups: listOf(topUp),
})

export const userAnswer = userView.schema
const ofPeriod = { per: period, resets_on: resetsOnOrNull } as const
const budgetOrNull = { ...object({ amount: text, ...ofPeriod, soft: truth }), type: ['object', 'null'] } as const
export const usersAnswer = object({
  users: listOf(
    object({
      ...userAnswer.properties,
      last_used: { ...momentOrNull, description: 'When one of their keys was last used.' },
      spent: { ...text, description: 'What all their keys have spent.' },
    }),
  ),
})
export const groupsAnswer = object({
  groups: listOf(
    object({
      name: text,
      limits: limitsSchema,
      multiplier: text,
      limit_scope: text,
      keys_max: { ...wholeOrNull, description: 'How many keys each of its users may have; null for any number.' },
      models: {
        ...texts,
        type: ['array', 'null'],
        description: 'Models that its keys may request, `*` for any text in a name; null for all.',
      },
      budget: { ...budgetOrNull, description: 'What all keys of the group may spend together.' },
      user_budget: { ...budgetOrNull, description: 'What each user may spend who has no budget of their own.' },
      end_user_budget: { ...budgetOrNull, description: 'What each end user of a user may spend.' },
      limits_per_user: { ...limitsSchema, description: 'Of all keys of one user together.' },
      limits_in_all: { ...limitsSchema, description: 'Of all keys of the group together.' },
      users: whole,
      keys: whole,
    }),
  ),
})

const setFor = ['user', 'group'] as const
export const ceilingsAnswer = object({
  user: text,
  group: text,
  currency: text,
  keys: object({
    have: { ...whole, description: 'Keys that are not revoked.' },
    most: { ...wholeOrNull, description: 'How many there may be; null for any number.' },
    by: { type: ['string', 'null'], enum: [...setFor, null], description: 'For whom that is set.' },
  }),
  key_bounds: userBoundsSchema,
  budget: {
    ...object({ amount: text, ...ofPeriod, by: { type: 'string', enum: setFor } }),
    type: ['object', 'null'],
    description: 'What all keys of the user may spend together.',
  },
  limits: { ...limitsSchema, description: 'What the group gives each key, or each user: `limit_scope` says which.' },
  limit_scope: { type: 'string', enum: ['key', 'user'] },
  limits_per_user: { ...limitsSchema, description: 'What the group gives all keys of the user together.' },
})

export const sessionAnswer = object({
  user: userAnswer,
  may: { ...texts, description: 'What the role allows, as `x-access` of the endpoints has it.' },
  gateway: object({
    base_url: { ...text, description: 'Clients send requests to this address followed by /v1.' },
    currency: text,
    version: text,
    revision: text,
    simulated: { ...texts, description: 'Upstreams that are simulated.' },
    public_pricing: truth,
  }),
})
export const signInAnswer = object({
  passwords: { ...truth, description: 'Whether users can sign in with a password.' },
  issuers: listOf(object({ name: text, label: text })),
  at: { ...textOrNull, description: 'Where issuers send people back to: the console has to be opened there.' },
})
export const departureAnswer = object({ location: { ...text, description: 'Where the browser goes.' } })
export const signedInAnswer = object({
  session: sessionAnswer,
  next: { ...textOrNull, description: 'Where they were going, as it was said at the beginning.' },
})
export const linksAnswer = object({ links: listOf(object({ id: text, issuer: text, created: moment })) })
const invitation = object({
  id: text,
  name: { ...textOrNull, description: 'What they will be called; null where they choose.' },
  role: text,
  group: text,
  by: text,
  created: moment,
  expires: moment,
})
export const invitationAnswer = invitation
export const invitationsAnswer = object({ invitations: listOf(invitation) })
export const invitedAnswer = object({ invitation, link: { ...text, description: 'Shown this once.' } })
export const adminTokenAnswer = object({
  id: text,
  name: text,
  role: text,
  scopes: texts,
  ips: { ...textsOrNull, description: 'Addresses and CIDR blocks from which it is accepted; null for all.' },
  hint: text,
  by: { ...text, description: 'Who created it: a user, or `command line`.' },
  created: moment,
  expires: { ...momentOrNull, description: 'Null: it does not expire.' },
  last_used: momentOrNull,
})
export const adminTokensAnswer = object({ tokens: listOf(adminTokenAnswer) })
export const newAdminTokenAnswer = object({
  admin_token: adminTokenAnswer,
  token: { ...text, description: 'The secret. Only in this response.' },
})
export const openSessionsAnswer = object({
  sessions: listOf(object({ id: text, created: moment, seen: moment, agent: text, remote: text, current: truth })),
})

export const savedViewsAnswer = object({
  views: listOf(object({ id: text, page: text, name: text, query: text })),
})

const keyNames = {
  type: 'object',
  additionalProperties: text,
  description: 'The names of their keys, by id.',
} as const

export const logAnswer = logView.schema
export const logsAnswer = object({
  records: listOf(logAnswer),
  next: textOrNull,
  key_names: keyNames,
  key_sessions: { ...texts, description: 'Keys of console sessions, which the playground uses.' },
})
const refundAnswer = object({ amount: text, at: moment, by: text, reason: textOrNull })
export const logDetailAnswer = object({
  ...logAnswer.properties,
  key_name: { ...textOrNull, description: 'The name of its key; null for the key of a console session.' },
  user_agent: textOrNull,
  explanation: billOrNull,
  refund: {
    ...refundAnswer,
    type: ['object', 'null'],
    description: 'The last refund of its charge.',
  } as const,
  refunds: { ...listOf(refundAnswer), description: 'All refunds of its charge, oldest first: by whom and why.' },
  timing: object({ began: moment, ended: moment, duration_ms: number }),
})

const steps = listOf(object({ from: moment, requests: whole, errors: whole }))
export const histogramAnswer = object({ step_ms: whole, since: text, until: text, steps })

export const logTotalsAnswer = object({
  requests: whole,
  errors: whole,
  charges: whole,
  images: whole,
  sums: listOf(object({ currency: text, amount: text, refunded: text, net: text })),
  since: {
    ...momentOrNull,
    description: 'Where one answer looks at no more: requests before this moment were not added. Null where all were.',
  },
  next: {
    ...textOrNull,
    description: 'The value of `before` for the next page: each request is in one answer. Null if all were added.',
  },
})

export const latencyAnswer = object({
  since: moment,
  until: moment,
  rows: listOf(
    object({
      kind: {
        type: 'string',
        enum: ['call', 'refusal', 'lookup'],
        description: 'Whether the request went to a model; the gateway answers lookups itself.',
      },
      model: textOrNull,
      operation: text,
      requests: whole,
      errors: whole,
      p50_ms: wholeOrNull,
      p95_ms: wholeOrNull,
      first_byte_p50_ms: wholeOrNull,
      first_byte_p95_ms: wholeOrNull,
    }),
  ),
})

export const usageAnswer = object({ rows: listOf(usageView.schema) })

const costSum = {
  currency: text,
  charges: whole,
  images: whole,
  amount: text,
  refunded: { ...text, description: 'Of the amount, what was given back since.' },
  net: text,
  quantity: {
    ...wholeOrNull,
    description:
      'How many of the tier or unit; null for images, and where costs are neither split by nor narrowed to one.',
  },
  tokens: { ...whole, description: 'Input and output tokens of all kinds.' },
  saved: {
    ...text,
    description:
      'What hits of the answer cache have not cost: the first cost of each response, less the price of the hit.',
  },
} as const
const costs = listOf(
  object({
    bar: { ...whole, description: 'The number of its bar.' },
    what: {
      ...textOrNull,
      description: 'Of what costs are split by; empty where they are not, null for all that cost least.',
    },
    ...costSum,
  }),
)
const costTotals = listOf(object(costSum))
export const costsAnswer = object({
  zone: text,
  since: moment,
  until: moment,
  bars: { ...listOf(moment), description: 'When they begin.' },
  rows: costs,
  totals: { ...costTotals, description: 'Of all rows, by currency; every charge counts once.' },
  before: object({
    since: moment,
    rows: {
      ...costs,
      description: 'As many days before, in one bar: of the same names, and of those that came to nothing since.',
    },
    totals: costTotals,
  }),
  names: { type: 'object', additionalProperties: text, description: 'Of keys, by their ids.' } as const,
  sessions: { ...texts, description: 'Ids of those keys that sessions of the playground have made for themselves.' },
  gone: { ...texts, description: 'Of the names of rows those of keys, users, models … that there are no more.' },
})

export const avoidableAnswer = object({
  since: moment,
  until: moment,
  looked_since: {
    ...momentOrNull,
    description: 'Null: all images of the range are looked at.',
  },
  saved: { ...moneyList, description: 'What all of it comes to.' },
  rows: listOf(
    object({
      model: text,
      size: { ...textOrNull, description: 'The requested size, as sent.' },
      source: { ...text, description: 'Where the tier came from: request or default.' },
      billed: { ...text, description: 'The tier that was charged.' },
      at: {
        ...textOrNull,
        description: 'file:line of its current price; null if the model no longer has one.',
      },
      made: { ...text, description: 'The tier of what came back.' },
      ask: { ...text, description: 'A size that the same is made of, and that is charged so.' },
      currency: text,
      images: whole,
      charged: text,
      saved: { ...text, description: 'The saving of a request for that size.' },
    }),
  ),
})

const refundsElsewhere = {
  refunded_earlier: { ...text, description: 'Refunded in this month, of charges of earlier ones.' },
  refunded_later: { ...text, description: 'Refunded since, of charges of this month.' },
} as const

export const statementAnswer = object({
  month: text,
  zone: text,
  from: moment,
  until: { ...moment, description: 'The end of the month, which is not part of it.' },
  issued: moment,
  organization: { ...textOrNull, description: 'Of the setting `organization`.' },
  end_user: {
    ...textOrNull,
    description: 'The end user whose charges alone are in the totals and accounts; null for all.',
  },
  tag: { ...textOrNull, description: 'The tag whose charges alone are in the totals and accounts; null for all.' },
  reconciled: { ...truth, description: 'Whether the charges come to what the entries of the ledger do.' },
  totals: {
    ...listOf(
      object({
        currency: text,
        accounts: whole,
        opening: text,
        charges: whole,
        charged: text,
        refunds: whole,
        refunded: text,
        closing: text,
        ...refundsElsewhere,
        net: { ...text, description: 'Charged less refunded.' },
        costs: {
          ...text,
          description: 'What Costs show for the month: net, plus refunded_earlier, less refunded_later.',
        },
      }),
    ),
    description: 'All accounts together, by currency.',
  },
  accounts: listOf(
    object({
      user: text,
      group: text,
      currency: text,
      opening: text,
      charges: whole,
      charged: text,
      refunds: whole,
      refunded: text,
      ...refundsElsewhere,
      closing: text,
      lines: listOf(object({ model: text, tier: text, images: whole, quantity: whole, charged: text, refunded: text })),
    }),
  ),
  currency: { ...text, description: 'Of balances.' },
  balances: listOf(
    object({
      user: text,
      group: { ...text, description: 'The group that the user is in now.' },
      opening: text,
      topups: whole,
      topped_up: text,
      charged: { ...text, description: 'Of it was taken from the balance.' },
      refunded: text,
      closing: text,
    }),
  ),
  by: { ...textOrNull, description: 'What the labels are of: end_user or tag; null without a split.' },
  labels: {
    ...listOf(
      object({
        label: { ...textOrNull, description: 'Null for charges without one.' },
        currency: text,
        charges: whole,
        charged: text,
        refunded: { ...text, description: 'Of these charges, whenever it was given.' },
        costs: { ...text, description: 'Charged less refunded. By end user they add up to the costs of the totals.' },
      }),
    ),
    description: 'The month split as `by` says. A charge with several tags counts for each of them.',
  },
})

export const overviewAnswer = object({
  range: { type: 'string', enum: ['today', '7d', '30d'] },
  since: moment,
  until: moment,
  requests: whole,
  errors: whole,
  input_tokens: whole,
  output_tokens: whole,
  p50_ms: wholeOrNull,
  p95_ms: wholeOrNull,
  spent: moneyList,
  images: listOf(object({ tier: text, count: whole })),
  steps,
  ever: { ...truth, description: 'Whether there has ever been a request.' },
  review: {
    ...object({ count: whole, held: moneyList }),
    type: ['object', 'null'],
    description: 'Charges that wait for a person, and what is held for them; null for those who do not decide.',
  },
})

export const modelsAnswer = object({
  models: listOf(
    object({
      name: text,
      family: text,
      operations: texts,
      upstreams: texts,
      prices: listOf(object({ unit: text, price: text, currency: text, per: whole, at: text })),
      overrides: {
        ...listOf(
          object({
            if: priceConditions,
            prices: listOf(object({ unit: text, price: text, currency: text, per: whole })),
          }),
        ),
        description:
          'Prices that replace others where their conditions hold: of the first entry whose conditions hold.',
      },
      times: {
        ...listOf(object({ if: priceConditions, by: text })),
        description: 'Factors of the prices of tokens; all apply whose conditions hold.',
      },
      free: truth,
      limits: limitsSchema,
      ends: textOrNull,
      notes: object({ en: texts, zh: texts }),
      streams: texts,
      enabled: truth,
      usable: { ...truth, description: "Whether keys of the user's own group may request it." },
    }),
  ),
})

/** For the playground, which sends requests as clients do. */
export const explainAnswer = object({
  model: text,
  alias: { ...textOrNull, description: 'The requested name, if it is an alias of the model.' },
  family: text,
  operation: text,
  upstream: text,
  route: textOrNull,
  forwarded: texts,
  dropped: texts,
  sent: {
    type: 'object',
    additionalProperties: true,
    description: 'The body that the upstream would get, by its fields.',
  },
  expected_size: textOrNull,
  expected_resolution: textOrNull,
  expected_ratio: textOrNull,
  quote: { type: ['object', 'null'], description: 'What it would cost; null if nothing prices it.' },
  retry: {
    ...object({ on: listOf({ type: ['string', 'integer'] }), attempts: whole, if_sold: truth }),
    type: ['object', 'null'],
    description: 'Whether and after which failures it is sent again; null without `retry_on`.',
  },
  cache: {
    ...object({
      for_ms: whole,
      per: { type: 'string', enum: cacheScopes },
      keys: { type: 'string', enum: ['all', 'opted_in'] },
      each: text,
      times: text,
      price_at: text,
      expected: textOrNull,
    }),
    type: ['object', 'null'],
    description:
      'Whether equal requests get this answer later, and what they cost: `each`, plus `times` what the answer has cost. Null if it is not kept.',
  },
  warnings: texts,
  mismatch: {
    ...object({
      kind: { type: 'string', enum: ['ignored', 'dearer', 'other'] },
      asked: text,
      billed: text,
      made: text,
      returned: textOrNull,
      cheaper: textOrNull,
    }),
    type: ['object', 'null'],
    description: 'If the requested size and the returned image differ in price.',
  },
})

export const sessionKeyAnswer = object({ id: text, key: text, expires: moment })

const findings = listOf(
  object({
    severity: { type: 'string', enum: ['error', 'warning', 'note'] },
    code: text,
    message: text,
    remedy: textOrNull,
    line: whole,
    col: whole,
    path: text,
  }),
)
export const findingsAnswer = object({ ok: truth, findings })
export const reloadAnswer = {
  ...object({ ok: truth, revision: text, changes: texts, findings }),
  required: ['ok'],
} as const
const costPair = { charges: whole, before: text, after: text, difference: text } as const
const costPairs = {
  ...listOf(object({ name: { ...textOrNull, description: 'Null for all others together.' }, ...costPair })),
  description: 'Those that change most first.',
} as const
const costUnder = object({
  ok: truth,
  since: moment,
  until: moment,
  currency: text,
  ...costPair,
  by_model: costPairs,
  by_group: costPairs,
  by_user: costPairs,
  not_comparable: {
    ...listOf(
      object({
        reason: { type: 'string', enum: incomparable },
        model: textOrNull,
        currency: text,
        charges: whole,
        cost: text,
      }),
    ),
    description: 'Charges whose cost by the other prices is unknown: they are in no other sum.',
  } as const,
  uncounted: {
    ...texts,
    description: 'Models that are free now and would have a price: their requests left no charges.',
  },
})
const step = { type: ['string', 'integer'] } as const
export const restoreAnswer = object({
  edits: {
    type: 'array',
    items: {
      type: 'object',
      additionalProperties: false,
      required: ['path'],
      properties: {
        path: { type: 'array', items: step },
        value: { description: 'What it was then; absent where it was not there.' },
        was: { description: 'What is written now; absent where nothing is.' },
      },
    },
  } as const,
  left: { ...texts, description: 'Paths of other settings that have changed since.' },
})
export const costUnderAnswer = {
  ...costUnder,
  properties: { ...costUnder.properties, findings },
  required: ['ok'],
} as const
export const configAnswer = object({
  file: text,
  revision: text,
  loaded_at: moment,
  text,
  origins: listOf(
    object({
      path: text,
      value: text,
      file: { type: ['string', 'null'], description: 'The file that defines it; null for a default.' },
      line: wholeOrNull,
      from: { type: 'string', enum: ['file', 'environment', 'default'] },
    }),
  ),
  last_reload: {
    type: ['object', 'null'],
    additionalProperties: false,
    required: ['at', 'ok'],
    properties: { at: moment, ...reloadAnswer.properties },
  },
})

const entry = object({
  name: text,
  file: text,
  line: whole,
  own: { description: 'What is written of it; null for one of a list of models.' },
  whole: { description: 'The same with all that is laid under it.' },
})
export const editableAnswer = object({
  base: { ...text, description: 'Of the texts as they are.' },
  writable: { ...truth, description: 'Whether changes may be written from here.' },
  why_not: { ...textOrNull, description: 'off, no-file or read-only.' },
  models: listOf(entry),
  groups: listOf(entry),
  families: listOf(object({ name: text, prices: texts })),
  upstreams: texts,
  route_sets: texts,
})
const hunks = listOf(
  object({
    before: whole,
    after: whole,
    lines: listOf(object({ kind: { type: 'string', enum: ['same', 'gone', 'new'] }, text })),
  }),
)
export const proposalAnswer = object({
  base: { ...text, description: 'Of the texts that it is a change of.' },
  ok: { ...truth, description: 'Whether the gateway would take it.' },
  findings,
  changes: { ...texts, description: 'What it means, a line each.' },
  files: listOf(
    object({
      file: text,
      hunks,
    }),
  ),
  patch: { ...textOrNull, description: 'For `patch -p1`; null where it would hold what may not be shown.' },
  notes: texts,
  writable: truth,
  why_not: textOrNull,
})
const taken = {
  id: { ...whole, description: 'Counts from 1.' },
  at: moment,
  revision: text,
  how: { type: 'string', enum: configHows, description: 'What brought it.' },
  by: { ...textOrNull, description: 'The user who had it take effect in the console.' },
  version: { ...text, description: 'Of the gateway.' },
  change_count: whole,
} as const
export const takenAnswer = object({
  rows: listOf(
    object({ ...taken, changes: { ...texts, description: 'What it means, a line each: the first hundred.' } }),
  ),
  next: wholeOrNull,
})
export const takenDiffAnswer = object({
  ...taken,
  against: { ...wholeOrNull, description: 'What it is compared with; null where there is none before it.' },
  changes: { ...texts, description: 'What the difference means, a line each.' },
  files: listOf(
    object({
      file: text,
      kept: { ...truth, description: 'False where the text was too long: nothing is known of its lines.' },
      hunks,
    }),
  ),
})
export const writtenAnswer = object({
  ok: { ...truth, description: 'False where it was refused: the old one stays.' },
  findings,
  files: {
    ...texts,
    description: 'Written files; after a refusal, those that could not be restored because they were saved meanwhile.',
  },
  backups: texts,
  changes: texts,
  revision: { ...textOrNull, description: 'In use now; null where another process reads it.' },
})

const fields = { type: ['object', 'null'] } as const
export const alertsAnswer = object({
  open: { ...whole, description: 'Alerts without an acknowledgement.' },
  alerts: listOf(
    object({
      id: text,
      kind: text,
      time: { ...momentOrNull, description: 'When the alert was sent; null for a current state.' },
      data: { type: 'object', description: 'As docs/events.md has it where it is of an event.' },
      dealt: { anyOf: [object({ by: text, at: moment }), { type: 'null' }] },
    }),
  ),
})

export const auditTotalsAnswer = object({
  rows: { ...whole, description: 'At most 10,000 are counted.' },
  actions: listOf(object({ action: text, rows: whole })),
})

export const refusedSignInsAnswer = object({
  times: whole,
  count: { ...whole, description: 'Rows that the filter has, of which the latest are listed.' },
  rows: listOf(
    object({
      hour: moment,
      name: { ...textOrNull, description: 'Null where no user is called so: it may have been a password.' },
      remote: { ...textOrNull, description: 'Null for the rest of an hour with very many.' },
      way: { ...textOrNull, description: '`password`, or the name of an issuer.' },
      times: whole,
      first: moment,
      last: moment,
    }),
  ),
})

export const auditAnswer = object({
  rows: listOf(
    object({
      id: text,
      at: moment,
      actor: text,
      action: text,
      subject: text,
      before: fields,
      after: fields,
      reason: textOrNull,
      subject_name: { ...textOrNull, description: 'What an id is called; null if the target is its own name.' },
    }),
  ),
  next: textOrNull,
  key_names: keyNames,
})

export const eventsAnswer = object({
  events: listOf(
    object({
      id: { ...text, description: 'Says where to read on, as `after`.' },
      time: moment,
      kind: text,
      data: { type: 'object', description: 'As docs/events.md has it, by kind.' },
    }),
  ),
  next: { ...text, description: 'The value of `after` for the next page, whether or not there is more yet.' },
  more: truth,
})

export const liveSessionsAnswer = object({ sessions: listOf(liveSessionSchema) })

const storedObjectAnswer = object({
  id: { ...text, description: "The vendor's id." },
  kind: text,
  key_id: text,
  model: text,
  upstream: text,
  vendor_key: { ...textOrNull, description: 'Null for an upstream with a single key.' },
  bytes: whole,
  created: moment,
  expires: momentOrNull,
  ended: { ...momentOrNull, description: 'When it was deleted or ended through the gateway.' },
  request_id: { ...text, description: 'The request that made it.' },
})

export const storedObjectsAnswer = object({
  objects: listOf(storedObjectAnswer),
  next: textOrNull,
  key_names: keyNames,
})

export const endedObjectAnswer = object({
  object: storedObjectAnswer,
  vendor: {
    type: 'string',
    enum: ['kept', 'deleted', 'gone', 'refused', 'unreached', 'impossible'],
    description:
      'What became of it at its vendor. `impossible`: no family of its models has an operation that deletes it.',
  },
  detail: { ...textOrNull, description: "The vendor's status, or why it was not reached." },
})

export const upstreamsAnswer = object({
  currency: text,
  upstreams: listOf(
    object({
      name: text,
      simulated: truth,
      healthy: { ...truth, description: 'False while it is paused after failures.' },
      resting_ms: { ...whole, description: 'How long it stays paused yet.' },
      models: { ...texts, description: 'Models that run on it.' },
      keys_asked: {
        ...wholeOrNull,
        description: 'How many of its keys are usable now; null if it has no credential.',
      },
      keys: listOf(upstreamKeyView.schema),
    }),
  ),
})

export const upstreamKeyAnswer = upstreamKeyView.schema
export const keyTrialAnswer = object({
  result: {
    type: 'string',
    enum: ['good', 'bad', 'unclear'],
    description: 'Whether the credential was accepted; unclear if the requested resource does not exist.',
  },
  answer: { ...text, description: 'A status with the code of the vendor, or why nothing came.' },
  path: text,
  ms: whole,
  cost: { ...text, description: 'Nothing: a look is free.' },
  currency: text,
  key: upstreamKeyAnswer,
})

const store = object({ kind: text, healthy: truth })
export const systemAnswer = object({
  version: text,
  node: text,
  started: moment,
  uptime_s: whole,
  memory: { ...whole, description: 'Bytes resident.' },
  event_loop_p99_ms: number,
  open_requests: whole,
  storage: {
    ...object({
      kind: text,
      healthy: truth,
      trouble: { ...textOrNull, description: 'Why it takes no writes, where that is known.' },
    }),
  },
  counters: store,
  upstreams: listOf(object({ name: text, healthy: truth, simulated: truth })),
  needs_review: { ...whole, description: 'Charges that wait for a person.' },
  review_held: { ...moneyList, description: 'What is held for them.' },
  disk_free: { ...wholeOrNull, description: 'Free bytes on the disk of the storage; null for a remote storage.' },
  disk_min: {
    ...whole,
    description: 'Bytes that have to be free there; with fewer, requests that cost something are refused.',
  },
  connections: { ...whole, description: 'Of callers, to this process.' },
  bodies_memory: { ...whole, description: 'Bytes of bodies that are held in the memory of this process.' },
  connections_max: { ...wholeOrNull, description: 'The most that there may be; null for no bound.' },
  bodies_memory_max: whole,
  places: {
    ...listOf(
      object({
        of: { type: 'string', enum: ['upstream', 'key', 'group'] } as const,
        name: text,
        taken: { ...whole, description: 'Requests in flight; the limit where more are, in shadow mode.' },
        limit: whole,
      }),
    ),
    description: 'Concurrency limits that several requests share. A full one refuses; no request waits.',
  },
  upstream_connections: {
    ...listOf(
      object({
        upstream: text,
        shared_with: {
          ...texts,
          description: 'Other upstreams that use the same connections: the figures are of all.',
        },
        busy: whole,
        most: whole,
        waiting: { ...whole, description: 'Requests that wait for one now.' },
        waited: {
          ...whole,
          description: 'Requests that waited for one in the last five minutes, to be opened or to be free.',
        },
        wait_p50_ms: wholeOrNull,
        wait_p95_ms: wholeOrNull,
      }),
    ),
    description: 'Connections of this process to upstreams that it has called; upstreams at one address share them.',
  },
  writes_waiting: object({ changes: whole, rows: whole, charges: whole }),
  traffic: {
    ...object({
      since: moment,
      until: moment,
      requests: { ...whole, description: 'Lookups left out.' },
      errors: whole,
      refused: { ...whole, description: 'Refused by the gateway before an upstream was called.' },
      p50_ms: wholeOrNull,
      p95_ms: wholeOrNull,
      rows: latencyAnswer.properties.rows,
    }),
    description: 'The last five minutes, of every gateway on the storage.',
  },
  webhooks: listOf(object({ name: text, waiting: whole, given_up: whole })),
  gateways: {
    ...listOf(
      object({
        host: text,
        started: moment,
        version: textOrNull,
        revision: textOrNull,
        own: { ...truth, description: 'The process that answers.' },
      }),
    ),
    description: 'The processes that bill on the storage.',
  },
  revision: text,
})
