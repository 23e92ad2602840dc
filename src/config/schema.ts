import {
  attributionFields,
  cacheScopes,
  keyEffects,
  kindWords,
  metricDimensions,
  otlpAttributes,
  resetDays,
  retryFaults,
  retryStatuses,
  roles,
  saleClasses,
  wherePattern,
} from '../domain/index.ts'
import type { Admits, Schema } from '../util/index.ts'
import { priceOverrides, priceTimes } from './price-conditions.ts'

const rpm = {
  type: 'integer',
  minimum: 1,
  description: 'Requests in any 60 seconds.',
} as const satisfies Schema

const tpm = { type: 'integer', minimum: 1, description: 'Tokens in any 60 seconds.' } as const satisfies Schema

const concurrency = { type: 'integer', minimum: 1, description: 'Concurrent requests.' } as const satisfies Schema

const shadowDescription = 'Limits in shadow mode: they count and log what they would refuse, but refuse no request.'

const server = {
  type: 'object',
  additionalProperties: false,
  description: 'Listeners, timeouts and memory limits of the gateway.',
  default: {},
  properties: {
    listen: {
      type: 'string',
      format: 'address',
      default: '127.0.0.1:8080',
      description: 'host:port for clients: /v1/*, /console, /pricing, /docs, /api/*.',
    },
    ops: {
      type: 'string',
      format: 'address-or-off',
      description: 'host:port for operators: /metrics, /healthz, /readyz. `off` disables it.',
    },
    tls: {
      type: 'object',
      additionalProperties: false,
      description:
        'TLS certificate for `listen`; absent: plain HTTP. The files are read again when they change and at every reload.',
      required: ['cert', 'key'],
      properties: {
        cert: { type: 'string', minLength: 1, description: 'Path of the certificate with its chain, in PEM format.' },
        key: {
          type: 'string',
          minLength: 1,
          description: 'Path of the private key, in PEM format, without a passphrase.',
        },
      },
    },
    trusted_proxies: {
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', format: 'network' },
      default: [],
      description:
        'Addresses or CIDR blocks of proxies whose X-Forwarded-For and X-Forwarded-Host are trusted. The client address is the last in X-Forwarded-For that is not a trusted proxy.',
    },
    public_url: {
      type: 'string',
      format: 'public-url',
      description:
        'Base URL of the console in browsers, such as https://ai.example.com. Invitation links start with it, and sign_in issuers redirect to it.',
    },
    connections_max: {
      type: 'integer',
      minimum: 1,
      description: 'Maximum client connections per process; further ones are closed. Absent: no limit.',
    },
    connections_per_address: {
      type: 'integer',
      minimum: 1,
      description:
        'Maximum connections per client address and process, except from trusted proxies; further ones are closed. Absent: no limit.',
    },
    body_max: {
      type: 'string',
      format: 'bytes',
      default: '32MiB',
      description: 'Maximum request body of routes that set none; larger bodies get 413.',
    },
    memory_max: {
      type: 'string',
      format: 'bytes',
      default: '192MiB',
      description: 'Memory for the bodies of all requests; beyond it, new requests get 503.',
    },
    spool_max: {
      type: 'string',
      format: 'bytes',
      default: '4GiB',
      description: 'Disk space for the bodies of all requests in temporary files; beyond it, new requests get 503.',
    },
    log_level: {
      enum: ['debug', 'info', 'warn', 'error'],
      default: 'info',
      description:
        'Least severe lines on standard error. With warn there is no line for each request; `tollgate logs` still lists it.',
    },
    workers: {
      type: ['integer', 'string'],
      minimum: 1,
      maximum: 999,
      format: 'processes',
      default: 1,
      description:
        'Worker processes of `serve` on the same address; `auto` is one per CPU. More than one requires shared counters.',
    },
    drain: {
      type: 'string',
      format: 'duration',
      default: '30s',
      description: 'Drain timeout: how long requests in flight may run after the signal to stop.',
    },
    drain_wait: {
      type: 'string',
      format: 'duration-or-none',
      default: '0s',
      description:
        'How long the gateway accepts requests after the signal to stop, while /readyz returns 503. Set it to the time that a load balancer needs to notice.',
    },
    heartbeat: {
      type: 'string',
      format: 'duration-or-off',
      default: '15s',
      description:
        'Idle time after which the gateway sends a heartbeat on a stream, so that proxies keep it open; or off.',
    },
    agents_accepting_102: {
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', minLength: 1 },
      default: [],
      description:
        'User-Agent substrings of clients that receive a 102 every `heartbeat` while they wait. List only clients that support 102. Clients behind a proxy never receive it.',
    },
    console: {
      type: 'string',
      enum: ['on', 'off'],
      default: 'on',
      description: 'Whether to serve the web console, its API, the price page and the reference; `off` for a sidecar.',
    },
    console_edits: {
      type: 'string',
      enum: ['on', 'off'],
      default: 'off',
      description:
        'Whether administrators can save changes of models, prices and groups to this file from the console. With `off`, the console validates changes and offers a patch.',
    },
    cors: {
      type: 'object',
      additionalProperties: false,
      description: 'Web pages that may call the gateway from a browser; absent: none.',
      default: {},
      properties: {
        origins: {
          type: 'array',
          uniqueItems: true,
          items: { type: 'string', format: 'origin' },
          default: [],
          description: 'Origins such as https://app.example; "*" is any.',
        },
      },
    },
  },
} as const satisfies Schema

const retention = {
  type: 'object',
  additionalProperties: false,
  description: 'How long records are kept. Charges are kept forever.',
  default: {},
  properties: {
    log: {
      type: 'string',
      format: 'duration-or-off',
      default: 'off',
      description: 'How long the request log is kept, such as 90d. off: forever.',
    },
    review: {
      type: 'string',
      format: 'duration-or-off',
      default: 'off',
      description:
        'When a charge that needs review is voided and its hold released, such as 24h. off: it waits until an operator resolves it.',
    },
    labels: {
      type: 'string',
      format: 'duration-or-off',
      default: 'off',
      description:
        'When the name of an end user or tag that no request has had for this long is erased, such as 400d. Its costs remain. off: never.',
    },
    events: {
      type: 'string',
      format: 'duration-or-off',
      default: '90d',
      description:
        'How long events are kept and available at /api/events. Events that a webhook has not received remain. off: forever.',
    },
  },
} as const satisfies Schema

