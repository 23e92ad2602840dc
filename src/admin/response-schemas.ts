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
export const secretAnswer = object({
  key: keyAnswer,
  secret: { ...text, description: 'The secret of the key. Only this response contains it.' },
})

export const putKeyAnswer = object({
  created: { ...truth, description: 'Whether this request created the key.' },
  key: keyAnswer,
  secret: {
    ...textOrNull,
    description: 'The secret of a new key. Only this response contains it. Null if the key existed.',
  },
})

const topUp = object({ id: text, amount: text, at: text, by: text, note: textOrNull })
export const topUpAnswer = topUp
const budgetMonth = {
  ...object({
    since: moment,
    until: moment,
    zone: text,
    spent: listOf(object({ currency: text, amount: text, forecast: textOrNull })),
  }),
  description:
    'Spending of the current month by currency, after refunds, and the forecast for the whole month. `forecast` is null in the first 1/24 of the month.',
} as const

export const budgetsAnswer = object({
  currency: text,
  budgets: listOf(
    object({
      ...budgetView.schema.properties,
      called: {
        ...textOrNull,
        description: 'The name of the key, for a budget of level `key`. Null for other levels.',
      },
      forecast: {
        ...textOrNull,
        description:
          'Expected spending at the end of the current period, at the current rate. Null in the first 1/24 of the period, for a lifetime budget and for a rolling budget, such as 7d.',
      },
      refused_since: {
        ...momentOrNull,
        description:
          'Time since which the budget has refused requests in the current period, because they could cost more than the remaining amount. Null if it has refused none.',
      },
    }),
  ),
  end_users: {
    ...whole,
    description:
      'Number of end users with a budget and with spent or held amounts. `budgets` contains at most 100 of them, those with the least remaining.',
  },
  count: { ...whole, description: 'Number of budgets that match. More than `budgets` has if `limit` is smaller.' },
  month: budgetMonth,
})
export const budgetMonthAnswer = object({ currency: text, month: budgetMonth })
export const balanceAnswer = object({
  currency: text,
  balance: {
    ...budgetView.schema,
    type: ['object', 'null'],
    description: 'The balance as a budget. Null if the user never had a top-up.',
  },
  topups: listOf(topUp),
})

