import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { plainPool, type PoolFile, poolsOf } from './pool.ts'

const shipped = resolve(import.meta.dirname, '../../../gateway.yaml')

/** The address of each upstream in the world. */
export const hosts = {
  alpha: 'alpha.sim',
  alphaTwo: 'alpha-two.sim',
  beta: 'beta.sim',
  text: 'text.sim',
  textTwo: 'text-two.sim',
  pool: 'pool.sim',
  spare: 'spare.sim',
} as const

export const environment = {
  ALPHA_URL: `http://${hosts.alpha}`,
  BETA_URL: `http://${hosts.beta}`,
  TEXT_URL: `http://${hosts.text}`,
  ALPHA_API_KEY: 'sim-alpha',
  BETA_API_KEY: 'sim-beta',
  TEXT_API_KEY: 'sim-text',
  TOLLGATE_OPS: 'off',
}

/** Changes to the configuration during the run. */
export type Settings = {
  /** Doubles the prices of images and chats. */
  readonly dear: boolean
  /** Halves the limits on requests and tokens per minute. */
  readonly narrow: boolean
  /** Removes the second upstreams. */
  readonly alone: boolean
  /** Voids charges that were under review for an hour. */
  readonly lapses: boolean
  /** Sends answers without usage to review, instead of estimating them. */
  readonly doubts: boolean
  /** Attributes requests to end users, and gives those of a group limits and budgets. */
  readonly endUsers: boolean
  /** Adds the keys of the pools. */
  readonly pool: PoolFile
}
export const plainSettings: Settings = {
  dear: false,
  narrow: false,
  alone: false,
  lapses: false,
  doubts: false,
  endUsers: false,
  pool: plainPool,
}
/** The settings that a change toggles. */
export const switches = ['dear', 'narrow', 'alone', 'lapses', 'doubts'] as const

/** For each end user of the group `team`: requests per minute, and total micro-units. */
export const endUserLimits = { rpm: 4, budget: 600_000 } as const
const ofEndUsers = `, limits_per_end_user: { rpm: ${endUserLimits.rpm} }, end_user_budget: { amount: "${endUserLimits.budget / 1e6}" }`

const groupsOf = ({ narrow, endUsers }: Settings): string => `
  default: { rpm: ${narrow ? 6 : 12}, tpm: 60000 }
  tight: { rpm: 60, concurrency: 2 }
  team: { rpm: 15, limit_scope: user${endUsers ? ofEndUsers : ''} }
  tokens: { rpm: 60, tpm: ${narrow ? 6_500 : 13_000} }
  partner: { rpm: 600, tpm: 5000000, multiplier: "0.9" }`

/** The limit of an upstream that one client can fill. */
export const narrowest = { connections: 3, queueMax: 6, queueForMs: 60_000 } as const

const upstreamsOf = ({ alone, pool }: Settings): string =>
  poolsOf(pool, hosts) +
  `
  narrow:
    url: "http://${hosts.text}"
    connections: ${narrowest.connections}
    queue: { max: ${narrowest.queueMax}, for: ${narrowest.queueForMs / 1000}s }` +
  (alone
    ? ''
    : `
  alpha-two: { url: "http://${hosts.alphaTwo}" }
  text-two: { url: "http://${hosts.textTwo}" }`)