const events = {
  type: 'object',
  additionalProperties: false,
  description: 'Event receivers.',
  default: {},
  properties: {
    webhooks: {
      type: 'object',
      propertyNames: { minLength: 1 },
      default: {},
      description: 'Webhooks, by name. Each receives every event of its kinds at least once.',
      additionalProperties: {
        type: 'object',
        additionalProperties: false,
        description: 'A webhook.',
        required: ['url', 'kinds'],
        properties: {
          url: {
            type: 'string',
            format: 'receiver',
            description:
              'https://… to post events to; for e-mail smtps://USER:PASSWORD@HOST[:PORT], or smtp://, which uses TLS if the server offers it. A secret: never logged or shown.',
          },
          format: {
            type: 'string',
            enum: ['standard', 'slack', 'email'],
            default: 'standard',
            description: 'A signed JSON object (Standard Webhooks), a Slack message, or an e-mail.',
          },
          secret: {
            type: 'string',
            format: 'webhook-secret',
            description: 'Signing secret for `standard`: whsec_ and 24 to 64 bytes in Base64.',
          },
          old_secret: {
            type: 'string',
            format: 'webhook-secret',
            description: 'The previous secret during a rotation: bodies are signed with both.',
          },
          kinds: {
            type: 'array',
            minItems: 1,
            uniqueItems: true,
            items: { type: 'string', enum: kindWords },
            description:
              'Event kinds to send, such as charge.settled; charge.* for all with that prefix, or "*" for every event.',
          },
          allow_private: {
            type: 'boolean',
            default: false,
            description: 'Whether the address may be on this machine or in a private network, and may be unencrypted.',
          },
          from: { type: 'string', format: 'mailbox', description: 'For e-mail: the sender.' },
          to: {
            type: 'array',
            minItems: 1,
            uniqueItems: true,
            items: { type: 'string', format: 'mailbox' },
            description: 'For e-mail: the recipients.',
          },
        },
      },
    },
  },
} as const satisfies Schema

const issuer = {
  type: 'object',
  additionalProperties: false,
  description: 'An OpenID Connect provider.',
  required: ['issuer', 'client_id'],
  properties: {
    issuer: {
      type: 'string',
      format: 'issuer',
      description: 'Issuer identifier: the base URL of its /.well-known/openid-configuration.',
    },
    label: {
      type: 'string',
      minLength: 1,
      maxLength: 60,
      description: 'Label of the button on the sign-in page; absent: its name.',
    },
    client_id: { type: 'string', minLength: 1, description: 'Client ID of the gateway at the issuer.' },
    client_secret: {
      type: 'string',
      minLength: 1,
      description: 'Client secret; absent: a public client.',
    },
    client_auth: {
      type: 'string',
      enum: ['basic', 'post'],
      default: 'basic',
      description: 'How the client secret is sent: client_secret_basic or client_secret_post.',
    },
    scopes: {
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', pattern: '^[!#-~]+$' },
      default: ['openid', 'profile', 'email'],
      description: 'Scopes to request; openid is always added.',
    },
    allow_http: {
      type: 'boolean',
      default: false,
      description: 'Whether unencrypted connections are allowed, for an issuer on the same machine.',
    },
    groups_claim: {
      type: 'string',
      minLength: 1,
      default: 'groups',
      description: "Where to read a person's groups: a claim, or a path such as realm_access.roles.",
    },
    roles: {
      type: 'object',
      propertyNames: { minLength: 1 },
      additionalProperties: {
        type: 'string',
        enum: roles,
        description: 'The role of members of this group: user, viewer, billing or admin.',
      },
      description:
        'Roles by group, updated at each sign-in. If several match, the order is admin, billing, viewer, user. Absent: roles are assigned in Tollgate.',
    },
    default_role: {
      type: 'string',
      enum: ['user', 'viewer', 'billing'],
      description: 'Role of people without a match in `roles`; absent: their sign-in is refused.',
    },
    groups: {
      type: 'object',
      propertyNames: { minLength: 1 },
      additionalProperties: {
        type: 'string',
        minLength: 1,
        description: 'The Tollgate group of members of this group.',
      },
      description:
        'Tollgate groups by issuer groups, updated at each sign-in. The first match applies; people without a match get `group`. Absent: groups are assigned in Tollgate.',
    },
    match: {
      type: 'string',
      enum: ['invitation', 'email'],
      default: 'invitation',
      description:
        'How a first sign-in is linked to a user: by an invitation, or by the user while signed in. `email` also links a verified e-mail address that equals a user name.',
    },
    allow_sign_up: {
      type: 'boolean',
      default: false,
      description: 'Whether an unknown person becomes a user.',
    },
    group: {
      type: 'string',
      minLength: 1,
      default: 'default',
      description: 'Group of users created by allow_sign_up, and of people without a match in `groups`.',
    },
    email_domains: {
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', format: 'domain' },
      default: [],
      description: 'Domains of verified e-mail addresses that may sign in; empty: all people.',
    },
    sign_out: {
      type: 'string',
      enum: ['here', 'issuer'],
      default: 'here',
      description: 'Scope of signing out: only the console, or also the issuer, and so every application that uses it.',
    },
  },
} as const satisfies Schema

const signIn = {
  type: 'object',
  additionalProperties: false,
  description: 'How people sign in to the console.',
  default: {},
  properties: {
    passwords: {
      type: 'boolean',
      default: true,
      description:
        'Whether people can sign in with a password. If off and no administrator is linked to an issuer, the gateway prints a setup link when it starts.',
    },
    issuers: {
      type: 'object',
      propertyNames: { minLength: 1 },
      default: {},
      description: 'OpenID Connect providers, by name: lower-case letters, digits and hyphens.',
      additionalProperties: issuer,
    },
  },
} as const satisfies Schema

const observability = {
  type: 'object',
  additionalProperties: false,
  description: 'Telemetry in addition to /metrics and the log.',
  default: {},
  properties: {
    metrics: {
      type: 'object',
      additionalProperties: false,
      default: {},
      description: 'More series of /metrics. Each metric has at most 2,000 series; further ones are counted as other.',
      properties: {
        by: {
          type: 'array',
          items: { type: 'string', enum: metricDimensions, description: 'A dimension.' },
          uniqueItems: true,
          default: [],
          description:
            'Dimensions with their own metrics. model: tollgate_model_request_duration_seconds and tollgate_model_first_byte_seconds. group: tollgate_group_requests_total, tollgate_group_tokens_total and tollgate_group_charged_micros_total.',
        },
      },
    },
    otlp: {
      type: 'object',
      additionalProperties: false,
      required: ['endpoint'],
      description:
        'Export of traces and GenAI metrics by OTLP, as JSON over HTTP; absent: none. Read once, at the start.',
      properties: {
        endpoint: {
          type: 'string',
          format: 'otlp-endpoint',
          description:
            'Base URL of the receiver, such as http://127.0.0.1:4318. The gateway appends /v1/traces and /v1/metrics.',
        },
        headers: {
          type: 'object',
          description: 'Headers for the receiver, such as authorization. The values are secrets.',
          propertyNames: { type: 'string', format: 'header-name' },
          additionalProperties: { type: 'string', format: 'header-value', description: 'Value of the header.' },
          default: {},
        },
        traces: {
          type: 'boolean',
          default: true,
          description: 'Export a span for each request and for each upstream call.',
        },
        metrics: {
          type: 'boolean',
          default: true,
          description:
            'Export gen_ai.client.token.usage, gen_ai.server.request.duration and gen_ai.server.time_to_first_token.',
        },
        every: { type: 'string', format: 'duration', default: '10s', description: 'Export interval.' },
        forward_traceparent: {
          type: 'boolean',
          default: false,
          description: 'Whether to send the header traceparent to upstreams.',
        },
        attributes: {
          type: 'array',
          items: { type: 'string', enum: otlpAttributes, description: 'An attribute.' },
          uniqueItems: true,
          default: [],
          description:
            'Attributes of spans that name the client or the bill: user (user.id), key (tollgate.key.id), group (tollgate.group), cost (gen_ai.usage.cost and tollgate.cost.currency). Absent: none.',
        },
      },
    },
  },
} as const satisfies Schema

const budgets = {
  type: 'object',
  additionalProperties: false,
  default: {},
  description: 'Budget renewal, and the events for budgets that are nearly spent.',
  properties: {
    time_zone: {
      type: 'string',
      format: 'time-zone',
      default: 'UTC',
      description: 'Time zone of the days and months of budgets: an IANA name, such as Europe/Berlin.',
    },
    thresholds: {
      type: 'array',
      maxItems: 10,
      uniqueItems: true,
      items: { type: 'integer', minimum: 1, maximum: 100 },
      default: [80, 100],
      description:
        'Percentages of a budget at which the event budget.threshold is sent, once per day, month or amount; [] for none.',
    },
  },
} as const satisfies Schema

const budgetOf = {
  type: 'object',
  additionalProperties: false,
  required: ['amount'],
  properties: {
    amount: { type: 'string', format: 'money', description: 'Amount, as a quoted decimal.' },
    per: {
      type: 'string',
      format: 'period',
      default: 'total',
      description:
        'Period: total, each day, week or month in `budgets.time_zone`, or the last 2 to 90 days, such as 7d.',
    },
    resets_on: {
      enum: resetDays,
      description: 'First day of the period: a weekday for a week (default monday), 1 to 28 for a month (default 1).',
    },
    soft: {
      type: 'boolean',
      default: false,
      description: 'Whether the budget only sends threshold events and refuses no request.',
    },
  },
} as const satisfies Schema

const limitsTogether = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  properties: {
    rpm: { ...rpm, description: 'Requests in any 60 seconds; absent: no limit.' },
    tpm: { ...tpm, description: 'Tokens in any 60 seconds; absent: no limit.' },
    concurrency: { ...concurrency, description: 'Concurrent requests; absent: no limit.' },
  },
} as const satisfies Schema

