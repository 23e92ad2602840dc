import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { gifHead, jpegHead } from '../../harness/image-heads.ts'
import { seeded } from '../../harness/seed.ts'

export const kinds = ['png', 'jpeg', 'webp', 'gif'] as const
export type Kind = (typeof kinds)[number]

const kept = new Map<string, Buffer>()
const keptMax = 2_000

/** A file of about this many bytes, the same for each number; it has no drawable content. */
export function makePicture(id: number, kind: Kind, bytes: number): Buffer {
  const name = `${id}.${kind}.${bytes}`
  const known = kept.get(name)
  if (known) return known
  if (kept.size >= keptMax) kept.clear()
  const made = makers[kind](id, Math.max(bytes, 200))
  kept.set(name, made)
  return made
}

/** The host of the upstream's picture links; nothing else in its answers has this host. */
export const linkOf = (id: number): string => `https://made.example/p/${String(id).padStart(4, '0')}.png`
export const linkPattern = /https?:\/\/made\.example\/p\/(\d{4})\.png/g

const makers: { readonly [kind in Kind]: (id: number, bytes: number) => Buffer } = {
  png(id, bytes) {
    const head = Buffer.alloc(13)
    head.writeUInt32BE(64 + (id % 4000), 0)
    head.writeUInt32BE(64, 4)
    head.set([8, 6, 0, 0, 0], 8)
    return Buffer.concat([
      Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
      chunk('IHDR', head),
      chunk('IDAT', noise(id, bytes - 57)),
      chunk('IEND', Buffer.alloc(0)),
    ])
  },
  jpeg(id, bytes) {
    const scan = Buffer.from([0xff, 0xda, 0, 8, 1, 1, 0, 0, 0x3f, 0])
    const pixels = noise(id, bytes).map(byte => (byte === 0xff ? 0xfe : byte))
    return Buffer.concat([jpegHead(64 + (id % 4000), 64), scan, pixels, Buffer.from([0xff, 0xd9])])
  },
  webp(id, bytes) {
    const pixels = noise(id, bytes - (bytes % 2))
    const frame = Buffer.from([0x30, 1, 0, 0x9d, 1, 0x2a, 64 + (id % 100), 0, 64, 0])
    const head = Buffer.alloc(20)
    head.write('RIFF', 0, 'latin1')
    head.writeUInt32LE(12 + frame.length + pixels.length, 4)
    head.write('WEBPVP8 ', 8, 'latin1')
    head.writeUInt32LE(frame.length + pixels.length, 16)
    return Buffer.concat([head, frame, pixels])
  },
  gif(id, bytes) {
    const frame = Buffer.from([0x2c, 0, 0, 0, 0, 64, 0, 64, 0, 0, 8])
    const blocks: Buffer[] = []
    for (let left = bytes, i = 0; left > 0; left -= 255, i++) {
      const pixels = noise(id * 1000 + i, Math.min(left, 255))
      blocks.push(Buffer.from([pixels.length]), pixels)
    }
    return Buffer.concat([gifHead(64 + (id % 4000), 64), frame, ...blocks, Buffer.from([0, 0x3b])])
  },
}

function noise(id: number, bytes: number): Buffer {
  const random = seeded(id + 1)
  return Buffer.from(Uint8Array.from({ length: Math.max(bytes, 1) }, () => random() * 256))
}

function chunk(type: string, content: Buffer): Buffer {
  const out = Buffer.alloc(12 + content.length)
  out.writeUInt32BE(content.length, 0)
  out.write(type, 4, 'latin1')
  content.copy(out, 8)
  out.writeUInt32BE(crc32(out.subarray(4, 8 + content.length)), 8 + content.length)
  return out
}

const signs: readonly (readonly [sign: Buffer, length: (bytes: Buffer) => number])[] = [
  [Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), pngLength],
  [Buffer.from([0xff, 0xd8, 0xff]), jpegLength],
  [Buffer.from('GIF8'), gifLength],
  [Buffer.from('RIFF'), webpLength],
]

/** The same for copies of one picture, and different for any two pictures. */
export const markOf = (picture: Uint8Array): string => createHash('sha256').update(picture).digest('base64url')

/** The picture that begins with these bytes, if it is complete. */
export function wholePicture(bytes: Buffer): Buffer | undefined {
  for (const [sign, length] of signs) {
    if (bytes.length < 100 || !bytes.subarray(0, sign.length).equals(sign)) continue
    const end = length(bytes)
    return end > 0 ? bytes.subarray(0, end) : undefined
  }
  return undefined
}

/** Every complete picture in its raw form in these bytes. */
export function findPictures(bytes: Buffer): readonly Buffer[] {
  const found: Buffer[] = []
  for (const [sign] of signs)
    for (let at = bytes.indexOf(sign); at >= 0; at = bytes.indexOf(sign, at + 1)) {
      const picture = wholePicture(bytes.subarray(at))
      if (picture) found.push(picture)
    }
  return found
}

/** Up to and including IEND (PNG 5.6). */
function pngLength(bytes: Buffer): number {
  for (let at = 8; at + 12 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at)
    const end = at + 12 + length
    if (end > bytes.length) return 0
    if (bytes.toString('latin1', at + 4, at + 8) === 'IEND') return end
    at = end
  }
  return 0
}

/** Up to and including the end of the image, after a frame: in compressed data the byte FF never occurs alone. */
function jpegLength(bytes: Buffer): number {
  const frame = bytes.indexOf(Buffer.from([0xff, 0xc0]))
  const end = bytes.indexOf(Buffer.from([0xff, 0xd9]), frame)
  return frame < 0 || end < 0 ? 0 : end + 2
}

/** Header, one frame of blocks, trailer (GIF89a 17–27), as `makePicture` writes them. */
function gifLength(bytes: Buffer): number {
  for (let at = 24; at < bytes.length; ) {
    const block = bytes[at] ?? 0
    if (block === 0) return bytes[at + 1] === 0x3b ? at + 2 : 0
    at += block + 1
  }
  return 0
}

function webpLength(bytes: Buffer): number {
  if (bytes.toString('latin1', 8, 12) !== 'WEBP') return 0
  const length = bytes.readUInt32LE(4) + 8
  return length <= bytes.length ? length : 0
}