const familiesOf = ({ doubts }: Settings): string => `
  draws:
    streams: [responses]
    forward: { responses: { all: true } }
    image-tier-billing:
      tiers: [{ tier: 1K, long_edge_max: 1024 }, { tier: 2K, long_edge_max: 2048 }, { tier: 4K }]
      tier_from: [output]
      otherwise: 2K
      answers: { responses: output }
    token-usage: { image_tools: bill }
  counted:
    streams: [image.generate, image.edit]
    n_max: 128
    forward:
      image.generate: { all: true }
      image.edit: { all: true, except: [response_format] }
    multipart-rewrite: { files: { image: { send_as: { one: image, many: "image[]" } } } }
    image-tier-billing:
      render: b64_json
      n_from: [n, options.max_images]
      tiers: [{ tier: 1K, long_edge_max: 1024 }, { tier: 2K, long_edge_max: 2048 }, { tier: 4K }]
      tier_from: [output]
      otherwise: 2K
  sketches:
    streams: [chat]
    forward: { chat: { all: true } }
    vendor_tools: []
    image-tier-billing:
      texts: [content, reasoning]
      tiers: [{ tier: 1K, long_edge_max: 1024 }, { tier: 2K, long_edge_max: 2048 }, { tier: 4K }]
      tier_from: [output]
      otherwise: 2K
      answers:
        chat:
          at: [choices.message.images, choices.delta.images]
          picture: image_url.url
          stream: { each: answer }
          refused: [{ if: { choices.finish_reason: any } }]
    token-usage: { beside_images: free }
  pairs:
    streams: [chat]
    forward: { chat: { all: true } }
    token-usage: { missing_usage: ${doubts ? 'review' : 'estimate'} }
  reviewed:
    streams: [chat]
    forward: { chat: { all: true } }
    token-usage: { missing_usage: review }
  refused:
    streams: [chat]
    forward: { chat: { all: true } }
    token-usage: { missing_usage: refuse }`

/** Texts of this model are repeated after an error; images of others never, whatever their `retry_on` says. */
export const retried = { model: 'chat-pair', attempts: 3 } as const
const again = `retry_on: [500, 502, 503, 504, connect], retry: { attempts: ${retried.attempts}, backoff: 1s }`

function modelsOf({ dear, alone }: Settings): string {
  const plainImages = '1K: "0.02", 2K: "0.04", 4K: "0.08"'
  const images = dear ? '1K: "0.04", 2K: "0.08", 4K: "0.16"' : plainImages
  const words = dear
    ? 'input: "1.00", cached_input: "0.10", output: "3.00"'
    : 'input: "0.50", cached_input: "0.05", output: "1.50"'
  const second = (name: string): string => (alone ? '' : `, { upstream: ${name}, priority: 2 }`)
  return `
  pool-image: { family: alpha-image, upstream: pool, prices: { ${plainImages} } }
  pool-pair:
    family: alpha-image
    upstreams: [{ upstream: pool }, { upstream: spare, priority: 2 }]
    prices: { ${plainImages} }
  pool-chat: { family: pairs, upstream: pool, prices: { input: "0.50", cached_input: "0.05", output: "1.50" } }
  alpha-pair: { family: alpha-image, upstreams: [{ upstream: alpha }${second('alpha-two')}], prices: { ${images} }, ${again} }
  counted: { family: counted, upstreams: [{ upstream: alpha }${second('alpha-two')}], prices: { ${images} }, ${again} }
  chat-pair: { family: pairs, upstreams: [{ upstream: text }${second('text-two')}], prices: { ${words} }, ${again} }
  chat-review: { family: reviewed, upstream: text, prices: { ${words} } }
  chat-refuse: { family: refused, upstream: text, prices: { ${words} } }
  narrow-chat: { family: pairs, upstream: narrow, prices: { ${words} } }
  sketch-one: { family: sketches, upstream: text, prices: { ${plainImages}, input: "0.50", output: "1.50" } }
  draws-one: { family: draws, upstream: text, prices: { 1K: "0.02", 2K: "0.04", 4K: "0.08", input: "5", output: "15" } }`
}

/**
 * The shipped configuration, with limits that a world reaches, second upstreams, and a model whose tool makes images.
 */