const group = {
  type: 'object',
  additionalProperties: false,
  description: 'A group of users, with limits for each of its keys.',
  properties: {
    rpm: { ...rpm, description: 'Requests in any 60 seconds, per key; absent: no limit.' },
    tpm: { ...tpm, description: 'Tokens in any 60 seconds, per key; absent: no limit.' },
    concurrency: { ...concurrency, description: 'Concurrent requests, always per key; absent: no limit.' },
    shadow: {
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', enum: ['rpm', 'tpm', 'concurrency'] },
      default: [],
      description: shadowDescription,
    },
    limit_scope: {
      type: 'string',
      enum: ['key', 'user'],
      default: 'key',
      description: 'Whether requests and tokens are counted per key, or for all keys of a user.',
    },
    keys_max: {
      type: 'integer',
      minimum: 0,
      description:
        "Maximum keys that each user may create in the console. Revoked keys do not count, and administrators are not limited. A user's own setting takes precedence. Absent: no limit.",
    },
    stored_objects: {
      type: 'object',
      additionalProperties: false,
      description:
        'Maximum stored objects per key, such as files and conversations; responses do not count. Absent: no limit.',
      properties: {
        max: { type: 'integer', minimum: 0, description: 'Maximum number of objects.' },
        bytes: { type: 'string', format: 'bytes', description: 'Maximum total size.' },
      },
    },
    jobs: {
      type: 'integer',
      minimum: 0,
      description:
        'Open jobs per key whose clients do not wait (`prefer: respond-async`); 100 if absent. They also count as concurrent requests.',
    },
    models: {
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: { type: 'string', minLength: 1 },
      description:
        'Models that its keys may use; one `*` matches any text. A key with its own list may use the models in both lists. Absent: all.',
    },
    aliases: {
      type: 'object',
      minProperties: 1,
      propertyNames: { minLength: 1, maxLength: 200 },
      additionalProperties: { type: 'string', minLength: 1, description: 'Name of the model.' },
      description:
        'Aliases of models for the keys of the group, by alias: { best: large-2 }. An alias takes precedence over a model of the same name. Prices, limits and the `models` of keys and groups apply to the model, not to the alias.',
    },
    multiplier: {
      type: 'string',
      format: 'factor',
      default: '1',
      description: 'Factor on token prices, as a quoted decimal. It does not apply to prices per image.',
    },
    limits_per_user: {
      ...limitsTogether,
      description: 'Limits for all keys of each user together, in addition to the limits of each key.',
    },
    limits_per_end_user: {
      ...limitsTogether,
      description:
        'Limits for each end user of each user, in addition to the other limits. The plugin `attribution` identifies the end user; requests without one have no such limit.',
    },
    limits_in_all: {
      ...limitsTogether,
      description: 'Limits for all keys of the group together, in addition to the other limits.',
    },
    budget: { ...budgetOf, description: 'Budget of all keys of the group together; absent: no limit.' },
    user_budget: {
      ...budgetOf,
      description: 'Budget of all keys of a user together, for each user without a budget of their own.',
    },
    end_user_budget: {
      ...budgetOf,
      description:
        'Budget of each end user of each user. The plugin `attribution` identifies the end user; requests without one have no such budget.',
    },
    end_user_budgets: {
      type: 'object',
      minProperties: 1,
      propertyNames: { minLength: 1, maxLength: 256 },
      additionalProperties: { ...budgetOf, description: 'Budget of this end user.' },
      description:
        'Budgets of single end users instead of `end_user_budget`, by their names, or by the hashes that the console shows.',
    },
  },
} as const satisfies Schema