export const userAnswer = userView.schema
const ofPeriod = { per: period, resets_on: resetsOnOrNull } as const
const budgetOrNull = { ...object({ amount: text, ...ofPeriod, soft: truth }), type: ['object', 'null'] } as const
export const usersAnswer = object({
  users: listOf(
    object({
      ...userAnswer.properties,
      last_used: {
        ...momentOrNull,
        description: 'Time of the last request with a key of the user. Null if there was none.',
      },
      spent: { ...text, description: 'Total amount charged to all keys of the user, after refunds, as a decimal.' },
    }),
  ),
  count: { ...whole, description: 'Number of all users, whatever `search` is.' },
  active: { ...whole, description: 'Number of all active users.' },
  next: {
    ...textOrNull,
    description: 'The `after` of the next page. Null if this is the last one, or if no `limit` was sent.',
  },
})
export const groupsAnswer = object({
  groups: listOf(
    object({
      name: text,
      limits: limitsSchema,
      multiplier: text,
      limit_scope: text,
      keys_max: { ...wholeOrNull, description: 'Maximum number of keys per user. Null for no limit.' },
      models: {
        ...texts,
        type: ['array', 'null'],
        description: 'Models that keys of the group may use. `*` in a name matches any text. Null for all models.',
      },
      budget: { ...budgetOrNull, description: 'Budget of all keys of the group together. Null for no limit.' },
      user_budget: {
        ...budgetOrNull,
        description:
          'Budget of all keys of a user together, for each user without a budget of their own. Null for no limit.',
      },
      end_user_budget: { ...budgetOrNull, description: 'Budget of each end user of each user. Null for no limit.' },
      limits_per_user: { ...limitsSchema, description: 'Limits for all keys of each user together.' },
      limits_in_all: { ...limitsSchema, description: 'Limits for all keys of the group together.' },
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
    have: { ...whole, description: 'Number of keys of the user, without revoked keys.' },
    most: { ...wholeOrNull, description: 'Maximum number of keys. Null for no limit.' },
    by: {
      type: ['string', 'null'],
      enum: [...setFor, null],
      description: 'Source of the maximum: a setting of the user or of the group. Null without a maximum.',
    },
  }),
  key_bounds: userBoundsSchema,
  budget: {
    ...object({ amount: text, ...ofPeriod, by: { type: 'string', enum: setFor } }),
    type: ['object', 'null'],
    description: 'Budget of all keys of the user together. Null if there is none, or if it only reports.',
  },
  limits: {
    ...limitsSchema,
    description: 'Limits of the group for each key, or for each user. `limit_scope` is the scope.',
  },
  limit_scope: { type: 'string', enum: ['key', 'user'] },
  limits_per_user: { ...limitsSchema, description: 'Limits of the group for all keys of the user together.' },
})

export const sessionAnswer = object({
  user: userAnswer,
  may: { ...texts, description: 'The values of `x-access` that the user may call, such as `readers`.' },
  gateway: object({
    base_url: { ...text, description: 'Base URL for clients, without /v1.' },
    currency: text,
    version: text,
    revision: text,
    simulated: { ...texts, description: 'Names of the simulated upstreams.' },
    public_pricing: truth,
  }),
})
export const signInAnswer = object({
  passwords: { ...truth, description: 'Whether users can sign in with a password.' },
  issuers: listOf(object({ name: text, label: text })),
  at: {
    ...textOrNull,
    description:
      'Base URL to which identity providers redirect the browser: server.public_url. Sign-in with a provider works only in a console at this URL. Null without providers.',
  },
})
export const departureAnswer = object({
  location: { ...text, description: 'URL to which the client must redirect the browser.' },
})
export const signedInAnswer = object({
  session: sessionAnswer,
  next: {
    ...textOrNull,
    description:
      'Path of the console page to open: `next` of the request that started the sign-in. Null if it had none.',
  },
})
export const linksAnswer = object({ links: listOf(object({ id: text, issuer: text, created: moment })) })
const invitation = object({
  id: text,
  name: { ...textOrNull, description: 'Name of the new user. Null if the invited person chooses it.' },
  role: text,
  group: text,
  by: text,
  created: moment,
  expires: moment,
})
export const invitationAnswer = invitation
export const invitationsAnswer = object({ invitations: listOf(invitation) })
export const invitedAnswer = object({
  invitation,
  link: { ...text, description: 'Link for the invited person. Only this response contains it.' },
})
export const adminTokenAnswer = object({
  id: text,
  name: text,
  role: text,
  scopes: texts,
  ips: {
    ...textsOrNull,
    description: 'Client addresses and CIDR blocks from which the token is accepted. Null for all addresses.',
  },
  hint: text,
  by: { ...text, description: 'The user who created the token, or `command line`.' },
  created: moment,
  expires: { ...momentOrNull, description: 'Expiry time. Null if the token does not expire.' },
  last_used: momentOrNull,
})
export const adminTokensAnswer = object({ tokens: listOf(adminTokenAnswer) })
export const newAdminTokenAnswer = object({
  admin_token: adminTokenAnswer,
  token: { ...text, description: 'The secret of the admin token. Only this response contains it.' },
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
  description: 'Names of the API keys in this response, by ID.',
} as const

export const logAnswer = logView.schema
export const logsAnswer = object({
  records: listOf(logAnswer),
  next: textOrNull,
  key_names: keyNames,
  key_sessions: {
    ...texts,
    description: 'IDs of the keys in this response that belong to console sessions. The playground creates them.',
  },
})
const refundAnswer = object({ amount: text, at: moment, by: text, reason: textOrNull })
export const logDetailAnswer = object({
  ...logAnswer.properties,
  key_name: {
    ...textOrNull,
    description: 'Name of the API key. Null for a request without a key, and for the key of a console session.',
  },
  user_agent: textOrNull,
  explanation: billOrNull,
  refund: {
    ...refundAnswer,
    type: ['object', 'null'],
    description: 'Latest refund of the charge. Null if there is none.',
  } as const,
  refunds: {
    ...listOf(refundAnswer),
    description: 'All refunds of the charge, oldest first. `by` is the user who made the refund.',
  },
  use_refunds: { ...listOf(refundAnswer), description: 'The same for `use_billing`.' },
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
    description:
      'Start of the counted range, if the result is too large for one response. Earlier requests are not counted. Null if all matching requests are counted.',
  },
  next: {
    ...textOrNull,
    description:
      'Value of `before` for the next part of the result. Each request is counted in exactly one part. Null if all matching requests are counted.',
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
        description:
          'call: a request to a model. refusal: a request that the gateway refused. lookup: a request that the gateway answered itself, such as the model list.',
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
  refunded: { ...text, description: 'Refunded part of `amount`, as a decimal.' },
  net: text,
  quantity: {
    ...wholeOrNull,
    description:
      'Number of units, such as tokens. Null for images, and unless the query splits by `tier` or filters by a single one.',
  },
  tokens: { ...whole, description: 'Number of tokens: input and output, of all kinds.' },
  saved: {
    ...text,
    description:
      'Amount saved by the answer cache: for each hit the original cost of the response, less the price of the hit. A decimal.',
  },
} as const
const costs = listOf(
  object({
    bar: { ...whole, description: 'Index of the bar in `bars`, from 0.' },
    what: {
      ...textOrNull,
      description:
        'Value of the dimension in `by`, such as a model name. Empty without `by`, and for charges without a value. Null for the sum of all values with lower costs than the 20 listed.',
    },
    ...costSum,
  }),
)
const costTotals = listOf(object(costSum))
export const costsAnswer = object({
  zone: text,
  since: moment,
  until: moment,
  bars: { ...listOf(moment), description: 'Start times of the bars.' },
  rows: costs,
  totals: { ...costTotals, description: 'Totals of the range, one for each currency. Each charge is counted once.' },
  before: object({
    since: moment,
    rows: {
      ...costs,
      description:
        'Costs of the previous range of the same number of days, as a single bar: of the same values of `by`, and of values that have costs only in that range.',
    },
    totals: costTotals,
  }),
  names: {
    type: 'object',
    additionalProperties: text,
    description: 'Names of the API keys in the rows and in the filter, by ID.',
  } as const,
  sessions: {
    ...texts,
    description: 'IDs of the keys in `names` that belong to console sessions. The playground creates them.',
  },
  gone: {
    ...texts,
    description:
      'Values of `what` that no longer exist: revoked keys, erased users, and models, groups and upstreams that are not in the configuration.',
  },
})

export const avoidableAnswer = object({
  since: moment,
  until: moment,
  looked_since: {
    ...momentOrNull,
    description: 'Always null: all images of the range are counted.',
  },
  saved: { ...moneyList, description: 'Avoidable cost of the range, by currency.' },
  rows: listOf(
    object({
      model: text,
      size: { ...textOrNull, description: 'Requested size, as the client sent it. Null if the request had none.' },
      source: { ...text, description: 'Source of the charged tier: request or default.' },
      billed: { ...text, description: 'The charged tier.' },
      at: {
        ...textOrNull,
        description: 'file:line of the current price of the charged tier. Null if the model no longer has this price.',
      },
      made: { ...text, description: 'Tier of the returned image.' },
      ask: {
        ...text,
        description:
          'Size to request instead. The upstream returns the same image for it, and the charge is that of `made`.',
      },
      currency: text,
      images: whole,
      charged: text,
      saved: { ...text, description: 'Amount that requests for the size in `ask` would have saved, as a decimal.' },
    }),
  ),
})

const refundsElsewhere = {
  refunded_earlier: {
    ...text,
    description: 'Amount refunded in this month for charges of earlier months, as a decimal.',
  },
  refunded_later: { ...text, description: 'Amount refunded after this month for charges of this month, as a decimal.' },
} as const

export const statementAnswer = object({
  month: text,
  zone: text,
  from: moment,
  until: { ...moment, description: 'End of the month, exclusive.' },
  issued: moment,
  organization: { ...textOrNull, description: 'The setting `organization`. Null if it is not set.' },
  end_user: {
    ...textOrNull,
    description: 'Filter by end user: totals and accounts contain only charges of this end user. Null for no filter.',
  },
  tag: {
    ...textOrNull,
    description: 'Filter by tag: totals and accounts contain only charges with this tag. Null for no filter.',
  },
  reconciled: { ...truth, description: 'Whether the sums of the charges equal the sums of the ledger entries.' },
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
        net: { ...text, description: '`charged` minus `refunded`, as a decimal.' },
        costs: {
          ...text,
          description:
            'Costs of the month as in `GET /api/costs`: `net` plus `refunded_earlier` minus `refunded_later`. A decimal.',
        },
      }),
    ),
    description: 'Totals of all accounts, one for each currency.',
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
  currency: { ...text, description: 'Currency of `balances`.' },
  balances: listOf(
    object({
      user: text,
      group: { ...text, description: 'Current group of the user.' },
      opening: text,
      topups: whole,
      topped_up: text,
      charged: { ...text, description: 'Amount charged to the balance, as a decimal.' },
      refunded: text,
      closing: text,
    }),
  ),
  by: { ...textOrNull, description: 'Dimension of `labels`: end_user or tag. Null if the request has no `by`.' },
  labels: {
    ...listOf(
      object({
        label: { ...textOrNull, description: 'End user or tag. Null for charges without one.' },
        currency: text,
        charges: whole,
        charged: text,
        refunded: { ...text, description: 'Refunds of these charges, including refunds in later months. A decimal.' },
        costs: {
          ...text,
          description:
            '`charged` minus `refunded`, as a decimal. The sum over all end users equals `costs` of the totals.',
        },
      }),
    ),
    description:
      'The month by end user or tag, as in `by`; empty without `by`. A charge with several tags counts for each of them.',
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
  ever: { ...truth, description: 'Whether the log contains any request, in any period.' },
  review: {
    ...object({ count: whole, held: moneyList }),
    type: ['object', 'null'],
    description:
      'Charges that need review, and the amounts held for them by currency. Null for users who cannot resolve them.',
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
        description: 'Prices that replace those in `prices`. The first entry whose conditions all hold applies.',
      },
      times: {
        ...listOf(object({ if: priceConditions, by: text })),
        description: 'Factors on token prices, as decimals. Every entry whose conditions all hold applies.',
      },
      free: truth,
      limits: limitsSchema,
      ends: textOrNull,
      notes: object({ en: texts, zh: texts }),
      streams: texts,
      enabled: truth,
      usable: { ...truth, description: "Whether keys of the user's group may use the model." },
    }),
  ),
})

