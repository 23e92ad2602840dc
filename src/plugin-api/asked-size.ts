import { defineSlot } from '../domain/slots.ts'

/** The requested size, as the family reads it. */
export type AskedSize = {
  /** As sent, including blanks; null if the request has none. */
  readonly text: string | null
  readonly size:
    | { readonly kind: 'none' }
    | { readonly kind: 'pixels'; readonly width: number; readonly height: number }
    | { readonly kind: 'label'; readonly label: string }
    /** The size cannot be parsed; it is forwarded unchanged. */
    | { readonly kind: 'unread' }
  /** The expected pixels by the family's table; null if the table has no row. */
  readonly expected: { readonly width: number; readonly height: number } | null
  /** The family's resolution label for it. Absent if the family has no resolutions or the table has no row. */
  readonly resolution: string | null
  /** The resulting aspect ratio, such as `16:9`; null if the upstream chooses, absent if it was not computed. */
  readonly ratio?: string | null
}

export const askedSizeSlot = defineSlot<AskedSize>('asked-size')

/** Operations whose `size` is the size of pictures. */
export const imageOperations = ['image.generate', 'image.edit'] as const

/** The facts of a size in a family's table, for plugins that price its pictures. */
export type SizeTable = {
  /** Valid names of sizes, which clients may send instead of pixels. */
  readonly labels: readonly string[]
  /** All sizes that upstreams are known to return. */
  readonly sizes: readonly { readonly width: number; readonly height: number }[]
}

export const sizeTableSlot = defineSlot<SizeTable>('size-table')