const callPath = {
  type: 'string',
  format: 'call-path',
  description:
    'Path at the upstream. {model} keeps slashes, {model:segment} escapes them; the {names} of the route can be used too.',
} as const satisfies Schema

const callQuery = {
  type: 'object',
  description: 'Query parameters, instead of those of the client.',
  additionalProperties: { type: 'string', description: 'Value of the parameter.' },
} as const satisfies Schema

const call = {
  ...callPath,
  type: ['string', 'object'],
  additionalProperties: false,
  required: ['path'],
  properties: {
    path: callPath,
    method: {
      type: 'string',
      enum: ['GET', 'POST', 'PUT', 'PATCH'],
      description: "HTTP method; absent: the route's.",
    },
    query: callQuery,
    headers: {
      type: 'object',
      description: 'Additional fixed headers.',
      propertyNames: { type: 'string', format: 'header-name' },
      additionalProperties: { type: 'string', format: 'header-value', description: 'Value of the header.' },
    },
    stream: {
      type: 'object',
      additionalProperties: false,
      description: 'Differences if the client requests a stream.',
      properties: { path: callPath, query: callQuery },
    },
  },
} as const satisfies Schema

const calls = {
  type: 'object',
  default: {},
  additionalProperties: call,
} as const satisfies Schema

const credentialKeys = {
  header: { type: 'string', format: 'header-name', description: 'Name of the header, such as authorization.' },
  query: {
    type: 'string',
    minLength: 1,
    description: 'Name of the query parameter, such as key, instead of a header.',
  },
  value: {
    type: 'string',
    format: 'header-value',
    description: 'The complete value: "Bearer ${ALPHA_API_KEY}", or "${file:/run/secrets/alpha}".',
  },
  sign: {
    type: 'string',
    minLength: 1,
    description: 'Name of the plugin that signs each request, such as aws-sigv4 or google-token, instead of a header.',
  },
  with: { type: 'object', description: 'Options of the signing plugin.' },
} as const satisfies { readonly [name: string]: Schema }

const vendorKey = {
  type: 'object',
  additionalProperties: false,
  description: 'A key, by a name that stays when its secret changes.',
  required: ['value'],
  properties: {
    value: {
      type: 'string',
      format: 'header-value',
      description: 'Value of {key}: "${ALPHA_KEY_1}", or "${file:/run/secrets/alpha-1}". A secret.',
    },
    weight: {
      type: 'integer',
      minimum: 0,
      default: 1,
      description: 'Share of the requests among the usable keys; 0: the key is not used.',
    },
    models: {
      type: 'array',
      uniqueItems: true,
      minItems: 1,
      items: { type: 'string', minLength: 1 },
      description: 'Models that it serves, by their names in this file; a final * matches any ending. Absent: all.',
    },
    rpm: { ...rpm, description: 'Requests in any 60 seconds with this key; absent: no limit.' },
    tpm: { ...tpm, description: 'Tokens in any 60 seconds with this key; absent: no limit.' },
    concurrency: { ...concurrency, description: 'Concurrent requests with this key; absent: no limit.' },
    budget: {
      type: 'object',
      additionalProperties: false,
      description: 'Spending cap; the key is skipped once it is reached. Absent: no cap.',
      required: ['amount'],
      properties: {
        amount: { type: 'string', format: 'money', description: 'A quoted decimal, such as "100.00".' },
        per: {
          type: 'string',
          enum: ['total', 'day', 'month'],
          default: 'total',
          description: 'Period: total, or each day or month in `budgets.time_zone`.',
        },
      },
    },
  },
} as const satisfies Schema

const outcome = {
  type: 'object',
  additionalProperties: false,
  description: 'Meaning of upstream responses; the first matching row applies.',
  required: ['status', 'class'],
  properties: {
    status: {
      type: ['integer', 'array'],
      minimum: 400,
      maximum: 599,
      minItems: 1,
      items: { type: 'integer', minimum: 400, maximum: 599 },
      description: 'HTTP status of the response, or a list.',
    },
    at: {
      type: 'string',
      minLength: 1,
      description: 'Path of the code in the JSON body, such as error.code; absent: the usual paths.',
    },
    codes: {
      type: 'array',
      minItems: 1,
      items: { type: 'string', minLength: 1 },
      description: "The vendor's error codes; absent: any.",
    },
    mentions: {
      type: 'array',
      minItems: 1,
      items: { type: 'string', minLength: 1 },
      description:
        "Substrings of the vendor's message, case-insensitive; one must occur. {name} matches a number: 'can only afford {left}'.",
    },
    where: {
      type: 'string',
      pattern: wherePattern,
      description: "Conditions on the numbers of `mentions`: 'left > 0', 'wanted > limit'.",
    },
    class: {
      type: 'string',
      enum: saleClasses,
      description:
        'not_sold: try the next key or upstream. unknown: the vendor may have charged, do not retry. final: return the response to the client.',
    },
    key: {
      type: 'string',
      enum: keyEffects,
      default: 'none',
      description:
        'Effect on the key. none: no effect. invalid: the key is invalid. no_credit: it is out of credit. cooling: it is rate limited. model: the key does not serve the model. request: the request is too large for this key.',
    },
    confirm: {
      type: 'boolean',
      default: false,
      description:
        'The request body alone can cause this response. It counts against the key only when a different request gets it too.',
    },
  },
} as const satisfies Schema

