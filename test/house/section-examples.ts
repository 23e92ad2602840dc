/** A short example of each section of `gateway.yaml`, for docs/configuration.md. Together they are one valid configuration. */
export const sectionExamples: { readonly [section: string]: string } = {
  version: `version: 1`,
  currency: `currency: USD`,
  organization: `organization: Example Ltd`,
  include: `include: [models/*.yaml]`,
  server: `server:
  listen: 127.0.0.1:8080
  ops: 127.0.0.1:9464
  public_url: https://ai.example.com
  body_max: 64MiB`,
  storage: `storage: sqlite:./data/tollgate.db`,
  counters: `counters: "memory:"`,
  retention: `retention:
  log: 90d
  review: 7d`,
  events: `events:
  webhooks:
    finance:
      url: https://hooks.example.com/tollgate
      secret: "\${WEBHOOK_SECRET}"
      kinds: [charge.*, budget.threshold]`,
  sign_in: `sign_in:
  issuers:
    staff:
      issuer: https://login.example.com/realms/staff
      client_id: tollgate
      client_secret: "\${STAFF_CLIENT_SECRET}"
      default_role: user`,
  observability: `observability:
  otlp:
    endpoint: http://127.0.0.1:4318
    metrics: false`,
  budgets: `budgets:
  time_zone: Europe/Berlin
  thresholds: [50, 80, 100]`,
  groups: `groups:
  default: { rpm: 60, tpm: 500000, concurrency: 8 }
  design: { rpm: 600, models: ["image-*"], budget: { amount: "100.00", per: month } }`,
  upstreams: `upstreams:
  vendor:
    url: https://api.vendor.example
    credential: { header: authorization, value: "Bearer \${VENDOR_API_KEY}" }
    timeouts: { connect: 5s, first_byte: 120s }
  spare:
    url: https://spare.example
    credential: { header: authorization, value: "Bearer \${SPARE_API_KEY}" }`,
  pipeline: `pipeline: [auth, ratelimit, size-normalize, image-tier-billing, token-usage]`,
  families: `families:
  text:
    streams: [chat]
    forward: { chat: { all: true } }
    token-usage: { unpriced: refuse }
  image:
    n_max: 4
    forward: { image.generate: [model, prompt, n, size] }
    image-tier-billing:
      tiers: [{ tier: 1K, long_edge_max: 1024 }, { tier: 2K }]
      tier_from: [output]
      otherwise: 2K`,
  price_tables: `price_tables: [prices.yaml]`,
  defaults: `defaults:
  upstreams: { concurrency: 20 }
  models: { limits: { rpm: 300 } }`,
  route_sets: `route_sets:
  both:
    - { upstream: vendor, priority: 1 }
    - { upstream: spare, priority: 2 }`,
  model_lists: `model_lists:
  chat:
    family: text
    routes: both
    models: [chat-small, chat-large]`,
  models: `models:
  image-1:
    family: image
    upstream: vendor
    prices: { 1K: "0.02", 2K: "0.04" }`,
  routes: `routes:
  - { match: POST /v1/chat/completions, operation: chat, dialect: openai }
  - { match: POST /v1/images/generations, operation: image.generate, dialect: openai }
  - { match: GET /v1/models, operation: models.list, dialect: by-caller, serve: models }`,
}

/** The files that the examples of `include` and `price_tables` refer to. */
export const exampleFiles: { readonly [path: string]: string } = {
  'models/more.yaml': 'models:\n  image-2: { family: image, upstream: vendor, prices: { 1K: "0.01", 2K: "0.02" } }\n',
  'prices.yaml': `version: 1
source: docs/configuration.md
as_of: "2026-11-23"
currency: USD
models:
  chat-small: { prices: { input: "0.10", output: "0.40" } }
  chat-large: { prices: { input: "1.00", output: "4.00" } }
`,
}
