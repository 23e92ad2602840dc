import { promisify } from 'node:util'
import { deflate } from 'node:zlib'
import { pngChunk, pngSignature } from './png.ts'
import type { PaintRow } from './scene.ts'

const deflateBytes = promisify(deflate)

/** A sky and a ground, each in one colour that the seed selects. */
export function composePlain(height: number, seed: string): PaintRow {
  const { sky, ground, horizon } = coloursOf(height, seed)
  return (y, row) => {
    row.set(y < horizon ? sky : ground)
    spread(row)
  }
}

/**
 * The same picture as a PNG of two colours, one bit per pixel: 16 megapixels are two megabytes before compression and a
 * few kilobytes in the response.
 */
export async function encodePlainPng(width: number, height: number, seed: string): Promise<Buffer> {
  const { sky, ground, horizon } = coloursOf(height, seed)
  const stride = Math.ceil(width / 8) + 1
  const rows = Buffer.alloc(stride * height)
  for (let y = horizon; y < height; y++) rows.fill(0xff, y * stride + 1, (y + 1) * stride)
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([1, 3], 8)
  return Buffer.concat([
    pngSignature,
    pngChunk('IHDR', header),
    pngChunk('PLTE', Buffer.concat([sky, ground])),
    pngChunk('tEXt', Buffer.from('Comment\0simulated', 'latin1')),
    pngChunk('IDAT', await deflateBytes(rows, { level: 1 })),
    pngChunk('IEND', Buffer.alloc(0)),
  ])
}

function coloursOf(height: number, seed: string): { sky: Buffer; ground: Buffer; horizon: number } {
  const bytes = Buffer.from(seed, 'hex')
  return {
    sky: bytes.subarray(0, 3),
    ground: bytes.subarray(3, 6),
    horizon: Math.floor(height * (0.4 + bytes[6]! / 1024)),
  }
}

/** Copies the first pixel to all the others. */
function spread(row: Uint8Array): void {
  for (let filled = 3; filled < row.length; filled *= 2) row.copyWithin(filled, 0, filled)
}
