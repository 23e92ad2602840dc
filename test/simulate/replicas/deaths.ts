import type { Ask } from '../play/asks.ts'

/** A vendor's key that several gateways used until it was refused; and the results. */
export type Death = {
  readonly key: string
  readonly secret: string
  /** In the world's time. */
  readonly from: number
  readonly until: number
  /** All requests in that period: for a model that another vendor has too. */
  readonly asks: readonly Ask[]
  /** Whether there was no other fault. */
  readonly isSound: boolean
  /** The number of events that all gateways together sent about the key in that period. */
  readonly reported: { readonly suspended: number; readonly resumed: number }
}

/** An event about a key, as the storage has it. */
export type KeyEvent = {
  readonly kind: string
  readonly key: string
  readonly reason: string
  readonly by: string | null
}
