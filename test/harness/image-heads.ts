/**
 * The beginnings of image files, byte by byte from their specifications: enough for a header reader, without a picture.
 */

export function pngHead(width: number, height: number, more: { readonly appleVariant?: boolean } = {}): Buffer {
  const header = Buffer.alloc(25)
  header.writeUInt32BE(13, 0)
  header.write('IHDR', 4, 'latin1')
  header.writeUInt32BE(width, 8)
  header.writeUInt32BE(height, 12)
  header.set([8, 6, 0, 0, 0], 16)
  const apple = Buffer.from([0, 0, 0, 4, 0x43, 0x67, 0x42, 0x49, 0x50, 0, 0x20, 6, 0, 0, 0, 0])
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([signature, more.appleVariant ? apple : Buffer.alloc(0), header, Buffer.from('IDAT')])
}

/** A JPEG up to its frame; `before` is between the start of the image and the frame. */
export function jpegHead(
  width: number,
  height: number,
  more: { readonly sof?: number; readonly before?: Buffer } = {},
): Buffer {
  const frame = Buffer.from([0xff, more.sof ?? 0xc0, 0, 17, 8, 0, 0, 0, 0, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1])
  frame.writeUInt16BE(height, 5)
  frame.writeUInt16BE(width, 7)
  return Buffer.concat([Buffer.from([0xff, 0xd8]), more.before ?? jpegSegment(0xe0, Buffer.from('JFIF\0')), frame])
}

export function jpegSegment(marker: number, content: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0])
  head.writeUInt16BE(content.length + 2, 2)
  return Buffer.concat([head, content])
}

/** Segments of application data of this many bytes in all. */
export function jpegProfiles(bytes: number): Buffer {
  const segments: Buffer[] = []
  for (let left = bytes; left > 0; left -= 60_000)
    segments.push(jpegSegment(0xe2, Buffer.alloc(Math.min(left, 60_000), 0xc0)))
  return Buffer.concat(segments)
}

export function webpHead(kind: 'VP8 ' | 'VP8L' | 'VP8X', width: number, height: number): Buffer {
  const content = Buffer.alloc(18)
  if (kind === 'VP8 ') {
    content.set([0x30, 0x01, 0x00, 0x9d, 0x01, 0x2a])
    content.writeUInt16LE(width, 6)
    content.writeUInt16LE(height, 8)
  } else if (kind === 'VP8L') {
    content[0] = 0x2f
    content.writeUInt32LE(((width - 1) | ((height - 1) << 14)) >>> 0, 1)
  } else {
    content.writeUIntLE(width - 1, 4, 3)
    content.writeUIntLE(height - 1, 7, 3)
  }
  const head = Buffer.alloc(20)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(30, 4)
  head.write(`WEBP${kind}`, 8, 'latin1')
  head.writeUInt32LE(content.length, 16)
  return Buffer.concat([head, content])
}

export function gifHead(width: number, height: number): Buffer {
  const head = Buffer.alloc(13)
  head.write('GIF89a', 0, 'latin1')
  head.writeUInt16LE(width, 6)
  head.writeUInt16LE(height, 8)
  return head
}

/** An AVIF of one picture with a smaller thumbnail before it. */
export function avifHead(width: number, height: number): Buffer {
  const ipco = box(
    'ipco',
    ispe(Math.ceil(width / 9), Math.ceil(height / 9)),
    box('av1C', Buffer.alloc(4)),
    ispe(width, height),
  )
  const meta = box(
    'meta',
    Buffer.alloc(4),
    box('hdlr', Buffer.alloc(24)),
    box('iprp', ipco, box('ipma', Buffer.alloc(8))),
  )
  return Buffer.concat([box('ftyp', Buffer.from('avif\0\0\0\0avifmif1')), meta, box('mdat', Buffer.alloc(16))])
}

function ispe(width: number, height: number): Buffer {
  const content = Buffer.alloc(12)
  content.writeUInt32BE(width, 4)
  content.writeUInt32BE(height, 8)
  return box('ispe', content)
}

function box(kind: string, ...content: Buffer[]): Buffer {
  const head = Buffer.alloc(8)
  const bytes = 8 + content.reduce((sum, part) => sum + part.length, 0)
  head.writeUInt32BE(bytes, 0)
  head.write(kind, 4, 'latin1')
  return Buffer.concat([head, ...content])
}

/** A BMP with 24 bits per pixel, up to its pixels; a negative height means rows from the top. */
export function bmpHead(width: number, height: number, more: { readonly core?: boolean } = {}): Buffer {
  const head = Buffer.alloc(54)
  head.write('BM', 0, 'latin1')
  head.writeUInt32LE(more.core ? 12 : 40, 14)
  if (more.core) {
    head.writeUInt16LE(width, 18)
    head.writeUInt16LE(height, 20)
    head.writeUInt16LE(1, 22)
    head.writeUInt16LE(24, 24)
    return head
  }
  head.writeInt32LE(width, 18)
  head.writeInt32LE(height, 22)
  head.writeUInt16LE(1, 26)
  head.writeUInt16LE(24, 28)
  return head
}

/** A TIFF whose directory is `at` an offset; `big`: the most significant byte first. */
export function tiffHead(
  width: number,
  height: number,
  more: { readonly big?: boolean; readonly at?: number } = {},
): Buffer {
  const { big = false, at = 8 } = more
  const bytes = Buffer.alloc(at + 2 + 3 * 12 + 4)
  const short = (value: number, place: number) =>
    big ? bytes.writeUInt16BE(value, place) : bytes.writeUInt16LE(value, place)
  const long = (value: number, place: number) =>
    big ? bytes.writeUInt32BE(value, place) : bytes.writeUInt32LE(value, place)
  bytes.write(big ? 'MM' : 'II', 0, 'latin1')
  short(42, 2)
  long(at, 4)
  short(3, at)
  const entries: readonly (readonly [tag: number, type: 3 | 4, value: number])[] = [
    [254, 4, 0],
    [256, 3, width],
    [257, 4, height],
  ]
  for (const [i, [tag, type, value]] of entries.entries()) {
    const place = at + 2 + i * 12
    short(tag, place)
    short(type, place + 2)
    long(1, place + 4)
    if (type === 3) short(value, place + 8)
    else long(value, place + 8)
  }
  return bytes
}