/** For the playground, which sends requests as clients do. */
export const explainAnswer = object({
  model: text,
  alias: { ...textOrNull, description: 'Requested name, if it is an alias of the model. Null otherwise.' },
  family: text,
  operation: text,
  upstream: text,
  route: textOrNull,
  forwarded: texts,
  dropped: texts,
  sent: {
    type: 'object',
    additionalProperties: true,
    description: 'Body that the upstream would receive.',
  },
  expected_size: textOrNull,
  expected_resolution: textOrNull,
  expected_ratio: textOrNull,
  quote: { type: ['object', 'null'], description: 'Price of the request. Null if no plugin prices it.' },
  retry: {
    ...object({ on: listOf({ type: ['string', 'integer'] }), attempts: whole, if_sold: truth }),
    type: ['object', 'null'],
    description:
      'Failures after which the request is sent again, and the maximum number of attempts. `if_sold`: also if the vendor may have charged. Null for models without `retry_on`.',
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
      'Caching of the response for equal requests, for `for_ms` milliseconds. The price of a hit is `each` plus `times` the original cost of the response. Null if the response is not cached.',
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
    description:
      'Size warning: the requested size and the returned image have different prices. Null if there is none.',
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
  ...listOf(
    object({
      name: { ...textOrNull, description: 'Name of the model, group or user. Null for the sum of all others.' },
      ...costPair,
    }),
  ),
  description: 'The largest difference first.',
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
    description: 'Charges whose cost at the other prices is unknown. The other sums do not contain them.',
  } as const,
  uncounted: {
    ...texts,
    description: 'Models that are free now and would have a price. Their requests have no charges to recalculate.',
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
        value: { description: 'Value in the earlier configuration. Absent if the setting did not exist.' },
        was: { description: 'Value in the current file. Absent if the setting does not exist.' },
      },
    },
  } as const,
  left: { ...texts, description: 'Paths of other changed settings, which these edits do not restore.' },
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
      file: { type: ['string', 'null'], description: 'File that sets the value. Null for a default.' },
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
  own: { description: 'The entry as written in the file, without inherited settings. Null for a model from a list.' },
  whole: { description: 'The entry together with the settings that it inherits.' },
})
export const editableAnswer = object({
  base: {
    ...text,
    description: 'Hash of the current configuration files. Send it as `base` of `POST /api/config/write`.',
  },
  writable: { ...truth, description: 'Whether the console may write changes.' },
  why_not: {
    ...textOrNull,
    description: 'Reason why the console may not write: off, no-file or read-only. Null if it may.',
  },
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
  base: {
    ...text,
    description:
      'Hash of the configuration files that the change is based on. Send it as `base` of `POST /api/config/write`.',
  },
  ok: { ...truth, description: 'Whether the changed configuration is valid.' },
  findings,
  changes: { ...texts, description: 'Changes in meaning, one line each. Empty if the configuration is not valid.' },
  files: listOf(
    object({
      file: text,
      hunks,
    }),
  ),
  patch: {
    ...textOrNull,
    description: 'Patch for `patch -p1` in the folder of the main file. Null if it would contain a secret.',
  },
  notes: texts,
  writable: truth,
  why_not: textOrNull,
})
const taken = {
  id: { ...whole, description: 'Number of the configuration: 1 for the first on this storage, 2 for the next.' },
  at: moment,
  revision: text,
  how: { type: 'string', enum: configHows, description: 'Trigger of the activation.' },
  by: { ...textOrNull, description: 'User who activated it in the console. Null for other triggers.' },
  version: { ...text, description: 'Version of the gateway that activated it.' },
  change_count: whole,
} as const
export const takenAnswer = object({
  rows: listOf(
    object({
      ...taken,
      changes: {
        ...texts,
        description:
          'Changes in meaning since the previous configuration, one line each. At most 100; `change_count` is the number of all.',
      },
    }),
  ),
  next: wholeOrNull,
})
export const takenDiffAnswer = object({
  ...taken,
  against: {
    ...wholeOrNull,
    description: '`id` of the configuration that it is compared with. Null if there is no earlier one.',
  },
  changes: { ...texts, description: 'Changes in meaning, one line each.' },
  files: listOf(
    object({
      file: text,
      kept: {
        ...truth,
        description: 'Whether the text of the file was stored. If false, it was too long, and `hunks` is empty.',
      },
      hunks,
    }),
  ),
})
export const writtenAnswer = object({
  ok: { ...truth, description: 'Whether the change was written. If false, the previous configuration stays in use.' },
  findings,
  files: {
    ...texts,
    description:
      'Written files. If `ok` is false: files that still have the new text, because another program saved them before they could be restored.',
  },
  backups: texts,
  changes: texts,
  revision: {
    ...textOrNull,
    description: 'Revision of the configuration in use. Null if another process loads the file, and if `ok` is false.',
  },
  outdated: {
    ...listOf(object({ host: text, started: moment, revision: text })),
    description: 'Gateways on the storage that still use the previous configuration 5 seconds after the change.',
  },
  refusals: {
    ...texts,
    description:
      'The findings of the gateways that refused the change meanwhile, each after the `host` that reported it first.',
  },
})

