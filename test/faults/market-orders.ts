import type { Life } from './load.ts'

/** `fresh` pictures come as bytes, `links` as addresses, `job` pictures when the vendor's job is done. */
export const kinds = ['chat', 'fresh', 'links', 'job'] as const
export type Kind = (typeof kinds)[number]

/** What the vendor does with an order: answers, refuses it (400), fails (500), breaks off, or answers without a picture. */
export type Fate = 'good' | 'refused' | 'failed' | 'cut' | 'empty'

/** Whose key it is; a key may have a group of its own. */
export type Payer = {
  readonly keyId: string
  readonly secret: string
  readonly user: string
  readonly group: string
}

/** Tokens, as the vendor reported them. */
export type Tokens = { readonly input: number; readonly output: number }

/** One request: what the vendor sold for it, and what its caller had of it. */
export type MarketOrder = {
  /** Told to the vendor in the prompt; of pictures the charge keeps it as the quality asked for. */
  readonly number: number
  readonly kind: Kind
  readonly fate: Fate
  /** Pictures asked for. */
  readonly images: number
  readonly payer: Payer
  /** The gateways that were asked: a second one where the first was killed and the order has an idempotency key. */
  readonly lives: Life[]
  /** Ids of the request as gateways said them. */
  readonly ids: Set<string>
  readonly isStream: boolean
  /** Its caller leaves before the end. */
  readonly leaves: boolean
  readonly isIdempotent: boolean
  /** How often the vendor was asked for it. */
  asked: number
  /** Pictures that the gateway may have had whole. */
  readonly made: Set<string>
  /** Told to the gateway whole. */
  used: Tokens | undefined
  /** Pictures that the caller has. */
  readonly had: Set<string>
  /** Answered 200 or 202, to the end. */
  isWhole: boolean
  /** Status and error code of an answer that came to its end. */
  answer: string | undefined
  /** When it was over, by `performance.now()`. */
  endedAt: number
}

/** What the vendor says that an order has used, so that no two orders of a few thousand are alike. */
export function tokensOf({ number }: Pick<MarketOrder, 'number'>): Tokens {
  return { input: 1 + (number % 100), output: 1 + (Math.floor(number / 100) % 128) }
}

export const outputMost = 128
/** Bytes of text that a request has at least, so that no report is above what was held for it. */
export const textBytes = 480

/** Micro-units, as the test's configuration says them. Pictures go by their long edge, links by the size asked for. */
export const prices = { input: 100, output: 300 } as const
export const pictureTiers = [
  { tier: '1K', longEdgeMost: 1_024, price: 20_000 },
  { tier: '2K', longEdgeMost: 2_048, price: 40_000 },
  { tier: '4K', longEdgeMost: Number.POSITIVE_INFINITY, price: 80_000 },
] as const
export const jobTiers = [
  { tier: '1K', longEdgeMost: 1_024, price: 10_000 },
  { tier: '2K', longEdgeMost: Number.POSITIVE_INFINITY, price: 30_000 },
] as const
/** Of prices per token; those of pictures have none. */
export const multipliers: { readonly [group: string]: number } = { crew: 0.9 }

export function priceOf(tiers: readonly { longEdgeMost: number; price: number }[], mark: string): number {
  const edge = Math.max(...mark.split('x').map(Number))
  return tiers.find(({ longEdgeMost }) => edge <= longEdgeMost)?.price ?? Number.NaN
}

/** Sizes that links are asked in, by the order's number. */
export function sizeOf({ number }: Pick<MarketOrder, 'number'>): string {
  return ['1024x1024', '2048x1152', '3840x2160'][number % 3] as string
}

/** Whether one of its gateways was killed: what it was at then may end in several ways. */
export function wasKilled({ lives }: Pick<MarketOrder, 'lives'>): boolean {
  return lives.some(({ killedAt }) => killedAt !== undefined)
}
