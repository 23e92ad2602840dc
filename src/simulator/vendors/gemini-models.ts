import type { Pixels } from '../pictures/measure.ts'
import { Problem } from './problem.ts'

type Grid = { readonly [ratio: string]: readonly [width: number, height: number] }
type Model = {
  readonly grid: Grid
  /** For each value of `imageSize`: the factor of the grid, tokens, dollars. */
  readonly sizes: { readonly [size: string]: readonly [factor: number, tokens: number, price: string] }
}

const flash: Grid = {
  '1:1': [1024, 1024],
  '2:3': [832, 1248],
  '3:2': [1248, 832],
  '3:4': [864, 1184],
  '4:3': [1184, 864],
  '4:5': [896, 1152],
  '5:4': [1152, 896],
  '9:16': [768, 1344],
  '16:9': [1344, 768],
  '21:9': [1536, 672],
}
const third: Grid = {
  ...flash,
  '2:3': [848, 1264],
  '3:2': [1264, 848],
  '3:4': [896, 1200],
  '4:3': [1200, 896],
  '4:5': [928, 1152],
  '5:4': [1152, 928],
  '9:16': [768, 1376],
  '16:9': [1376, 768],
  '21:9': [1584, 672],
}
const wide: Grid = { ...third, '1:4': [512, 2048], '4:1': [2048, 512], '1:8': [384, 3072], '8:1': [3072, 384] }
const small: Model['sizes'] = { '512': [0.5, 747, '0.045'], '0.5K': [0.5, 747, '0.045'] }

/** Sizes and prices in image tokens. The first entry whose name begins the model's name applies. */
const models: readonly (readonly [name: string, model: Model])[] = [
  ['gemini-2.5-flash-image', { grid: flash, sizes: { '1K': [1, 1290, '0.039'] } }],
  [
    'gemini-3-pro-image',
    { grid: third, sizes: { '1K': [1, 1120, '0.134'], '2K': [2, 1120, '0.134'], '4K': [4, 2000, '0.24'] } },
  ],
  ['gemini-3.1-flash-lite-image', { grid: wide, sizes: { '1K': [1, 1120, '0.0336'] } }],
  [
    'gemini-',
    {
      grid: wide,
      sizes: { ...small, '1K': [1, 1120, '0.067'], '2K': [2, 1680, '0.101'], '4K': [4, 2520, '0.151'] },
    },
  ],
]

/** @throws Problem if there is no such model, or if the model does not have the size */
export function sizeOf(name: string, ratio = '1:1', size = '1K'): { pixels: Pixels; tokens: number; price: string } {
  const model = models.find(([begin]) => name.startsWith(begin))?.[1]
  if (!model) throw new Problem('not_found', `models/${name} is not found for API version v1beta.`)
  const sides = Object.hasOwn(model.grid, ratio) ? model.grid[ratio] : undefined
  if (!sides) throw new Problem('invalid_value', `aspect_ratio must be one of ${Object.keys(model.grid).join(', ')}`)
  const row = Object.hasOwn(model.sizes, size) ? model.sizes[size] : undefined
  if (!row) throw new Problem('invalid_value', `image_size must be one of ${Object.keys(model.sizes).join(', ')}`)
  const [factor, tokens, price] = row
  return { pixels: { width: sides[0] * factor, height: sides[1] * factor }, tokens, price }
}
