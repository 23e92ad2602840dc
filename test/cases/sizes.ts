/** `docs/rules.md#sizes`, family A: the requested size, and the size of the output of text to image. */
export const familyA = [
  { size: '512x512', actual: '1254x1254' },
  { size: '1024x1024', actual: '1254x1254' },
  { size: '600x800', actual: '1254x1254' },
  { size: '3840x2160', actual: '1672x941' },
  { size: '1536x1024', actual: '1536x1024' },
] as const

/**
 * `docs/rules.md#sizes`, family B, with the size sent upstream and the size that is billed. An edit without a size
 * follows its reference picture.
 */
export const familyB = [
  {
    size: undefined,
    generated: '2496x1664',
    edited: '2048x2048',
    resolution: '2k',
    ratio: undefined,
    tier: '2K',
    source: 'default',
    amount: '0.04',
  },
  {
    size: '1024x1024',
    generated: '1024x1024',
    edited: '1024x1024',
    resolution: '1k',
    ratio: '1:1',
    tier: '1K',
    source: 'request',
    amount: '0.02',
  },
  {
    size: '2048x1152',
    generated: '2816x1584',
    edited: '2816x1584',
    resolution: '2k',
    ratio: '16:9',
    tier: '2K',
    source: 'request',
    amount: '0.04',
  },
  {
    size: '3840x2160',
    generated: '2816x1584',
    edited: '2816x1584',
    resolution: '2k',
    ratio: '16:9',
    tier: '4K',
    source: 'request',
    amount: '0.08',
  },
] as const