const upstream = {
  type: 'object',
  additionalProperties: false,
  description: 'A server that runs models.',
  required: ['url'],
  properties: {
    url: {
      type: 'string',
      format: 'upstream-url',
      description: 'http(s)://HOST[/PATH], to which the path of the route is appended, or simulator:NAME.',
    },
    credential: {
      type: ['object', 'array'],
      description:
        'Credential for the upstream: a header, a query parameter, or a signing plugin; or a list of these. The values are secrets: never logged, shown or sent elsewhere.',
      additionalProperties: false,
      properties: credentialKeys,
      minItems: 1,
      items: {
        type: 'object',
        additionalProperties: false,
        description: 'One of several credentials; each request carries all of them.',
        properties: credentialKeys,
      },
    },
    query: {
      type: 'object',
      description: 'Fixed query parameters of every request, such as api-version. Clients cannot change them.',
      propertyNames: { type: 'string', minLength: 1 },
      additionalProperties: { type: 'string', format: 'header-value', description: 'Value of the parameter.' },
      default: {},
    },
    headers: {
      type: 'object',
      description: 'Additional fixed headers of every request to this upstream.',
      propertyNames: { type: 'string', format: 'header-name' },
      additionalProperties: { type: 'string', format: 'header-value', description: 'Value of the header.' },
      default: {},
    },
    calls: {
      ...calls,
      description:
        "By operation: the path at this upstream, if it differs from the family's and the route's. Overrides the family's.",
    },
    timeouts: {
      type: 'object',
      additionalProperties: false,
      description: 'Timeouts; each has its own error code.',
      default: {},
      properties: {
        connect: { type: 'string', format: 'duration', default: '5s', description: 'To connect.' },
        first_byte: { type: 'string', format: 'duration', default: '600s', description: 'For the response headers.' },
        idle: {
          type: 'string',
          format: 'duration',
          default: '120s',
          description: 'Between two chunks of the response.',
        },
        total: { type: 'string', format: 'duration', default: '15m', description: 'For the whole request.' },
        after_leave: {
          type: 'string',
          format: 'duration',
          default: '2m',
          description:
            'For the rest of a response that is read to the end for its charge after the client has disconnected.',
        },
      },
    },
    provider: {
      type: 'string',
      minLength: 1,
      maxLength: 64,
      description:
        "Vendor in traces and GenAI metrics (gen_ai.provider.name), by OpenTelemetry's list, such as openai, anthropic or cohere. Absent: the upstream's name.",
    },
    proxy: {
      type: 'string',
      format: 'proxy-or-none',
      description:
        'Proxy for connections to it: http://, https:// or socks5://, with user:password@ if needed; none: a direct connection. Absent: HTTPS_PROXY, HTTP_PROXY and NO_PROXY of the environment.',
    },
    ca: {
      type: 'string',
      format: 'certificates',
      description:
        "Certificates (PEM) of the authorities that may sign its certificate, instead of the system's: ${file:/etc/ssl/company-ca.pem}.",
    },
    region: {
      type: 'string',
      minLength: 1,
      description:
        'Region for prices that depend on it (if: { region: eu }): eu, us, fedramp, regional. A region in the response takes precedence; most vendors report none.',
    },
    answer_max: {
      type: 'string',
      format: 'bytes',
      default: '256MiB',
      description:
        'Maximum size of a response, compressed or decompressed. A larger one is cut off and charged for its content up to then.',
    },
    reuse: {
      type: 'boolean',
      description: 'Whether connections are reused; absent: as the route sets it.',
    },
    concurrency: {
      ...concurrency,
      description: "Maximum concurrent requests; beyond it, the model's next upstream is used.",
    },
    connections: {
      type: 'integer',
      minimum: 1,
      description: 'Maximum connections per process; 256 if absent. Each carries one request at a time.',
    },
    queue: {
      type: 'object',
      additionalProperties: false,
      description:
        "Queue for requests if all connections are in use; clients take turns. Beyond these limits, the request goes to the model's next upstream, or the client gets 429.",
      properties: {
        max: { type: 'integer', minimum: 0, description: 'Maximum waiting requests; 1024 if absent.' },
        for: { type: 'string', format: 'duration', description: 'Maximum wait per request; 30s if absent.' },
      },
    },
    shadow: {
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', enum: ['concurrency'] },
      default: [],
      description: shadowDescription,
    },
    cooldown: {
      type: 'object',
      additionalProperties: false,
      description: 'Pause after failures, if the model has another upstream.',
      default: {},
      properties: {
        failures: { type: 'integer', minimum: 1, default: 3, description: 'Consecutive failures before the pause.' },
        for: {
          type: 'string',
          format: 'duration',
          default: '10s',
          description: 'Length of the pause; then one request tests the upstream.',
        },
      },
    },
    keys: {
      type: 'object',
      minProperties: 1,
      description:
        'Several keys of the vendor, by name. Each request uses one of them as {key} in the values of `credential`. A refused key is suspended until it works again.',
      propertyNames: { type: 'string', minLength: 1 },
      additionalProperties: vendorKey,
    },
    probe: {
      type: 'object',
      additionalProperties: false,
      description: 'How a refused key is tested again, for free.',
      properties: {
        path: {
          type: 'string',
          format: 'call-path',
          description: 'Path whose GET is free and refuses an invalid key, such as a model list; /v1/models if absent.',
        },
      },
    },
    outcomes: {
      type: 'array',
      items: outcome,
      description: 'Meaning of refusals that the built-in table does not cover.',
    },
    on_unknown: {
      type: 'string',
      enum: ['stop', 'pay_twice'],
      description:
        'Behavior if the vendor may have charged for a request without a response. stop (the default): the client gets an error. pay_twice: the gateway tries the next key or upstream, and the vendor may charge twice.',
    },
  },
} as const satisfies Schema

const names = { type: 'array', uniqueItems: true, items: { type: 'string', minLength: 1 } } as const satisfies Schema

const sentences = { type: 'array', items: { type: 'string', minLength: 1 }, default: [] } as const satisfies Schema

