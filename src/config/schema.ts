import { keyEffects, kindWords, roles, saleClasses, wherePattern } from '../domain/index.ts'
import type { Admits, Schema } from '../util/index.ts'
import { priceOverrides, priceTimes } from './price-conditions.ts'

const rpm = {
  type: 'integer',
  minimum: 1,
  description: 'Requests in any 60 seconds.',
} as const satisfies Schema

const tpm = { type: 'integer', minimum: 1, description: 'Tokens in any 60 seconds.' } as const satisfies Schema

const concurrency = { type: 'integer', minimum: 1, description: 'Requests at once.' } as const satisfies Schema

const shadowDescription = 'Limits that count and log what they would refuse, and refuse no request.'

const server = {
  type: 'object',
  additionalProperties: false,
  description: 'Where the gateway listens and how much it holds.',
  default: {},
  properties: {
    listen: {
      type: 'string',
      format: 'address',
      default: '127.0.0.1:8080',
      description: 'host:port for callers: /v1/*, /console, /pricing, /docs, /api/*.',
    },
    ops: {
      type: 'string',
      format: 'address-or-off',
      description: 'host:port for operators: /metrics, /healthz, /readyz; `off` for none.',
    },
    tls: {
      type: 'object',
      additionalProperties: false,
      description:
        'Callers speak TLS to `listen`; absent for plain HTTP. The files are read again when they change and at every reload.',
      required: ['cert', 'key'],
      properties: {
        cert: { type: 'string', minLength: 1, description: 'Path of the certificate and its chain, as PEM.' },
        key: { type: 'string', minLength: 1, description: 'Path of its private key, as PEM, without a passphrase.' },
      },
    },
    trusted_proxies: {
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', format: 'network' },
      default: [],
      description:
        "Addresses or CIDR blocks of proxies whose X-Forwarded-For and X-Forwarded-Host are believed; a caller's address is the last in the former that is none of theirs.",
    },
    public_url: {
      type: 'string',
      format: 'public-url',
      description:
        'Where browsers reach the console, such as https://ai.example.com: links of invitations begin with it, and issuers of sign_in send people back to it.',
    },
    connections_max: {
      type: 'integer',
      minimum: 1,
      description:
        'Connections of callers at once, of each process; beyond them new ones are closed. Absent for no bound.',
    },
    connections_per_address: {
      type: 'integer',
      minimum: 1,
      description:
        'Connections at once of one address that is no trusted proxy, of each process; beyond them new ones are closed. Absent for no bound.',
    },
    body_max: {
      type: 'string',
      format: 'bytes',
      default: '32MiB',
      description: 'The largest request body of a route that sets none itself; one byte more is answered 413.',
    },
    memory_max: {
      type: 'string',
      format: 'bytes',
      default: '192MiB',
      description: 'Bodies held in memory, all requests together; beyond it new ones get 503.',
    },
    spool_max: {
      type: 'string',
      format: 'bytes',
      default: '4GiB',
      description: 'Bodies kept in temporary files, all requests together; beyond it new ones get 503.',
    },
    workers: {
      type: ['integer', 'string'],
      minimum: 1,
      maximum: 999,
      format: 'processes',
      default: 1,
      description:
        'Processes that `serve` runs on the one address; `auto` is one per CPU. More than one needs counters outside them.',
    },
    drain: {
      type: 'string',
      format: 'duration',
      default: '30s',
      description: 'How long requests in flight may run after the gateway receives a signal to stop.',
    },
    drain_wait: {
      type: 'string',
      format: 'duration-or-none',
      default: '0s',
      description:
        'How long the gateway accepts requests after the signal to stop, while /readyz returns 503: as long as a load balancer needs to notice.',
    },
    heartbeat: {
      type: 'string',
      format: 'duration-or-off',
      default: '15s',
      description: 'Silence after which the gateway sends a heartbeat on a stream, so that no proxy closes it; or off.',
    },
    agents_accepting_102: {
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', minLength: 1 },
      default: [],
      description:
        'Parts of the User-Agent of callers that get a 102 each `heartbeat` while they wait for an answer; name only those that know what a 102 is. Who comes by a proxy gets none.',
    },
    console: {
      type: 'string',
      enum: ['on', 'off'],
      default: 'on',
      description:
        'Whether the web console, its API, the price page and the reference are served; `off` for a sidecar.',
    },
    console_edits: {
      type: 'string',
      enum: ['on', 'off'],
      default: 'off',
      description:
        'Whether administrators may write changes of models, prices and groups into this file from the console; `off` shows and checks them, and gives them as a patch.',
    },
    cors: {
      type: 'object',
      additionalProperties: false,
      description: 'Which web pages may call the gateway from a browser; absent for none.',
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
  description: 'How long records are kept. Charges are kept for ever.',
  default: {},
  properties: {
    log: {
      type: 'string',
      format: 'duration-or-off',
      default: 'off',
      description: 'How long the request log is kept, such as 90d; off for ever.',
    },
    review: {
      type: 'string',
      format: 'duration-or-off',
      default: 'off',
      description:
        'After how long a charge that needs review is voided and its hold given back, such as 24h; off: it waits for a person for ever.',
    },
    events: {
      type: 'string',
      format: 'duration-or-off',
      default: '90d',
      description:
        'How long events are kept, and how far back /api/events goes; events that a webhook has not received remain. off: forever.',
    },
  },
} as const satisfies Schema

const events = {
  type: 'object',
  additionalProperties: false,
  description: 'Receivers of events.',
  default: {},
  properties: {
    webhooks: {
      type: 'object',
      propertyNames: { minLength: 1 },
      default: {},
      description: 'Receivers, by name. Each gets every event of its kinds at least once.',
      additionalProperties: {
        type: 'object',
        additionalProperties: false,
        description: 'One receiver.',
        required: ['url', 'kinds'],
        properties: {
          url: {
            type: 'string',
            format: 'receiver',
            description:
              'https://… that events are posted to; of e-mail smtps://USER:PASSWORD@HOST[:PORT], or smtp:// which turns to TLS where the server offers it. A secret: never logged, never shown.',
          },
          format: {
            type: 'string',
            enum: ['standard', 'slack', 'email'],
            default: 'standard',
            description: 'A signed JSON object (Standard Webhooks), a text as Slack takes it, or an e-mail.',
          },
          secret: {
            type: 'string',
            format: 'webhook-secret',
            description: 'What `standard` is signed with: whsec_ and 24 to 64 bytes as Base64.',
          },
          old_secret: {
            type: 'string',
            format: 'webhook-secret',
            description: 'The one before, while receivers learn the next: bodies are signed with both.',
          },
          kinds: {
            type: 'array',
            minItems: 1,
            uniqueItems: true,
            items: { type: 'string', enum: kindWords },
            description: 'Events that it receives: kinds, charge.* for all of a sort, or "*" for everything.',
          },
          allow_private: {
            type: 'boolean',
            default: false,
            description:
              'Whether its address may be one of this machine or of a private network, and may go without encryption.',
          },
          from: { type: 'string', format: 'mailbox', description: 'Of e-mail: whom it is from.' },
          to: {
            type: 'array',
            minItems: 1,
            uniqueItems: true,
            items: { type: 'string', format: 'mailbox' },
            description: 'Of e-mail: whom it is for.',
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
      description: 'Its identifier, an address below which its /.well-known/openid-configuration is.',
    },
    label: {
      type: 'string',
      minLength: 1,
      maxLength: 60,
      description: 'What the button of the sign-in page says; its name when absent.',
    },
    client_id: { type: 'string', minLength: 1, description: 'What the gateway is called there.' },
    client_secret: {
      type: 'string',
      minLength: 1,
      description: 'What the gateway proves itself by; absent for a client without a secret.',
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
      description: 'Whether it may be called without encryption: for one on the same machine.',
    },
    groups_claim: {
      type: 'string',
      minLength: 1,
      default: 'groups',
      description: 'Where to read the groups of a person: a claim, or a path such as realm_access.roles.',
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
        'Roles by group, taken over at each sign-in: of several admin goes before billing, viewer and user. Absent: roles are given here.',
    },
    default_role: {
      type: 'string',
      enum: ['user', 'viewer', 'billing'],
      description: 'The role of people for whom `roles` has none; absent: they are refused.',
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
        'Groups here by groups there, taken over at each sign-in: the first that fits counts, and who is in none has `group`. Absent: groups are given here.',
    },
    match: {
      type: 'string',
      enum: ['invitation', 'email'],
      default: 'invitation',
      description:
        'How people are known when they come first: by an invitation, or by their own wish while they are signed in; `email` also knows them by a verified e-mail that is the name of a user.',
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
      description: 'The group of users who come in by allow_sign_up, and of those whom `groups` does not name.',
    },
    email_domains: {
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', format: 'domain' },
      default: [],
      description: 'Domains of verified e-mails that may come in; empty for all people.',
    },
    sign_out: {
      type: 'string',
      enum: ['here', 'issuer'],
      default: 'here',
      description:
        'Where signing out of the console ends: here alone, or at the issuer too, and with it at everything else that it lets people into.',
    },
  },
} as const satisfies Schema

const signIn = {
  type: 'object',
  additionalProperties: false,
  description: 'How people get into the console.',
  default: {},
  properties: {
    passwords: {
      type: 'boolean',
      default: true,
      description:
        'Whether people can sign in with a password. If not, and no administrator is linked to an issuer, the gateway prints the setup link again at its start.',
    },
    issuers: {
      type: 'object',
      propertyNames: { minLength: 1 },
      default: {},
      description: 'Issuers of identities, by name: small letters, digits and hyphens.',
      additionalProperties: issuer,
    },
  },
} as const satisfies Schema

const observability = {
  type: 'object',
  additionalProperties: false,
  description: 'What the gateway reports besides /metrics and its log.',
  default: {},
  properties: {
    otlp: {
      type: 'object',
      additionalProperties: false,
      required: ['endpoint'],
      description:
        'Sends traces and GenAI metrics by OTLP, as JSON over HTTP; absent for none. Opened once, at the start.',
      properties: {
        endpoint: {
          type: 'string',
          format: 'otlp-endpoint',
          description:
            'Base address of the receiver, such as http://127.0.0.1:4318; /v1/traces and /v1/metrics follow.',
        },
        headers: {
          type: 'object',
          description: 'Headers for the receiver, such as authorization. Their values are secrets.',
          propertyNames: { type: 'string', format: 'header-name' },
          additionalProperties: { type: 'string', format: 'header-value', description: 'Value of the header.' },
          default: {},
        },
        traces: {
          type: 'boolean',
          default: true,
          description: 'A span for each request, and for each call of an upstream.',
        },
        metrics: {
          type: 'boolean',
          default: true,
          description: 'gen_ai.client.token.usage, gen_ai.server.request.duration.',
        },
        every: { type: 'string', format: 'duration', default: '10s', description: 'How often they are sent.' },
        forward_traceparent: {
          type: 'boolean',
          default: false,
          description: 'Whether upstreams get the trace, in the header traceparent.',
        },
      },
    },
  },
} as const satisfies Schema

const budgets = {
  type: 'object',
  additionalProperties: false,
  default: {},
  description: 'How budgets are renewed, and when an event reports that they are nearly spent.',
  properties: {
    time_zone: {
      type: 'string',
      format: 'time-zone',
      default: 'UTC',
      description: 'By whose days and months budgets are renewed: a name of the IANA database, such as Europe/Berlin.',
    },
    thresholds: {
      type: 'array',
      maxItems: 10,
      uniqueItems: true,
      items: { type: 'integer', minimum: 1, maximum: 100 },
      default: [80, 100],
      description:
        'Percentages of a budget at which the gateway sends the event budget.threshold, once per day, month or amount; [] for none.',
    },
  },
} as const satisfies Schema

const budgetOf = {
  type: 'object',
  additionalProperties: false,
  required: ['amount'],
  properties: {
    amount: { type: 'string', format: 'money', description: 'How much, as a quoted decimal.' },
    per: {
      type: 'string',
      enum: ['total', 'day', 'month'],
      default: 'total',
      description: 'What it is for: all there ever is, or each day or month of `budgets.time_zone`.',
    },
  },
} as const satisfies Schema

const limitsTogether = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  properties: {
    rpm: { ...rpm, description: 'Requests in any 60 seconds; absent for no limit.' },
    tpm: { ...tpm, description: 'Tokens in any 60 seconds; absent for no limit.' },
    concurrency: { ...concurrency, description: 'Requests at once; absent for no limit.' },
  },
} as const satisfies Schema

const group = {
  type: 'object',
  additionalProperties: false,
  description: 'A group of users and the limits of each of its keys.',
  properties: {
    rpm: { ...rpm, description: 'Requests in any 60 seconds, per key; absent for no limit.' },
    tpm: { ...tpm, description: 'Tokens in any 60 seconds, per key; absent for no limit.' },
    concurrency: { ...concurrency, description: 'Requests at once, always per key; absent for no limit.' },
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
      description: 'Whose requests and tokens count together: those of each key, or those of all keys of a user.',
    },
    keys_max: {
      type: 'integer',
      minimum: 0,
      description:
        'Keys that each user of it may have who makes them at the console; revoked ones are not counted, administrators are not bound. Absent for as many as they like; what is set for a user goes before it.',
    },
    jobs: {
      type: 'integer',
      minimum: 0,
      description:
        'Jobs that each of its keys may have open, whose clients do not wait (`prefer: respond-async`); 100 when absent. They count as requests at once, too.',
    },
    models: {
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: { type: 'string', minLength: 1 },
      description:
        'Models that its keys may use, by name; a final `*` matches any ending. A key with its own list may use the models in both. Absent: all.',
    },
    multiplier: {
      type: 'string',
      format: 'factor',
      default: '1',
      description: 'Factor on token prices, as a quoted decimal; prices per image ignore it.',
    },
    limits_per_user: {
      ...limitsTogether,
      description:
        'Limits of all keys of one user together, of each user of the group, in addition to those of each key.',
    },
    limits_in_all: {
      ...limitsTogether,
      description: 'Limits of all keys of the group together, in addition to the others.',
    },
    budget: { ...budgetOf, description: 'What all keys of the group may spend together; absent for no bound.' },
    user_budget: {
      ...budgetOf,
      description: 'What all keys of one user may spend together, of each user without a budget of their own.',
    },
  },
} as const satisfies Schema

const callPath = {
  type: 'string',
  format: 'call-path',
  description:
    'The path at the upstream, with {model}, which keeps slashes, {model:segment}, which escapes them, and the {names} of the route.',
} as const satisfies Schema

const callQuery = {
  type: 'object',
  description: 'Its query, in place of what the caller sent.',
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
      description: "Its method; the route's when absent.",
    },
    query: callQuery,
    headers: {
      type: 'object',
      description: 'More fixed headers for it.',
      propertyNames: { type: 'string', format: 'header-name' },
      additionalProperties: { type: 'string', format: 'header-value', description: 'Value of the header.' },
    },
    stream: {
      type: 'object',
      additionalProperties: false,
      description: 'What differs when the client requests a stream.',
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
  query: { type: 'string', minLength: 1, description: 'Name of the parameter instead, such as key.' },
  value: {
    type: 'string',
    format: 'header-value',
    description: 'Its whole value: "Bearer ${ALPHA_API_KEY}", or "${file:/run/secrets/alpha}".',
  },
  sign: {
    type: 'string',
    minLength: 1,
    description: 'Name of the plugin that signs each request instead, such as aws-sigv4 or google-token.',
  },
  with: { type: 'object', description: 'What the signing plugin has to know: the keys that it names.' },
} as const satisfies { readonly [name: string]: Schema }

const vendorKey = {
  type: 'object',
  additionalProperties: false,
  description: 'One of them, by a name that stays when its secret changes.',
  required: ['value'],
  properties: {
    value: {
      type: 'string',
      format: 'header-value',
      description: 'The value of {key}: "${ALPHA_KEY_1}", or "${file:/run/secrets/alpha-1}". It is secret.',
    },
    weight: {
      type: 'integer',
      minimum: 0,
      default: 1,
      description: 'Its share of the requests among the keys that may be used; 0 gives it none.',
    },
    models: {
      type: 'array',
      uniqueItems: true,
      minItems: 1,
      items: { type: 'string', minLength: 1 },
      description: 'The models that it serves, by our names, * for the rest of a name; absent for all.',
    },
    rpm: { ...rpm, description: 'Requests in any 60 seconds that use it; absent for no limit.' },
    tpm: { ...tpm, description: 'Tokens in any 60 seconds of requests that use it; absent for no limit.' },
    concurrency: { ...concurrency, description: 'Concurrent requests that use it; absent for no limit.' },
    budget: {
      type: 'object',
      additionalProperties: false,
      description: 'Spending cap; the key is skipped once reached. Absent for no cap.',
      required: ['amount'],
      properties: {
        amount: { type: 'string', format: 'money', description: 'A quoted decimal, such as "100.00".' },
        per: {
          type: 'string',
          enum: ['total', 'day', 'month'],
          default: 'total',
          description: 'For all of its life, or for each day or month of `budgets.time_zone`.',
        },
      },
    },
  },
} as const satisfies Schema

const outcome = {
  type: 'object',
  additionalProperties: false,
  description: 'What some answers mean; of several rows the first that fits.',
  required: ['status', 'class'],
  properties: {
    status: {
      type: ['integer', 'array'],
      minimum: 400,
      maximum: 599,
      minItems: 1,
      items: { type: 'integer', minimum: 400, maximum: 599 },
      description: 'The status of the answer, or a list of them.',
    },
    at: {
      type: 'string',
      minLength: 1,
      description: 'Where to read the code in its JSON, such as error.code; the usual places when absent.',
    },
    codes: {
      type: 'array',
      minItems: 1,
      items: { type: 'string', minLength: 1 },
      description: 'Machine-readable codes of the vendor; absent where the status alone says it.',
    },
    mentions: {
      type: 'array',
      minItems: 1,
      items: { type: 'string', minLength: 1 },
      description:
        "Parts of the vendor's message, in any case; one of them has to occur. {name} matches a number: 'can only afford {left}'.",
    },
    where: {
      type: 'string',
      pattern: wherePattern,
      description: "What the numbers of `mentions` have to be: 'left > 0', 'wanted > limit'.",
    },
    class: {
      type: 'string',
      enum: saleClasses,
      description:
        'not_sold: the request goes to the next key or upstream. unknown: it may have been sold, and goes nowhere else. final: the client gets the response.',
    },
    key: {
      type: 'string',
      enum: keyEffects,
      default: 'none',
      description:
        'What it says of the key: nothing, that it is invalid, has no credit, is limited for a while, or does not serve the model; or of the request, that it is too much for this key (request).',
    },
    confirm: {
      type: 'boolean',
      default: false,
      description:
        'The body of one request can bring it about: it counts for the key when a different request is refused so too.',
    },
  },
} as const satisfies Schema

const upstream = {
  type: 'object',
  additionalProperties: false,
  description: 'A server that models run on.',
  required: ['url'],
  properties: {
    url: {
      type: 'string',
      format: 'upstream-url',
      description: 'http(s)://HOST[/PATH], which the path of a route is appended to, or simulator:NAME.',
    },
    credential: {
      type: ['object', 'array'],
      description:
        'What it knows us by: a header, a parameter of the query, or what a signing plugin works out; or a list of these. Their values are secrets: never logged, never shown, never sent anywhere else.',
      additionalProperties: false,
      properties: credentialKeys,
      minItems: 1,
      items: {
        type: 'object',
        additionalProperties: false,
        description: 'One of several; all of them go with every request.',
        properties: credentialKeys,
      },
    },
    query: {
      type: 'object',
      description: 'Fixed parameters of the query of every request, such as api-version; a caller cannot change them.',
      propertyNames: { type: 'string', minLength: 1 },
      additionalProperties: { type: 'string', format: 'header-value', description: 'Value of the parameter.' },
      default: {},
    },
    headers: {
      type: 'object',
      description: 'More fixed headers for every request to this upstream.',
      propertyNames: { type: 'string', format: 'header-name' },
      additionalProperties: { type: 'string', format: 'header-value', description: 'Value of the header.' },
      default: {},
    },
    calls: {
      ...calls,
      description:
        "By operation: the path at this upstream, if it differs from the family's and the route's. It overrides the family's.",
    },
    timeouts: {
      type: 'object',
      additionalProperties: false,
      description: 'How long to wait, and for what; each has an error of its own.',
      default: {},
      properties: {
        connect: { type: 'string', format: 'duration', default: '5s', description: 'For the connection.' },
        first_byte: { type: 'string', format: 'duration', default: '600s', description: 'For the head of the answer.' },
        idle: { type: 'string', format: 'duration', default: '120s', description: 'Between two pieces of the answer.' },
        total: { type: 'string', format: 'duration', default: '15m', description: 'For the whole exchange.' },
        after_leave: {
          type: 'string',
          format: 'duration',
          default: '2m',
          description:
            'For the rest of an answer that has begun, and is read on for its charge when its caller has left.',
        },
      },
    },
    region: {
      type: 'string',
      minLength: 1,
      description:
        'Where it runs, for prices that depend on it (if: { region: eu }): eu, us, fedramp, regional. A region that the answer reports comes first; most vendors report none.',
    },
    answer_max: {
      type: 'string',
      format: 'bytes',
      default: '256MiB',
      description: 'An answer of more bytes is cut, packed or unpacked; what was in it by then is charged.',
    },
    reuse: {
      type: 'boolean',
      description: 'Whether a socket carries one request after another; absent leaves it to the route.',
    },
    concurrency: {
      ...concurrency,
      description: 'The most concurrent requests to it; beyond them the next upstream of the model is called.',
    },
    connections: {
      type: 'integer',
      minimum: 1,
      description: 'Connections to it, of each process, at most; 256 when absent. Each carries one request at a time.',
    },
    queue: {
      type: 'object',
      additionalProperties: false,
      description:
        "If all connections are in use, requests wait for one, and clients take turns. Beyond these bounds the request goes to the model's next upstream, or the client gets 429.",
      properties: {
        max: { type: 'integer', minimum: 0, description: 'So many requests wait, at most (1024 when absent),' },
        for: { type: 'string', format: 'duration', description: 'each for so long (30s when absent).' },
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
      description: 'When it is paused for a while after failures, if the model has another upstream to go to.',
      default: {},
      properties: {
        failures: { type: 'integer', minimum: 1, default: 3, description: 'After so many failures in a row,' },
        for: {
          type: 'string',
          format: 'duration',
          default: '10s',
          description: 'for so long; then one request tries it.',
        },
      },
    },
    keys: {
      type: 'object',
      minProperties: 1,
      description:
        'Several keys of one vendor, by name: each request uses one of them as {key} in the values of `credential`. A refused key is paused until it works again.',
      propertyNames: { type: 'string', minLength: 1 },
      additionalProperties: vendorKey,
    },
    probe: {
      type: 'object',
      additionalProperties: false,
      description: 'How a key that was refused is tried again, for free.',
      properties: {
        path: {
          type: 'string',
          format: 'call-path',
          description:
            'A path that costs nothing to GET and refuses a bad key, such as a list of models; /v1/models when absent.',
        },
      },
    },
    outcomes: {
      type: 'array',
      items: outcome,
      description: 'What its refusals mean, where the table that comes with the gateway does not know.',
    },
    on_unknown: {
      type: 'string',
      enum: ['stop', 'pay_twice'],
      description:
        'A request that may have been sold without a response goes nowhere else (stop, also when absent), or to the next key or upstream, which may cost twice (pay_twice).',
    },
  },
} as const satisfies Schema

const names = { type: 'array', uniqueItems: true, items: { type: 'string', minLength: 1 } } as const satisfies Schema

const sentences = { type: 'array', items: { type: 'string', minLength: 1 }, default: [] } as const satisfies Schema

const forwardRule = {
  type: ['array', 'object'],
  description:
    'A list of field names, or { all: true, except: [names] }. Other fields are dropped, and the log says so.',
  uniqueItems: true,
  items: { type: 'string', minLength: 1 },
  additionalProperties: false,
  required: ['all'],
  properties: {
    all: { type: 'boolean', const: true, description: 'Every field goes upstream.' },
    except: { ...names, default: [], description: 'Fields that are dropped all the same.' },
  },
} as const satisfies Schema

const family = {
  type: 'object',
  additionalProperties: false,
  description: 'Models that behave alike. Each plugin of the pipeline may have a section here, under its name.',
  properties: {
    streams: { ...names, default: [], description: 'Operations that may answer as a stream of events.' },
    n_max: { type: 'integer', minimum: 1, default: 128, description: 'The largest `n` that a caller may request.' },
    forward: {
      type: 'object',
      description: "By operation: which of the caller's fields go upstream. An operation left out forwards them all.",
      default: {},
      additionalProperties: forwardRule,
    },
    defaults: {
      type: 'object',
      description:
        'Fields that are set where the caller sends none, or null: priced and sent on as if it had. A field that forward leaves out is not sent.',
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
        'Where bodies name further models: fields, or members within them with dots between the names; lists are searched. Each must be a model here that the client may use and that runs on the same upstream.',
      default: {},
      properties: {
        instead: {
          ...names,
          default: ['models'],
          description:
            'Models that may answer in place of the first. Charged is the one that the answer names; held is for the dearest, which is charged where the answer names none of them.',
        },
        beside: { ...names, default: [], description: 'Models that are run on the way, as by tools: [tools.model].' },
      },
    },
    vendor_tools: {
      ...names,
      description:
        'Tools that the upstream runs and clients may use, by their names in requests: web_search, googleSearch, web_search_options; a final * matches any ending. Others are refused. Tools that the client runs need no entry. Absent: every tool is forwarded, except those that make images.',
    },
    calls: {
      ...calls,
      description: "By operation: where upstreams are called for these models; else at the route's own path.",
    },
    notes: {
      type: 'object',
      additionalProperties: false,
      description:
        'What clients should know about these models; shown in the documentation, on the price page and next to the playground.',
      default: {},
      properties: {
        en: { ...sentences, description: 'Sentences in English.' },
        zh: { ...sentences, description: 'The same in Chinese.' },
      },
    },
  },
} as const satisfies Schema

const sendAs = {
  type: 'string',
  minLength: 1,
  description: 'The name that the upstream knows it by; absent for its own.',
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
      description: 'Its share of the requests among those of one priority.',
    },
    priority: {
      type: 'integer',
      minimum: 1,
      default: 1,
      description: 'Those of 1 are called first, those of 2 when none of 1 takes the request.',
    },
    send_as: { ...sendAs, description: "The name that this upstream knows the model by; absent for the model's own." },
  },
} as const satisfies Schema

const unpriced = {
  type: 'string',
  enum: ['refuse', 'review', 'parent'],
  description: 'What happens to use without a price, for this model; absent for what the family says.',
} as const satisfies Schema

const prices = {
  type: 'object',
  minProperties: 1,
  description:
    'A quoted decimal in the currency, by what it is for: a tier such as 2K; tokens per million (input, cached_input, cache_write, cache_write_1h, input_audio, input_image, input_video, cached_input_audio, cached_input_image, output, reasoning, output_audio, output_image) and character; calls per thousand (web_search, grounding, maps, code_execution, file_search); second, minute, hour, request, search_unit, each. Absent for what the price_tables say.',
  properties: {
    from: {
      type: 'string',
      minLength: 1,
      description: 'Name of the row of price_tables that it costs, where that is not its own; instead of all others.',
    },
  },
  additionalProperties: { type: 'string', format: 'money', description: 'A quoted decimal, such as "0.04".' },
} as const satisfies Schema

const model = {
  type: 'object',
  additionalProperties: false,
  description: 'A model that callers may name.',
  required: ['family'],
  properties: {
    family: { type: 'string', description: 'Name of its family.' },
    upstream: { type: 'string', description: 'Name of the upstream that serves it; instead of upstreams.' },
    upstreams: {
      type: 'array',
      minItems: 1,
      description: 'Several that serve it: which is called first follows from priority and weight.',
      items: candidate,
    },
    routes: { type: 'string', minLength: 1, description: 'Name of one of route_sets; instead of upstreams.' },
    prices,
    price: { type: 'string', enum: ['free'], description: 'free, for a model that costs nothing; instead of prices.' },
    overrides: priceOverrides,
    times: priceTimes,
    unpriced,
    limits: {
      type: 'object',
      additionalProperties: false,
      description: "Limits of the model, in addition to those of the caller's group.",
      default: {},
      properties: {
        rpm,
        scope: {
          type: 'string',
          enum: ['gateway', 'key'],
          default: 'gateway',
          description: "Whose traffic counts: everybody's together, or each key's.",
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
    send_as: sendAs,
    ends: {
      type: 'string',
      format: 'date',
      description:
        'The day, UTC, from which its vendor no longer serves it: 2026-12-01. check, the start and clients report it from 60 days before; nothing is refused.',
    },
    enabled: {
      type: 'boolean',
      default: true,
      description: 'false hides and refuses the model, but keeps it known for old records.',
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
        'Method and path; {name} captures the text in its place: "GET /v1/models/{id}". A list gives more spellings of the path; upstreams get the first.',
      minItems: 1,
      items: [{ type: 'string', format: 'route' }],
      additionalItems: { type: 'string', format: 'route-spelling' },
    },
    operation: { type: 'string', minLength: 1, description: 'What is done; families speak of it under this name.' },
    dialect: {
      type: 'string',
      minLength: 1,
      description: "Whose wire style the callers of this route expect; by-caller for the asker's own.",
    },
    stream: {
      type: 'string',
      enum: ['field', 'always', 'never'],
      default: 'field',
      description: "Whether the answer is a stream: as the body's `stream` says, always, or never.",
    },
    body: {
      type: 'string',
      enum: ['json', 'form', 'form-or-json', 'none'],
      description: 'What callers must send. Absent: none for GET and DELETE, else json.',
    },
    body_max: { type: 'string', format: 'bytes', description: 'The largest body; absent for server.body_max.' },
    jobs: {
      type: 'string',
      enum: ['wait', 'accept'],
      description:
        'For jobs of upstreams: wait answers when the job is done (also when absent), accept answers 202 at once, and GET /v1/jobs/{id} returns the result. Clients that send `prefer: respond-async` always get 202.',
    },
    session: {
      type: 'object',
      additionalProperties: false,
      description:
        'The route is a WebSocket, whose turns are charged one by one. GET requests that open none are answered 426.',
      properties: {
        each: {
          type: 'string',
          format: 'route',
          description:
            'Each message is a request of its own, which takes this route: POST /v1/responses. Absent: frames pass between caller and upstream.',
        },
        per_key: {
          type: 'integer',
          minimum: 1,
          default: 256,
          description: 'Sessions that one key may have open in one process.',
        },
        idle: {
          type: 'string',
          format: 'duration',
          default: '15m',
          description: 'A session without a message for so long ends.',
        },
        total: { type: 'string', format: 'duration', default: '60m', description: 'A session ends after so long.' },
        ping: {
          type: 'string',
          format: 'duration',
          default: '30s',
          description: 'After so long a silence both sides get a ping; one that is silent for two more is gone.',
        },
        message_max: { type: 'string', format: 'bytes', default: '16MiB', description: 'The longest message.' },
      },
    },
    reuse: {
      type: 'boolean',
      description: 'false opens a socket for each request, for those that may not be sent twice.',
    },
    serve: {
      type: 'string',
      minLength: 1,
      description: 'The gateway answers by itself, without an upstream: models, model, charge, job, client-secret.',
    },
  },
} as const satisfies Schema

/** Under all entries of a section; none of them has to be there. */
function under(section: Schema, description: string): { readonly [keyword: string]: unknown } {
  const { required: _, ...rest } = section as { readonly [keyword: string]: unknown }
  return { ...rest, description }
}

const files = {
  type: 'array',
  uniqueItems: true,
  items: { type: 'string', minLength: 1 },
} as const satisfies Schema

/** What a configuration says once for many. */
const composition = {
  include: {
    ...files,
    description:
      'More files of settings, read as if they were written here: paths from this file on, or patterns such as models/*.yaml. A name that two of them set is refused.',
  },
  price_tables: {
    ...files,
    description:
      'Files of prices: a model without prices costs what the first of them says of the name that its upstream has for it.',
  },
  defaults: {
    type: 'object',
    additionalProperties: false,
    description: 'What entries of a section have that do not say it themselves.',
    properties: {
      upstreams: under(upstream, 'Of all upstreams.'),
      groups: under(group, 'Of all groups.'),
      models: under(model, 'Of all models.'),
    },
  },
  route_sets: {
    type: 'object',
    description: 'Lists of upstreams by name, for `routes` of models.',
    propertyNames: { minLength: 1 },
    additionalProperties: {
      type: 'array',
      minItems: 1,
      description: 'Which is called first follows from priority and weight.',
      items: candidate,
    },
  },
  model_lists: {
    type: 'object',
    description: 'Models that share all but their names and prices, by a name for the list.',
    propertyNames: { minLength: 1 },
    additionalProperties: {
      ...under(model, 'What all models of the list have, and which they are.'),
      required: ['models'],
      properties: {
        ...model.properties,
        models: {
          type: ['array', 'object'],
          description:
            'Their names, of models that price_tables have prices for; or a mapping of each name to its prices, or to free.',
          items: { type: 'string', minLength: 1 },
          additionalProperties: {
            ...prices,
            type: ['object', 'string', 'null'],
            pattern: '^free$',
            description: 'Prices of the model as in models.NAME.prices, or free.',
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