export function configuration(settings: Settings = plainSettings): string {
  let text = readFileSync(shipped, 'utf8')
  const edit = (find: string | RegExp, put: string): void => {
    const next = text.replace(find, () => put)
    if (next === text && put !== find) throw new Error(`gateway.yaml has no ${String(find)} any more`)
    text = next
  }
  edit(/\n {2}default: \{ rpm[^\n]*\n[^\n]*partner:[^\n]*/, groupsOf(settings))
  edit('\nupstreams:', `\nupstreams:${upstreamsOf(settings)}`)
  edit('\nfamilies:', `\nfamilies:${familiesOf(settings)}`)
  edit('\nmodels:', `\nmodels:${modelsOf(settings)}`)
  if (settings.endUsers) edit('[auth, ', '[auth, attribution: { end_user: [header:x-end-user] }, ')
  if (settings.lapses) edit('retention: { log: 90d }', 'retention: { log: 90d, review: 1h }')
  return text
}

/** Models whose prices change with the configuration. */
const dearer: ReadonlySet<string> = new Set([
  'alpha-pair',
  'counted',
  'chat-pair',
  'chat-review',
  'chat-refuse',
  'narrow-chat',
])

/** The factor on a model's usual price. */
export function factorOf(model: string, { dear }: Settings): number {
  return dear && dearer.has(model) ? 2 : 1
}

/** The result of a chat answer without usage. */
export function missingOf(model: string, { doubts }: Settings): 'estimate' | 'review' | 'refuse' {
  if (model === 'chat-review' || (['chat-pair', 'pool-chat', 'narrow-chat'].includes(model) && doubts)) return 'review'
  return model === 'chat-refuse' ? 'refuse' : 'estimate'
}

/** Micro-units per image, by tier; as in the configuration above and the shipped one, repeated here independently. */
export const imagePrices = { '1K': 20_000, '2K': 40_000, '4K': 80_000 } as const
export type Tier = keyof typeof imagePrices
/** Micro-units per million tokens. */
export const tokenPrices: { readonly [model: string]: { readonly [unit: string]: number } } = {
  'sim-chat': { input: 500_000, cached_input: 50_000, output: 1_500_000 },
  'chat-pair': { input: 500_000, cached_input: 50_000, output: 1_500_000 },
  'chat-review': { input: 500_000, cached_input: 50_000, output: 1_500_000 },
  'chat-refuse': { input: 500_000, cached_input: 50_000, output: 1_500_000 },
  'pool-chat': { input: 500_000, cached_input: 50_000, output: 1_500_000 },
  'narrow-chat': { input: 500_000, cached_input: 50_000, output: 1_500_000 },
  'sketch-one': { input: 500_000, output: 1_500_000 },
  'draws-one': { input: 5_000_000, output: 15_000_000 },
  'sim-embedding': { input: 20_000 },
}
/** The tier of an image's longer edge. */
export function tierOf(longEdge: number): Tier {
  if (longEdge <= 1_024) return '1K'
  return longEdge <= 2_048 ? '2K' : '4K'
}

/** Models of the family that expects no image above 2K: a larger one may cost more than its hold, and is flagged. */
const expecting: ReadonlySet<string> = new Set(['alpha-image-2', 'alpha-pair', 'pool-image', 'pool-pair'])

export function isBeyond(model: string, tier: Tier): boolean {
  return expecting.has(model) && tier === '4K'
}

/** The most expensive tier that a hold covers. */
export function mostExpensiveTier(model: string): Tier {
  return expecting.has(model) ? '2K' : '4K'
}

export type GroupName = 'default' | 'tight' | 'team' | 'tokens' | 'partner'
/** The limits of a key of each group, as in the configuration above. */
export const limitsOf: {
  readonly [group in GroupName]: {
    readonly rpm: number
    /** The limits under the narrow configuration. */
    readonly narrow?: { readonly rpm: number; readonly tpm: number }
    readonly scope: 'key' | 'user'
    readonly concurrency?: number
    readonly tpm?: number
  }
} = {
  default: { rpm: 12, scope: 'key', tpm: 60_000, narrow: { rpm: 6, tpm: 60_000 } },
  tight: { rpm: 60, scope: 'key', concurrency: 2 },
  team: { rpm: 15, scope: 'user' },
  tokens: { rpm: 60, scope: 'key', tpm: 13_000, narrow: { rpm: 60, tpm: 6_500 } },
  partner: { rpm: 600, scope: 'key', tpm: 5_000_000 },
}
export const multiplierOf: { readonly [group in GroupName]: { readonly over: bigint; readonly under: bigint } } = {
  default: { over: 1n, under: 1n },
  tight: { over: 1n, under: 1n },
  team: { over: 1n, under: 1n },
  tokens: { over: 1n, under: 1n },
  partner: { over: 9n, under: 10n },
}