const forwardRule = {
  type: ['array', 'object'],
  description: 'A list of field names, or { all: true, except: [names] }. Other fields are dropped and logged.',
  uniqueItems: true,
  items: { type: 'string', minLength: 1 },
  additionalProperties: false,
  required: ['all'],
  properties: {
    all: { type: 'boolean', const: true, description: 'Forward every field.' },
    except: { ...names, default: [], description: 'Fields to drop.' },
  },
} as const satisfies Schema

const affinity = {
  type: 'object',
  additionalProperties: false,
  description:
    'Hints that identify a conversation. Requests of one conversation go to the same upstream and vendor key while both are healthy. The first hint in a request counts. Absent: requests are distributed by weight.',
  properties: {
    fields: {
      ...names,
      default: [],
      description: 'Fields of the request body; dots separate nested members: prompt_cache_key, metadata.user_id.',
    },
    headers: {
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', format: 'header-name' },
      default: [],
      description: 'Request headers, used if no field is present: session-id.',
    },
  },
} as const satisfies Schema

const family = {
  type: 'object',
  additionalProperties: false,
  description: 'Models with the same behavior. Each plugin of the pipeline can have a section here, under its name.',
  properties: {
    streams: { ...names, default: [], description: 'Operations that support streaming.' },
    n_max: { type: 'integer', minimum: 1, default: 128, description: 'The largest `n` that a client may request.' },
    forward: {
      type: 'object',
      description: 'By operation: the request fields to forward. Operations that are not listed forward all fields.',
      default: {},
      additionalProperties: forwardRule,
    },
    defaults: {
      type: 'object',
      description:
        'Values of fields that the client omits or sets to null. They are priced and forwarded as if the client had sent them, except fields that forward drops.',
      default: {},
      additionalProperties: {
        type: ['string', 'number', 'boolean', 'object', 'array'],
        description: 'Value of the field.',
      },
    },
    further_models: {
      type: 'object',
      additionalProperties: false,
      description:
        'Fields in which bodies name further models; dots separate nested members, and lists are searched. Each must be a configured model that the client may use on the same upstream.',
      default: {},
      properties: {
        instead: {
          ...names,
          default: ['models'],
          description:
            'Models that may respond instead of the first. Billed as the model in the response; the hold uses the most expensive, which is also billed if the response names none of them.',
        },
        beside: {
          ...names,
          default: [],
          description: 'Models that the request also runs, such as by tools: [tools.model].',
        },
      },
    },
    vendor_tools: {
      ...names,
      description:
        'Allowed tools that the upstream runs, by their names in requests: web_search, googleSearch, web_search_options; a final * matches any ending. Others are refused. Tools that the client runs need no entry. Absent: every tool is forwarded, except image tools.',
    },
    shared_objects: {
      ...names,
      description:
        'IDs of stored objects that every key may use, such as vector stores that you made at the vendor: vs_123; a final * matches any ending. Only the key that made an object through the gateway can use any other object.',
    },
    session_usage: {
      type: 'string',
      enum: ['turn', 'running'],
      description:
        'How upstreams report the usage of live sessions: turn (the default): each report is that of its turn; running: each report is the total of the session so far.',
    },
    affinity,
    forward_headers: {
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', format: 'forward-header' },
      default: [],
      description:
        'Request headers to forward in addition to those of the API format; a final * matches any ending: [session-id, "x-codex-*"]. Headers for keys, cookies, framing, proxies and accounts are not allowed.',
    },
    reply_headers: {
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', format: 'reply-header' },
      default: [],
      description:
        'Response headers to return in addition to those of the API format; a final * matches any ending. Headers for cookies, limits, request IDs and vendor accounts are not allowed.',
    },
    calls: {
      ...calls,
      description: "By operation: the upstream path for these models, instead of the route's path.",
    },
    notes: {
      type: 'object',
      additionalProperties: false,
      description:
        'Notes for clients about these models; shown in the documentation, on the price page and in the playground.',
      default: {},
      properties: {
        en: { ...sentences, description: 'Text in English.' },
        zh: { ...sentences, description: 'Text in Chinese.' },
      },
    },
  },
} as const satisfies Schema

const sendAs = {
  type: 'string',
  minLength: 1,
  description:
    'Model name at the upstream; absent: its own name. If the name of the model contains *, a * here is the text that matched it.',
} as const satisfies Schema

const candidate = {
  type: 'object',
  additionalProperties: false,
  required: ['upstream'],
  properties: {
    upstream: { type: 'string', description: 'Name of an upstream that serves it.' },
    weight: {
      type: 'number',
      exclusiveMinimum: 0,
      default: 1,
      description: 'Share of the requests among upstreams of the same priority.',
    },
    priority: {
      type: 'integer',
      minimum: 1,
      default: 1,
      description: 'Order of use: upstreams of 1 first, then those of 2 if none of 1 accepts the request.',
    },
    send_as: { ...sendAs, description: "Model name at this upstream; absent: the model's own name." },
  },
} as const satisfies Schema

const unpriced = {
  type: 'string',
  enum: ['refuse', 'review', 'parent'],
  description: 'Handling of usage without a price, for this model; absent: the setting of the family.',
} as const satisfies Schema

/** The defaults for a model without `retry`. */
export const retryDefaults = { attempts: 3, backoff: '500ms', wait_max: '10s' } as const

const prices = {
  type: 'object',
  minProperties: 1,
  description:
    'Prices as quoted decimals, by unit: a tier such as 2K; tokens per million (input, cached_input, cache_write, cache_write_1h, input_audio, input_image, input_video, cached_input_audio, cached_input_image, cached_input_video, output, reasoning, output_audio, output_image) and character; calls per thousand (web_search, grounding, maps, code_execution, file_search); cache_storage per million tokens and hour; second, minute, hour, request, search_unit, each. Absent: the prices in price_tables.',
  properties: {
    from: {
      type: 'string',
      minLength: 1,
      description:
        "Name of the row of price_tables to use, if different from the model's name; instead of all other prices.",
    },
  },
  additionalProperties: { type: 'string', format: 'money', description: 'A quoted decimal, such as "0.04".' },
} as const satisfies Schema

