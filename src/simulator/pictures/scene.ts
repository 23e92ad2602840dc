import type { Detail } from './picture.ts'

type Rgb = readonly [red: number, green: number, blue: number]
type Hill = {
  /** The y of the ridge above each column. */
  readonly ridge: Float32Array
  readonly highest: number
  readonly lowest: number
  readonly top: Rgb
  readonly bottom: Rgb
}

/** Writes row `y` into `row` as 8-bit RGB, three bytes per pixel. */
export type PaintRow = (y: number, row: Uint8Array) => void

/**
 * A calm landscape (a sky, a sun, three ranges of hills) with the word SIMULATED in a corner. The seed determines
 * colours and shapes. It is painted row by row, at a few nanoseconds per pixel.
 */
export function composeScene(width: number, height: number, seed: string, detail: Detail): PaintRow {
  const chance = chances(seed)
  const hue = chance() * 360
  const skyTop = colour(hue, 0.45, 0.5 + chance() * 0.15)
  const skyBottom = colour(hue + 30 + chance() * 50, 0.6, 0.86)
  const horizon = height * (0.5 + chance() * 0.15)
  const sun = {
    x: width * (0.2 + chance() * 0.6),
    y: horizon * (0.35 + chance() * 0.4),
    radius: Math.min(width, height) * (0.06 + chance() * 0.06),
    colour: colour(hue + 50, 0.75, 0.93),
  }
  const hillHue = hue + 150 + chance() * 60
  const hills = [0, 1, 2].map(depth => composeHill(width, height, horizon, hillHue, depth, chance))
  const seen = hills.slice(0, detail)
  const word = composeWord(width, height)

  return (y, row) => {
    // A range that fills the whole row hides everything drawn before it.
    const first = seen.findLastIndex(hill => y > hill.lowest + 1)
    const hiding = seen[first]
    if (hiding) fill(row, 0, width, hillColour(hiding, y, height))
    else {
      fill(row, 0, width, between(skyTop, skyBottom, y / height))
      paintSun(row, y, width, sun)
    }
    for (const hill of seen.slice(first + 1)) {
      if (y >= hill.highest - 1) paintHill(row, y, hill, hillColour(hill, y, height))
    }
    word(y, row)
  }
}

/** Returns numbers in [0, 1), one for every two bytes of the seed, in an endless loop. */
function chances(seed: string): () => number {
  const bytes = Buffer.from(seed, 'hex')
  let at = 0
  return () => {
    const value = bytes.readUInt16BE(at)
    at = (at + 2) % bytes.length
    return value / 65_536
  }
}

function composeHill(
  width: number,
  height: number,
  horizon: number,
  hue: number,
  depth: number,
  chance: () => number,
): Hill {
  const middle = horizon + (height - horizon) * (0.05 + depth * 0.27)
  const swing = height * (0.035 + chance() * 0.035)
  const phases = [chance(), chance(), chance()].map(part => part * 2 * Math.PI)
  const [first = 0, second = 0, third = 0] = phases
  const ridge = Float32Array.from({ length: width }, (_, x) => {
    const along = (x / width) * 2 * Math.PI
    return (
      middle +
      swing *
        (Math.sin(along * 0.8 + first) +
          0.5 * Math.sin(along * 1.9 + second) +
          0.2 * Math.sin(along * (4 + depth) + third))
    )
  })
  return {
    ridge,
    highest: ridge.reduce((least, value) => Math.min(least, value)),
    lowest: ridge.reduce((most, value) => Math.max(most, value)),
    top: colour(hue + depth * 8, 0.3, 0.62 - depth * 0.15),
    bottom: colour(hue + depth * 8, 0.34, 0.5 - depth * 0.15),
  }
}

function hillColour(hill: Hill, y: number, height: number): Rgb {
  return between(hill.top, hill.bottom, (y - hill.highest) / Math.max(1, height - hill.highest))
}