const fields = { type: ['object', 'null'] } as const
export const alertsAnswer = object({
  open: { ...whole, description: 'Number of alerts that are not acknowledged.' },
  alerts: listOf(
    object({
      id: text,
      kind: text,
      time: {
        ...momentOrNull,
        description:
          'Start of the alert. Null for an alert about a current state, such as a certificate that expires soon.',
      },
      data: {
        type: 'object',
        description: 'Values of the alert. For an event, the fields of its kind in docs/events.md.',
      },
      dealt: { anyOf: [object({ by: text, at: moment }), { type: 'null' }] },
    }),
  ),
})

export const auditTotalsAnswer = object({
  rows: { ...whole, description: 'Number of matching entries. Counting stops at 10,000.' },
  actions: listOf(object({ action: text, rows: whole })),
})

export const refusedSignInsAnswer = object({
  times: whole,
  count: { ...whole, description: 'Number of rows that match the filter. `rows` contains the latest of them.' },
  rows: listOf(
    object({
      hour: moment,
      name: {
        ...textOrNull,
        description:
          'Name of the user. Null if no user has the entered name, which is not stored because it may be a password.',
      },
      remote: {
        ...textOrNull,
        description: 'Client address. Null for the sum of further attempts, in an hour with more than 200 rows.',
      },
      way: {
        ...textOrNull,
        description: '`password`, or the name of an identity provider. Null for the sum of further attempts.',
      },
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
      subject_name: {
        ...textOrNull,
        description: 'Name of the target, if `subject` is an ID or a file path. Null otherwise.',
      },
    }),
  ),
  next: textOrNull,
  key_names: keyNames,
})