const cache = {
  type: 'object',
  additionalProperties: false,
  required: ['for'],
  description:
    'Keeps responses for equal requests, by the plugin answer-cache. Absent: every request is sent to an upstream.',
  properties: {
    for: { type: 'string', format: 'duration', description: 'How long a response is cached: 1h.' },
    per: {
      type: 'string',
      enum: cacheScopes,
      default: 'key',
      description:
        'Scope in which responses are shared: the requests of one key, of all keys of one user, or of all keys of one group.',
    },
    keys: {
      type: 'string',
      enum: ['all', 'opted_in'],
      default: 'all',
      description:
        'Keys that use the cache. all: every key that is not set to off. opted_in: only keys that are set to on.',
    },
    images: {
      type: 'boolean',
      default: false,
      description: 'true keeps images too. A repeated request then returns the same image.',
    },
    ignore: {
      ...names,
      default: attributionFields,
      description:
        'Request fields that may differ between equal requests. A response that repeats the value of such a field is returned only for the same value.',
    },
    hit_price: {
      type: 'object',
      additionalProperties: false,
      description: 'Price of a cached response: the sum of `each` and `times`. Absent: free.',
      properties: {
        each: { type: 'string', format: 'money', default: '0', description: 'For each hit: "0.001".' },
        times: {
          type: 'string',
          format: 'factor',
          default: '0',
          description: 'Factor on the original cost of the response: "0.1".',
        },
      },
    },
  },
} as const satisfies Schema

const model = {
  type: 'object',
  additionalProperties: false,
  description:
    'A model that clients can request. A name with one * serves every matching name that has no entry of its own.',
  required: ['family'],
  properties: {
    family: { type: 'string', description: 'Name of its family.' },
    upstream: { type: 'string', description: 'Name of the upstream that serves it, instead of upstreams.' },
    upstreams: {
      type: 'array',
      minItems: 1,
      description: 'Several upstreams that serve it, in the order of priority and weight.',
      items: candidate,
    },
    routes: { type: 'string', minLength: 1, description: 'Name of an entry of route_sets, instead of upstreams.' },
    fallbacks: {
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: { type: 'string', minLength: 1, description: 'Name of a model.' },
      description:
        'Models that are called in this order if no upstream of this model responds. Each is charged at its own prices. A model with another API format needs `accepts` (docs/failover.md).',
    },
    prices,
    price: { type: 'string', enum: ['free'], description: 'free for a model that costs nothing, instead of prices.' },
    overrides: priceOverrides,
    times: priceTimes,
    unpriced,
    limits: {
      type: 'object',
      additionalProperties: false,
      description: "Limits of the model, in addition to those of the client's group.",
      default: {},
      properties: {
        rpm,
        scope: {
          type: 'string',
          enum: ['gateway', 'key'],
          default: 'gateway',
          description: 'Whether all traffic is counted together, or per key.',
        },
        shadow: {
          type: 'array',
          uniqueItems: true,
          items: { type: 'string', enum: ['rpm'] },
          default: [],
          description: shadowDescription,
        },
      },
    },
    retry_on: {
      type: 'array',
      uniqueItems: true,
      items: {
        type: ['integer', 'string'],
        enum: [...retryStatuses, ...retryFaults],
        description:
          'A status of the upstream; timeout: no response in time; connect: no connection; reset: the connection was lost before the response.',
      },
      description:
        'Failures after which a request is sent again, to the next upstream or after a wait: [408, 500, 502, 503, 504, timeout, connect]. Only before the first byte of the response, and only text without tools that the upstream runs; everything else needs `may_pay_twice`. Absent or empty: off.',
    },
    retry: {
      type: 'object',
      additionalProperties: false,
      description: 'How often and when `retry_on` sends a request again.',
      properties: {
        attempts: {
          type: 'integer',
          minimum: 1,
          maximum: 10,
          default: retryDefaults.attempts,
          description: 'Maximum requests to upstreams for one request of a client, the first one included.',
        },
        backoff: {
          type: 'string',
          format: 'duration',
          default: retryDefaults.backoff,
          description:
            'Wait before the upstreams are tried again, once all have failed; doubled each time. The next upstream is tried at once.',
        },
        wait_max: {
          type: 'string',
          format: 'duration',
          default: retryDefaults.wait_max,
          description:
            "Longest wait. If an upstream's Retry-After is longer, the client gets its response instead of waiting.",
        },
      },
    },
    may_pay_twice: {
      type: 'boolean',
      description:
        'true lets `retry_on` repeat requests that the vendor may have charged: images, jobs, and requests with tools that the upstream runs. The vendor may then charge twice; the client is charged once.',
    },
    cache,
    affinity: { ...affinity, description: "Replaces the family's affinity for this model; {} turns it off." },
    defaults: {
      type: 'object',
      description:
        "By operation: values of fields that the client omits or sets to null, before the family's: { chat: { reasoning_effort: low } }. They are priced and forwarded as if the client had sent them.",
      additionalProperties: {
        type: 'object',
        minProperties: 1,
        description: 'Fields of requests of the operation.',
        additionalProperties: {
          type: ['string', 'number', 'boolean', 'object', 'array'],
          description: 'Value of the field.',
        },
      },
    },
    accepts: {
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', minLength: 1 },
      description:
        'API formats in which clients may call the model, in addition to those of its family: [chat, responses, messages, generate]; for embeddings [embeddings, generate.embed]; for sound [audio.speech, audio.transcribe]. The plugin format-bridge translates them (docs/translation.md).',
    },
    on_loss: {
      type: 'string',
      enum: ['refuse', 'drop'],
      description:
        'Handling of parts of a translated request that the format of the upstream cannot express. refuse: the request is refused. drop: the parts are dropped. Absent: the request is refused if a part changes the result or the price; other parts are dropped. The response lists dropped parts.',
    },
    send_as: sendAs,
    listed: {
      type: 'object',
      additionalProperties: false,
      description:
        'For a name with *: filters the rows of price_tables, which provide the names and prices of its models. Absent: every row with a matching name.',
      properties: {
        modes: {
          type: 'array',
          minItems: 1,
          items: { type: 'string', minLength: 1 },
          description: 'Only rows with one of these modes: [chat, responses].',
        },
        providers: {
          type: 'array',
          minItems: 1,
          items: { type: 'string', minLength: 1 },
          description: 'Only rows with one of these providers.',
        },
      },
    },
    ends: {
      type: 'string',
      format: 'date',
      description:
        'The day (UTC) from which the vendor no longer serves it: 2026-12-01. Warnings start 60 days before, in check, at the start and for clients. Requests are not refused.',
    },
    enabled: {
      type: 'boolean',
      default: true,
      description: 'false hides and refuses the model, but keeps it for old records.',
    },
  },
} as const satisfies Schema

