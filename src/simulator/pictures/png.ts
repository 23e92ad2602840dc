import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'
import type { Pace } from './pace.ts'
import type { PaintRow } from './scene.ts'

const deflateBytes = promisify(deflate)
export const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** PNG, 8-bit RGB, every row as its difference from the row above (RFC 2083; W3C PNG, third edition). */
export async function encodePng(width: number, height: number, paint: PaintRow, pace: Pace): Promise<Buffer> {
  const stride = width * 3
  const filtered = Buffer.allocUnsafe((stride + 1) * height)
  let above = new Uint8Array(stride)
  let row = new Uint8Array(stride)
  for (let y = 0, at = 0; y < height; y++) {
    paint(y, row)
    filtered[at++] = 2
    for (let i = 0; i < stride; i++) filtered[at++] = row[i]! - above[i]!
    ;[above, row] = [row, above]
    if (pace.spent()) await pace.rest()
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2], 8)
  return Buffer.concat([
    pngSignature,
    pngChunk('IHDR', header),
    pngChunk('tEXt', Buffer.from('Comment\0simulated', 'latin1')),
    pngChunk('IDAT', await deflateBytes(filtered, { level: 3 })),
    pngChunk('IEND', Buffer.alloc(0)),
  ])
}

export function pngChunk(type: string, content: Buffer): Buffer {
  const whole = Buffer.allocUnsafe(content.length + 12)
  whole.writeUInt32BE(content.length, 0)
  whole.write(type, 4, 'latin1')
  content.copy(whole, 8)
  whole.writeUInt32BE(crc32(whole.subarray(4, content.length + 8)), content.length + 8)
  return whole
}
