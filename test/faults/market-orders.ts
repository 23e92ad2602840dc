import type { Life } from './load.ts'

/** `fresh` pictures are delivered as bytes, `links` as addresses, `job` pictures when the vendor's job is done. */
export const kinds = ['chat', 'fresh', 'links', 'job'] as const
export type Kind = (typeof kinds)[number]

/** The vendor's behaviour: answers, refuses (400), fails (500), breaks off, or answers without a picture. */
export type Fate = 'good' | 'refused' | 'failed' | 'cut' | 'empty'

/** The owner of the key; a key may have a group of its own. */
export type Payer = {
  readonly keyId: string
  readonly secret: string
  readonly user: string
  readonly group: string
}

/** Tokens, as the vendor reported them. */
export type Tokens = { readonly input: number; readonly output: number }

/** One request: the vendor's sales for it, and what its caller received. */
export type MarketOrder = {
  /** Sent to the vendor in the prompt; charges of pictures store it as the requested quality. */
  readonly number: number
  readonly kind: Kind
  readonly fate: Fate
  /** Number of requested pictures. */
  readonly images: number
  readonly payer: Payer
  /** The gateways that received it: a second one if the first was killed and the order has an idempotency key. */
  readonly lives: Life[]
  /** Ids of the request in the gateways' answers. */
  readonly ids: Set<string>
  readonly isStream: boolean
  /** Its caller disconnects before the end. */
  readonly leaves: boolean
  readonly isIdempotent: boolean
  /** Number of upstream calls. */
  asked: number
  /** Pictures that the gateway may have received completely. */
  readonly made: Set<string>
  /** Whether the usage was sent to the gateway completely. */
  used: Tokens | undefined
  /** Pictures that the caller received. */
  readonly had: Set<string>
  /** Whether it was answered with 200 or 202, completely. */
  isWhole: boolean
  /** Status and error code of a complete answer. */
  answer: string | undefined
  /** The time of its end, by `performance.now()`. */
  endedAt: number
}

/** The vendor's reported usage of an order, different for a few thousand orders. */
export function tokensOf({ number }: Pick<MarketOrder, 'number'>): Tokens {
  return { input: 1 + (number % 100), output: 1 + (Math.floor(number / 100) % 128) }
}

export const outputMost = 128
/** Minimum size of a request's text in bytes, so that no report exceeds its hold. */
export const textBytes = 480

/** Micro-units, as in the test's configuration. Pictures are priced by their long edge, links by the requested size. */
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
/** Multipliers on prices per token; prices of pictures have none. */
export const multipliers: { readonly [group: string]: number } = { crew: 0.9 }

export function priceOf(tiers: readonly { longEdgeMost: number; price: number }[], mark: string): number {
  const edge = Math.max(...mark.split('x').map(Number))
  return tiers.find(({ longEdgeMost }) => edge <= longEdgeMost)?.price ?? Number.NaN
}

/** Sizes of links, by the order's number. */
export function sizeOf({ number }: Pick<MarketOrder, 'number'>): string {
  return ['1024x1024', '2048x1152', '3840x2160'][number % 3] as string
}

/** Whether one of its gateways was killed: then its last request may have several results. */
export function wasKilled({ lives }: Pick<MarketOrder, 'lives'>): boolean {
  return lives.some(({ killedAt }) => killedAt !== undefined)
}
