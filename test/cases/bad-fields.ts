/** Values of `n` in JSON, and whether each is a number of images (`docs/rules.md#image-generation`). */
export const counts: readonly { readonly n: unknown; readonly asked: number | 'refused' }[] = [
  { n: undefined, asked: 1 },
  { n: null, asked: 1 },
  { n: 1, asked: 1 },
  { n: 2, asked: 2 },
  { n: 128, asked: 128 },
  { n: 0, asked: 'refused' },
  { n: -1, asked: 'refused' },
  { n: 1.5, asked: 'refused' },
  { n: '2', asked: 'refused' },
  { n: '', asked: 1 },
  { n: 129, asked: 'refused' },
  { n: 1e9, asked: 'refused' },
  { n: 2 ** 31, asked: 'refused' },
  { n: 2 ** 53, asked: 'refused' },
  { n: true, asked: 'refused' },
  { n: [], asked: 'refused' },
  { n: [2], asked: 'refused' },
  { n: {}, asked: 'refused' },
]

/** Values of `n` as text in a form. */
export const formCounts: readonly { readonly n: string | undefined; readonly asked: number | 'refused' }[] = [
  { n: undefined, asked: 1 },
  { n: '1', asked: 1 },
  { n: '2', asked: 2 },
  { n: '128', asked: 128 },
  { n: '0', asked: 1 },
  { n: '-1', asked: 'refused' },
  { n: '1.5', asked: 'refused' },
  { n: '1e9', asked: 'refused' },
  { n: '0x2', asked: 'refused' },
  { n: '+2', asked: 'refused' },
  { n: ' 2', asked: 'refused' },
  { n: '"2"', asked: 'refused' },
  { n: '129', asked: 'refused' },
  { n: '1000000000', asked: 'refused' },
  { n: '99999999999999999999', asked: 'refused' },
  { n: 'two', asked: 'refused' },
  { n: 'null', asked: 'refused' },
  { n: '', asked: 1 },
]

/**
 * Sizes that cannot be read (`docs/rules.md#sizes`): status 400 if the family snaps sizes, forwarded unchanged if it
 * does not.
 */
export const unreadableSizes: readonly unknown[] = [
  ...'0x0 0x1024 -1x5 1e3x1e3 1024x x1024 1024 1024x1024x1 1024*1024 4k 1024.5x10 01024x1024'.split(' '),
  ...'99999999999999999999x1 １０２４x1024 large nul 1024x1024px +1024x1024'.split(' '),
  '1024 x 1024',
  1024,
  true,
  [],
  {},
  ['1024x1024'],
  { width: 1024, height: 1024 },
]
