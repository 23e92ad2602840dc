import { crc32, deflateSync } from 'node:zlib'

/** A real PNG, black, one bit per pixel: small at any dimensions. */
export function png(width: number, height: number): Buffer {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head[8] = 1
  const row = Math.ceil(width / 8) + 1
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(Buffer.alloc(row * height), { level: 1 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const out = Buffer.alloc(12 + data.length)
  out.writeUInt32BE(data.length, 0)
  out.write(type, 4, 'latin1')
  data.copy(out, 8)
  out.writeUInt32BE(crc32(out.subarray(4, 8 + data.length)), 8 + data.length)
  return out
}

/**
 * The segments of a JPEG that contain its size, with `appBytes` of application data before them, and some scan bytes.
 */
export function jpeg(width: number, height: number, appBytes = 0): Buffer {
  const parts = [Buffer.from([0xff, 0xd8])]
  for (let left = appBytes; left > 0; left -= 65_000) {
    const length = Math.min(left, 65_000)
    const segment = Buffer.alloc(length + 4, 0x20)
    segment.writeUInt16BE(0xffe1, 0)
    segment.writeUInt16BE(length + 2, 2)
    parts.push(segment)
  }
  const frame = Buffer.from([0xff, 0xc0, 0, 17, 8, 0, 0, 0, 0, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1])
  frame.writeUInt16BE(height, 5)
  frame.writeUInt16BE(width, 7)
  parts.push(frame, Buffer.alloc(6_000, 0x55), Buffer.from([0xff, 0xd9]))
  return Buffer.concat(parts)
}

/** The canvas header of an extended WebP and a lossy chunk. */
export function webp(width: number, height: number): Buffer {
  const out = Buffer.alloc(12 + 18 + 8 + 6_000)
  out.write('RIFF', 0, 'latin1')
  out.writeUInt32LE(out.length - 8, 4)
  out.write('WEBPVP8X', 8, 'latin1')
  out.writeUInt32LE(10, 16)
  out.writeUIntLE(width - 1, 24, 3)
  out.writeUIntLE(height - 1, 27, 3)
  out.write('VP8 ', 30, 'latin1')
  out.writeUInt32LE(6_000, 34)
  return out
}

/** One element of `data`, as base64. */
export function picture(
  width: number,
  height: number,
  make: (width: number, height: number) => Buffer = png,
): { b64_json: string } {
  return { b64_json: make(width, height).toString('base64') }
}

/** A PNG as a file that a user selects in a browser. */
export function pngFile(name: string, width: number, height: number) {
  return { name, mimeType: 'image/png', buffer: png(width, height) }
}