const route = {
  type: 'object',
  additionalProperties: false,
  description: 'One endpoint.',
  required: ['match', 'operation', 'dialect'],
  properties: {
    match: {
      type: ['string', 'array'],
      format: 'route',
      description:
        'Method and path; {name} captures a part of the path: "GET /v1/models/{id}". In paths of stored objects and of voices, it captures one segment. A list adds alternative paths; upstreams get the first.',
      minItems: 1,
      items: [{ type: 'string', format: 'route' }],
      additionalItems: { type: 'string', format: 'route-spelling' },
    },
    operation: { type: 'string', minLength: 1, description: 'Operation name, used by families.' },
    dialect: {
      type: 'string',
      minLength: 1,
      description: 'API format of the route; by-caller: the format of the client.',
    },
    stream: {
      type: 'string',
      enum: ['field', 'always', 'never'],
      default: 'field',
      description: 'Whether responses are streamed: as `stream` in the body requests, always, or never.',
    },
    body: {
      type: 'string',
      enum: ['json', 'form', 'form-or-json', 'any', 'none'],
      description:
        'Required body type; any: bytes of any type, which pass unread. Absent: none for GET and DELETE, else json.',
    },
    body_max: { type: 'string', format: 'bytes', description: 'Maximum request body; absent: server.body_max.' },
    jobs: {
      type: 'string',
      enum: ['wait', 'accept'],
      description:
        'For upstream jobs: wait (the default) responds when the job is done; accept responds 202 immediately, and GET /v1/jobs/{id} returns the result. Clients that send `prefer: respond-async` always get 202.',
    },
    session: {
      type: 'object',
      additionalProperties: false,
      description:
        'Serves WebSockets on this route; each turn is charged separately. GET requests without a WebSocket handshake get 426.',
      properties: {
        each: {
          type: 'string',
          format: 'route',
          description:
            'Route for the messages, each of which is a separate request: POST /v1/responses. Absent: frames are forwarded between client and upstream.',
        },
        per_key: {
          type: 'integer',
          minimum: 1,
          default: 256,
          description: 'Maximum open sessions per key, in all processes that share `counters`.',
        },
        idle: {
          type: 'string',
          format: 'duration',
          default: '15m',
          description: 'Time without a message after which a session ends.',
        },
        total: { type: 'string', format: 'duration', default: '60m', description: 'Maximum duration of a session.' },
        ping: {
          type: 'string',
          format: 'duration',
          default: '30s',
          description:
            'Silence after which both sides get a ping. A side that stays silent for two more intervals counts as gone.',
        },
        message_max: { type: 'string', format: 'bytes', default: '16MiB', description: 'Maximum message size.' },
      },
    },
    reuse: {
      type: 'boolean',
      description: 'false opens a new connection for each request, for requests that must not be sent twice.',
    },
    serve: {
      type: 'string',
      minLength: 1,
      description:
        'The gateway responds itself, without an upstream: models, model, charge, job, objects, client-secret.',
    },
  },
} as const satisfies Schema

/** The defaults for all entries of a section; none is required. */
function under(section: Schema, description: string): { readonly [keyword: string]: unknown } {
  const { required: _, ...rest } = section as { readonly [keyword: string]: unknown }
  return { ...rest, description }
}

const files = {
  type: 'array',
  uniqueItems: true,
  items: { type: 'string', minLength: 1 },
} as const satisfies Schema

/** Short forms for several entries. */
const composition = {
  include: {
    ...files,
    description:
      'Further configuration files, read as if they were part of this one: paths relative to this file, or patterns such as models/*.yaml. Two files must not set the same name.',
  },
  price_tables: {
    ...files,
    description: 'Price tables. A model without prices uses the first row with the name that its upstream has for it.',
  },
  defaults: {
    type: 'object',
    additionalProperties: false,
    description: 'Default settings for the entries of a section.',
    properties: {
      upstreams: under(upstream, 'For all upstreams.'),
      groups: under(group, 'For all groups.'),
      models: under(model, 'For all models.'),
    },
  },
  route_sets: {
    type: 'object',
    description: 'Named lists of upstreams, for `routes` of models.',
    propertyNames: { minLength: 1 },
    additionalProperties: {
      type: 'array',
      minItems: 1,
      description: 'Upstreams in the order of priority and weight.',
      items: candidate,
    },
  },
  model_lists: {
    type: 'object',
    description: 'Lists of models that differ only in name and price, by a name for the list.',
    propertyNames: { minLength: 1 },
    additionalProperties: {
      ...under(model, 'Settings shared by all models of the list, and the models.'),
      required: ['models'],
      properties: {
        ...model.properties,
        models: {
          type: ['array', 'object'],
          description:
            'Names of models with prices in price_tables; or a mapping of each name to its prices or to free.',
          items: { type: 'string', minLength: 1 },
          additionalProperties: {
            ...prices,
            type: ['object', 'string', 'null'],
            pattern: '^free$',
            description: 'Prices of the model, as in models.NAME.prices, or free.',
          },
        },
      },
    },
  },
} as const

export const parts = {
  server,
  retention,
  budgets,
  events,
  signIn,
  observability,
  group,
  upstream,
  family,
  model,
  route,
  composition,
} as const

export type ServerSettings = Admits<typeof server>
export type RetentionSettings = Admits<typeof retention>
export type EventSettings = Admits<typeof events>
export type SignInSettings = Admits<typeof signIn>
export type ObservabilitySettings = Admits<typeof observability>
export type BudgetsSettings = Admits<typeof budgets>
export type GroupSettings = Admits<typeof group>
export type UpstreamSettings = Admits<typeof upstream>
export type VendorKeySettings = Admits<typeof vendorKey>
export type OutcomeSettings = Admits<typeof outcome>
export type FamilySettings = Admits<typeof family>
export type CallSettings = Admits<typeof call>
export type ForwardSettings = Admits<typeof forwardRule>
export type ModelSettings = Admits<typeof model>
export type RouteSettings = Admits<typeof route>