function paintHill(row: Uint8Array, y: number, hill: Hill, [red, green, blue]: Rgb): void {
  const { ridge } = hill
  for (let x = 0, at = 0; x < ridge.length; x++, at += 3) {
    const cover = y - ridge[x]! + 0.5
    if (cover >= 1) {
      row[at] = red
      row[at + 1] = green
      row[at + 2] = blue
    } else if (cover > 0) blend(row, at, [red, green, blue], cover)
  }
}

function paintSun(
  row: Uint8Array,
  y: number,
  width: number,
  sun: { x: number; y: number; radius: number; colour: Rgb },
): void {
  const above = y - sun.y
  const half = Math.sqrt(Math.max(0, sun.radius ** 2 - above ** 2))
  if (half === 0) return
  const from = Math.max(0, Math.floor(sun.x - half - 1))
  const to = Math.min(width - 1, Math.ceil(sun.x + half + 1))
  for (let x = from; x <= to; x++) {
    const cover = Math.min(1, half - Math.abs(x - sun.x) + 0.5)
    if (cover > 0) blend(row, x * 3, sun.colour, cover)
  }
}

/** Five columns by seven rows: one number per row, with the leftmost column in the highest bit. */
const letters: { readonly [letter: string]: readonly number[] } = {
  S: [15, 16, 16, 14, 1, 1, 30],
  I: [14, 4, 4, 4, 4, 4, 14],
  M: [17, 27, 21, 21, 17, 17, 17],
  U: [17, 17, 17, 17, 17, 17, 14],
  L: [16, 16, 16, 16, 16, 16, 31],
  A: [14, 17, 17, 31, 17, 17, 17],
  T: [31, 4, 4, 4, 4, 4, 4],
  E: [31, 16, 16, 30, 16, 16, 31],
  D: [30, 17, 17, 17, 17, 17, 30],
}

/** Shows that no model made these pictures. Pictures that are too small for the word do not have it. */
function composeWord(width: number, height: number): PaintRow {
  const word = 'SIMULATED'.split('')
  const dot = Math.max(1, Math.round(Math.min(width, height) / 420))
  const left = width - dot * (word.length * 6 + 3)
  const top = height - dot * 11
  if (left < 0 || top < 0) return () => {}
  return (y, row) => {
    const line = Math.floor((y - top) / dot)
    if (line < 0 || line > 6) return
    for (const [place, letter] of word.entries()) {
      const dots = letters[letter]?.[line] ?? 0
      for (let column = 0; column < 5; column++) {
        if ((dots & (16 >> column)) === 0) continue
        const from = left + (place * 6 + column) * dot
        for (let x = from; x < from + dot; x++) blend(row, x * 3, [255, 255, 255], 0.55)
      }
    }
  }
}

function fill(row: Uint8Array, from: number, to: number, [red, green, blue]: Rgb): void {
  for (let at = from * 3; at < to * 3; at += 3) {
    row[at] = red
    row[at + 1] = green
    row[at + 2] = blue
  }
}

function blend(row: Uint8Array, at: number, [red, green, blue]: Rgb, cover: number): void {
  row[at] = row[at]! + (red - row[at]!) * cover
  row[at + 1] = row[at + 1]! + (green - row[at + 1]!) * cover
  row[at + 2] = row[at + 2]! + (blue - row[at + 2]!) * cover
}

function between(from: Rgb, to: Rgb, part: number): Rgb {
  const at = Math.min(1, Math.max(0, part))
  return [from[0] + (to[0] - from[0]) * at, from[1] + (to[1] - from[1]) * at, from[2] + (to[2] - from[2]) * at]
}

/** Hue in degrees, saturation and lightness from 0 to 1, as in CSS Color 4, section 7. */
function colour(hue: number, saturation: number, lightness: number): Rgb {
  const strength = saturation * Math.min(lightness, 1 - lightness)
  const channel = (offset: number) => {
    const sector = (offset + hue / 30) % 12
    return 255 * (lightness - strength * Math.max(-1, Math.min(sector - 3, 9 - sector, 1)))
  }
  return [channel(0), channel(8), channel(4)]
}
