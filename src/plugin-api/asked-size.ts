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
  /** What the family's table says will come back; null where the table does not say. */
  readonly expected: { readonly width: number; readonly height: number } | null
  /** The label of the resolution that the family makes of it, where it has resolutions and the table says. */
  readonly resolution: string | null
  /** The shape that the family makes of it, `16:9`; null where the upstream chooses, absent where it was not computed. */
  readonly ratio?: string | null
}

export const askedSizeSlot = defineSlot<AskedSize>('asked-size')

/** The operations in which a size is a size of pictures. */
export const imageOperations = ['image.generate', 'image.edit'] as const

/** What a family's table of sizes says of them, for those who price its pictures. */
export type SizeTable = {
  /** Names of sizes that may be requested instead of pixels. */
  readonly labels: readonly string[]
  /** Every size that is known to come back. */
  readonly sizes: readonly { readonly width: number; readonly height: number }[]
}

export const sizeTableSlot = defineSlot<SizeTable>('size-table')
