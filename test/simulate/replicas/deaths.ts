import type { Ask } from '../play/asks.ts'

/** A key of a vendor that several gateways asked with, until it was refused; and what became of that. */
export type Death = {
  readonly key: string
  readonly secret: string
  /** By the world. */
  readonly from: number
  readonly until: number
  /** Everything that was asked meanwhile: of a model that another vendor has too. */
  readonly asks: readonly Ask[]
  /** Nothing else was wrong. */
  readonly isSound: boolean
  /** What was told of the key by all gateways together, between the two. */
  readonly told: { readonly suspended: number; readonly resumed: number }
}

/** How it is told of a key, as the storage has it. */
export type KeyEvent = {
  readonly kind: string
  readonly key: string
  readonly reason: string
  readonly by: string | null
}
