import { constants, crc32, deflateSync, inflateSync } from 'node:zlib'

/** The size of the palette. */
const coloursMax = 256
const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/**
 * Reduces a screenshot to at most 256 colours and a third of its size: pages have few colours, and the rest are shades
 * at the edges of letters. Reads what browsers write: eight bits per channel, three or four channels, not interlaced.
 */
export function smallPng(png: Buffer): Buffer {
  const { width, height, channels, rows } = readPng(png)
  const counts = new Map<number, number>()
  for (let at = 0; at < rows.length; at += channels) {
    const colour = rows.readUIntBE(at, 3)
    counts.set(colour, (counts.get(colour) ?? 0) + 1)
  }
  const palette = pickColours(counts)
  const places = new Map([...counts.keys()].map(colour => [colour, nearest(palette, colour)]))
  const lines = Buffer.alloc(height * (width + 1))
  for (let y = 0, at = 0; y < height; y++)
    for (let x = 0; x < width; x++, at += channels)
      lines[y * (width + 1) + 1 + x] = places.get(rows.readUIntBE(at, 3)) ?? 0
  const head = Buffer.from(png.subarray(16, 29))
  head[9] = 3
  const colours = Buffer.alloc(palette.length * 3)
  for (const [i, colour] of palette.entries()) colours.writeUIntBE(colour, i * 3, 3)
  const packed = deflateSync(lines, { level: constants.Z_BEST_COMPRESSION, memLevel: 9 })
  return Buffer.concat([
    signature,
    chunk('IHDR', head),
    chunk('PLTE', colours),
    chunk('IDAT', packed),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** Half of the colours are the most frequent ones; the others cover every distinct hue, however rare. */
function pickColours(counts: ReadonlyMap<number, number>): readonly number[] {
  const picked: number[] = []
  const hues = new Set<number>()
  for (const [colour] of [...counts].toSorted(([, a], [, b]) => b - a)) {
    const hue = colour & 0xf0f0f0
    if (picked.length >= coloursMax / 2 && hues.has(hue)) continue
    hues.add(hue)
    if (picked.push(colour) === coloursMax) break
  }
  return picked
}

type Pixels = { readonly width: number; readonly height: number; readonly channels: number; readonly rows: Buffer }

function readPng(png: Buffer): Pixels {
  const packed: Buffer[] = []
  for (let at = signature.length; at < png.length; at += 12 + png.readUInt32BE(at))
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      packed.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)]
  const channels = png[25] === 6 ? 4 : 3
  if (png[24] !== 8 || (png[25] !== 6 && png[25] !== 2) || png[28] !== 0) throw new Error('a PNG of another kind')
  return { width, height, channels, rows: unfilter(inflateSync(Buffer.concat(packed)), width * channels, channels) }
}

/** Undoes the filter of each row (RFC 2083, section 6). */
function unfilter(packed: Buffer, stride: number, channels: number): Buffer {
  const height = packed.length / (stride + 1)
  const rows = Buffer.alloc(height * stride)
  for (let y = 0; y < height; y++) {
    const kind = packed[y * (stride + 1)] ?? 0
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x
      const left = x < channels ? 0 : (rows[at - channels] ?? 0)
      const above = y === 0 ? 0 : (rows[at - stride] ?? 0)
      const corner = x < channels || y === 0 ? 0 : (rows[at - stride - channels] ?? 0)
      const guess = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][kind] ?? 0
      rows[at] = (packed[y * (stride + 1) + 1 + x] ?? 0) + guess
    }
  }
  return rows
}

function paeth(left: number, above: number, corner: number): number {
  const sum = left + above - corner
  const [a, b, c] = [Math.abs(sum - left), Math.abs(sum - above), Math.abs(sum - corner)]
  if (a <= b && a <= c) return left
  return b <= c ? above : corner
}

/** The index of the most similar colour in a palette. */
function nearest(palette: readonly number[], colour: number): number {
  let best = 0
  let least = Infinity
  for (const [i, one] of palette.entries()) {
    const [r, g, b] = [
      (one >> 16) - (colour >> 16),
      ((one >> 8) & 255) - ((colour >> 8) & 255),
      (one & 255) - (colour & 255),
    ]
    const distance = r * r + g * g + b * b
    if (distance < least) [best, least] = [i, distance]
  }
  return best
}

function chunk(type: string, content: Buffer): Buffer {
  const out = Buffer.alloc(12 + content.length)
  out.writeUInt32BE(content.length, 0)
  out.write(type, 4, 'latin1')
  content.copy(out, 8)
  out.writeUInt32BE(crc32(out.subarray(4, 8 + content.length)), 8 + content.length)
  return out
}