export const eventsAnswer = object({
  events: listOf(
    object({
      id: {
        ...text,
        description: 'ID of the event. As `after` of the next request, it returns the events after this one.',
      },
      time: moment,
      kind: text,
      data: { type: 'object', description: 'Values of the event. docs/events.md lists the fields of each kind.' },
    }),
  ),
  next: {
    ...text,
    description: 'Value of `after` for the next page. Never null, so that polling can continue from it.',
  },
  more: truth,
})

export const liveSessionsAnswer = object({ sessions: listOf(liveSessionSchema) })

const storedObjectAnswer = object({
  id: { ...text, description: 'ID of the object at the vendor.' },
  kind: text,
  key_id: text,
  model: text,
  upstream: text,
  vendor_key: {
    ...textOrNull,
    description: 'Name of the vendor key that created the object. Null for an upstream with a single key.',
  },
  bytes: whole,
  created: moment,
  expires: momentOrNull,
  ended: {
    ...momentOrNull,
    description: 'Time when the object was deleted or ended through the gateway. Null if it was not.',
  },
  request_id: { ...text, description: 'ID of the request that created the object.' },
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
      'Result at the vendor. kept: `keep` was true, and the vendor was not called. deleted: the vendor deleted the object. gone: the vendor no longer had it. refused: the vendor refused to delete it. unreached: the vendor could not be reached. impossible: the configuration has no operation that deletes it.',
  },
  detail: {
    ...textOrNull,
    description: 'HTTP status of the vendor for `refused`, or the connection error for `unreached`. Null otherwise.',
  },
})

