import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

const shipped = resolve(import.meta.dirname, '../../../gateway.yaml')

/** Where each upstream of the world is. */
export const hosts = {
  alpha: 'alpha.sim',
  alphaTwo: 'alpha-two.sim',
  beta: 'beta.sim',
  text: 'text.sim',
  textTwo: 'text-two.sim',
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

const groups = `
  default: { rpm: 12, tpm: 60000 }
  tight: { rpm: 60, concurrency: 2 }
  team: { rpm: 15, limit_scope: user }
  partner: { rpm: 600, tpm: 5000000, multiplier: "0.9" }`

const upstreams = `
  alpha-two: { url: "http://${hosts.alphaTwo}" }
  text-two: { url: "http://${hosts.textTwo}" }`

const families = `
  draws:
    streams: [responses]
    forward: { responses: { all: true } }
    image-tier-billing:
      tiers: [{ tier: 1K, long_edge_max: 1024 }, { tier: 2K, long_edge_max: 2048 }, { tier: 4K }]
      tier_from: [output]
      otherwise: 2K
      answers: { responses: output }
    token-usage: { image_tools: bill }`

const models = `
  alpha-pair: { family: alpha-image, upstreams: [{ upstream: alpha }, { upstream: alpha-two, priority: 2 }], prices: { 1K: "0.02", 2K: "0.04", 4K: "0.08" } }
  chat-pair: { family: chat, upstreams: [{ upstream: text }, { upstream: text-two, priority: 2 }], prices: { input: "0.50", cached_input: "0.05", output: "1.50" } }
  draws-one: { family: draws, upstream: text, prices: { 1K: "0.02", 2K: "0.04", 4K: "0.08", input: "5", output: "15" } }`

/** The shipped configuration, with limits that a world reaches, second upstreams, and a model whose tool draws. */
export function configuration(): string {
  let text = readFileSync(shipped, 'utf8')
  const edit = (find: string | RegExp, put: string): void => {
    const next = text.replace(find, put)
    if (next === text) throw new Error(`gateway.yaml has no ${String(find)} any more`)
    text = next
  }
  edit(/\n {2}default: \{ rpm[^\n]*\n[^\n]*partner:[^\n]*/, groups)
  edit('\nupstreams:', `\nupstreams:${upstreams}`)
  edit('\nfamilies:', `\nfamilies:${families}`)
  edit('\nmodels:', `\nmodels:${models}`)
  return text
}

/** Micro-units of money per image, by tier; as the file above and the shipped one say, written down once more. */
export const imagePrices = { '1K': 20_000, '2K': 40_000, '4K': 80_000 } as const
export type Tier = keyof typeof imagePrices
/** Micro-units per million of tokens. */
export const tokenPrices: { readonly [model: string]: { readonly [unit: string]: number } } = {
  'sim-chat': { input: 500_000, cached_input: 50_000, output: 1_500_000 },
  'chat-pair': { input: 500_000, cached_input: 50_000, output: 1_500_000 },
  'draws-one': { input: 5_000_000, output: 15_000_000 },
  'sim-embedding': { input: 20_000 },
}
/** The tier of the longer edge of an image. */
export function tierOf(longEdge: number): Tier {
  if (longEdge <= 1_024) return '1K'
  return longEdge <= 2_048 ? '2K' : '4K'
}

export type GroupName = 'default' | 'tight' | 'team' | 'partner'
/** The limits of a key of each group, as the file above says. */
export const limitsOf: {
  readonly [group in GroupName]: {
    readonly rpm: number
    readonly scope: 'key' | 'user'
    readonly concurrency?: number
    readonly tpm?: number
  }
} = {
  default: { rpm: 12, scope: 'key', tpm: 60_000 },
  tight: { rpm: 60, scope: 'key', concurrency: 2 },
  team: { rpm: 15, scope: 'user' },
  partner: { rpm: 600, scope: 'key', tpm: 5_000_000 },
}
export const multiplierOf: { readonly [group in GroupName]: { readonly over: bigint; readonly under: bigint } } = {
  default: { over: 1n, under: 1n },
  tight: { over: 1n, under: 1n },
  team: { over: 1n, under: 1n },
  partner: { over: 9n, under: 10n },
}
