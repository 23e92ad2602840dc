import { defineSlot } from '../domain/slots.ts'

/** The requested size, as the family reads it. */
export type AskedSize = {
  /** As sent, blanks and all; null when nothing was sent. */
  readonly text: string | null
  readonly size:
    | { readonly kind: 'none' }
    | { readonly kind: 'pixels'; readonly width: number; readonly height: number }
    | { readonly kind: 'label'; readonly label: string }
    /** Not readable, and forwarded as it is. */
    | { readonly kind: 'unread' }
  /** The expected pixels by the family's table; null without a row. */
  readonly expected: { readonly width: number; readonly height: number } | null
  /** The resolution label that the family uses for it, if it has resolutions and the table has a row. */
  readonly resolution: string | null
  /** The shape that the family makes of it, `16:9`; null if the upstream chooses, absent if it was not computed. */
  readonly ratio?: string | null
}

export const askedSizeSlot = defineSlot<AskedSize>('asked-size')

/** The operations in which a size is a size of pictures. */
export const imageOperations = ['image.generate', 'image.edit'] as const

/** The facts of a size in a family's table, for plugins that price its pictures. */
export type SizeTable = {
  /** Names of sizes that may be requested instead of pixels. */
  readonly labels: readonly string[]
  /** Every size that is known to come back. */
  readonly sizes: readonly { readonly width: number; readonly height: number }[]
}

export const sizeTableSlot = defineSlot<SizeTable>('size-table')