export const upstreamsAnswer = object({
  currency: text,
  upstreams: listOf(
    object({
      name: text,
      simulated: truth,
      healthy: { ...truth, description: 'Whether the upstream is in use. False while it is paused after failures.' },
      resting_ms: {
        ...whole,
        description: 'Remaining time of the pause in milliseconds. 0 if the upstream is not paused.',
      },
      models: { ...texts, description: 'Models that the upstream serves.' },
      keys_asked: {
        ...wholeOrNull,
        description: 'Number of usable keys. Null for an upstream without a credential.',
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
    description:
      'good: the upstream accepted the key. bad: it refused the key. unclear: the requested path does not exist, so the response does not show whether the key is valid.',
  },
  answer: { ...text, description: 'HTTP status and error code of the vendor, or the connection error.' },
  path: text,
  ms: whole,
  cost: { ...text, description: 'Cost of the test as a decimal. Always 0: tests are free.' },
  currency: text,
  key: upstreamKeyAnswer,
})

const store = object({ kind: text, healthy: truth })
export const systemAnswer = object({
  version: text,
  node: text,
  started: moment,
  uptime_s: whole,
  memory: { ...whole, description: 'Resident memory of this process, in bytes.' },
  event_loop_p99_ms: number,
  open_requests: whole,
  storage: {
    ...object({
      kind: text,
      healthy: truth,
      trouble: {
        ...textOrNull,
        description: 'Reason why the storage accepts no writes. Null if it accepts them, or if the reason is unknown.',
      },
    }),
  },
  counters: store,
  upstreams: listOf(object({ name: text, healthy: truth, simulated: truth })),
  needs_review: { ...whole, description: 'Number of charges that need review.' },
  review_held: { ...moneyList, description: 'Amounts held for these charges, by currency.' },
  disk_free: {
    ...wholeOrNull,
    description: 'Free space on the disk of the storage, in bytes. Null for a storage that is remote or in memory.',
  },
  disk_min: {
    ...whole,
    description:
      'Minimum free space on that disk, in bytes. With less, the gateway refuses requests that are not free.',
  },
  connections: { ...whole, description: 'Number of open client connections of this process.' },
  bodies_memory: { ...whole, description: 'Memory that request and response bodies use in this process, in bytes.' },
  connections_max: { ...wholeOrNull, description: 'Maximum number of client connections. Null for no limit.' },
  bodies_memory_max: whole,
  places: {
    ...listOf(
      object({
        of: { type: 'string', enum: ['upstream', 'key', 'group'] } as const,
        name: text,
        taken: {
          ...whole,
          description: 'Number of requests in progress. At most `limit`, even if a limit in shadow mode is exceeded.',
        },
        limit: whole,
      }),
    ),
    description:
      'Use of the concurrency limits. If `taken` equals `limit`, a further request is refused or goes to another upstream or key; it does not wait.',
  },
  upstream_connections: {
    ...listOf(
      object({
        upstream: text,
        shared_with: {
          ...texts,
          description: 'Other upstreams that share these connections. The numbers include their requests.',
        },
        busy: whole,
        most: whole,
        waiting: { ...whole, description: 'Number of requests that are waiting for a connection.' },
        waited: {
          ...whole,
          description:
            'Number of requests in the last five minutes that waited for a connection to open or to become free.',
        },
        wait_p50_ms: wholeOrNull,
        wait_p95_ms: wholeOrNull,
      }),
    ),
    description:
      'Connections of this process to the upstreams that it has called. Upstreams with the same address share connections.',
  },
  writes_waiting: object({ changes: whole, rows: whole, charges: whole }),
  traffic: {
    ...object({
      since: moment,
      until: moment,
      requests: { ...whole, description: 'Number of requests, without lookups.' },
      errors: whole,
      refused: { ...whole, description: 'Number of requests that the gateway refused without calling an upstream.' },
      p50_ms: wholeOrNull,
      p95_ms: wholeOrNull,
      rows: latencyAnswer.properties.rows,
    }),
    description: 'Traffic of all gateways on the storage in the last five minutes.',
  },
  webhooks: listOf(object({ name: text, waiting: whole, given_up: whole })),
  gateways: {
    ...listOf(
      object({
        host: text,
        started: moment,
        version: textOrNull,
        revision: textOrNull,
        own: { ...truth, description: 'Whether this is the process that sent the response.' },
      }),
    ),
    description: 'Gateway processes that use the storage.',
  },
  revision: text,
})
