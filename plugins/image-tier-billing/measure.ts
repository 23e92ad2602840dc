import { imageSize } from 'image-size'
import type { Size } from './tier.ts'

/** What the first bytes of an image tell. `more`: not enough of them yet. */
export type Measured =
  | { readonly kind: 'size'; readonly mime: string; readonly size: Size }
  | { readonly kind: 'more'; readonly mime: string | null; readonly bytesMax: number }
  | { readonly kind: 'undecodable'; readonly mime: string | null }

/** How much of an image is looked at before it counts as undecodable; JPEGs carry long profiles before their size. */
export const headBytesMax = 64 * 1024
export const jpegHeadBytesMax = 1024 * 1024
/** The largest edge that any of the formats can state (PNG); what is larger is not a size. */
const edgeMax = 2 ** 31 - 1
const magicBytes = 12

/**
 * Reads the dimensions from the beginning of an image, at most `headBytesMax` (JPEG: `jpegHeadBytesMax`) of it.
 * Nothing is decoded: a header is believed, so a PNG that claims 65535x65535 is as large as it says (catalogue I5).
 * Only formats whose magic bytes are known get as far as a parser: PNG, JPEG, WebP, GIF and AVIF. Never throws.
 *
 * PNG, WebP and GIF are read by `image-size`, after what it would get wrong is excluded: it reads past the end of a
 * short buffer into the shared pool, lets zero edges pass, and takes VP8 data without its start code. JPEG and AVIF are
 * read here: `image-size` 2.1.0 knows three of the thirteen SOF markers, loses its way at fill bytes, steps through
 * garbage one allocation per byte, and takes an AVIF's clean-aperture denominator off its width.
 */
export function measure(head: Buffer): Measured {
  if (head.length < magicBytes) return { kind: 'more', mime: null, bytesMax: headBytesMax }
  const format = formats.find(row => row.matches(head))
  if (!format) return { kind: 'undecodable', mime: null }
  const { mime } = format
  const bytesMax = mime === 'image/jpeg' ? jpegHeadBytesMax : headBytesMax
  const found = format.read(head.length > bytesMax ? head.subarray(0, bytesMax) : head)
  if (found === 'more') {
    return head.length >= bytesMax ? { kind: 'undecodable', mime } : { kind: 'more', mime, bytesMax }
  }
  if (found === 'none' || !isEdge(found.width) || !isEdge(found.height)) return { kind: 'undecodable', mime }
  return { kind: 'size', mime, size: { width: found.width, height: found.height } }
}

type Found = Size | 'more' | 'none'
type Format = { readonly mime: string; matches(head: Buffer): boolean; read(head: Buffer): Found }

const pngSignature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')

const formats: readonly Format[] = [
  { mime: 'image/png', matches: head => head.subarray(0, 8).equals(pngSignature), read: readPng },
  { mime: 'image/jpeg', matches: head => head[0] === 0xff && head[1] === 0xd8 && head[2] === 0xff, read: readJpeg },
  { mime: 'image/webp', matches: head => tag(head, 0) === 'RIFF' && tag(head, 8) === 'WEBP', read: readWebp },
  {
    mime: 'image/gif',
    matches: head => tag(head, 0) === 'GIF8' && (head[4] === 0x37 || head[4] === 0x39) && head[5] === 0x61,
    read: readSize,
  },
  { mime: 'image/avif', matches: isAvif, read: readAvif },
]

function isEdge(pixels: number): boolean {
  return Number.isInteger(pixels) && pixels >= 1 && pixels <= edgeMax
}

/** The four letters at an offset. */
function tag(head: Buffer, at: number): string {
  return head.toString('latin1', at, at + 4)
}

/** By `image-size`; the format and the needed length have been checked. */
function readSize(head: Buffer): Found {
  try {
    return imageSize(head)
  } catch {
    return 'none'
  }
}

/** RFC 2083: IHDR comes first, save in Apple's variant, where a CgBI chunk of 4 bytes precedes it. */
function readPng(head: Buffer): Found {
  const before = head.length >= 16 && tag(head, 12) === 'CgBI' ? 16 : 0
  return head.length < 24 + before ? 'more' : readSize(head)
}

/** RFC 9649: the size stands in the first chunk, whichever of the three it is. */
function readWebp(head: Buffer): Found {
  if (head.length < 30) return 'more'
  const chunk = tag(head, 12)
  if (chunk === 'VP8 ' && head.readUIntBE(23, 3) !== 0x9d012a) return 'none'
  if (chunk === 'VP8L' && head[20] !== 0x2f) return 'none'
  return readSize(head)
}

/** ITU-T T.81 B.1: walks the segments, so that the SOF of a thumbnail inside one is never met. */
function readJpeg(head: Buffer): Found {
  let at = 2
  for (;;) {
    // Bytes that belong to no segment are skipped, as decoders do; then any number of fill bytes.
    at = head.indexOf(0xff, at)
    if (at === -1) return 'more'
    while (head[at] === 0xff) at++
    const marker = head[at]
    if (marker === undefined) return 'more'
    at++
    if (marker === 0x00 || marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) continue
    // The scan begins, or the image ends, and no frame was declared.
    if (marker === 0xd9 || marker === 0xda) return 'none'
    if (at + 2 > head.length) return 'more'
    const length = head.readUInt16BE(at)
    if (length < 2) return 'none'
    const frame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (frame) {
      if (length < 8) return 'none'
      if (at + 7 > head.length) return 'more'
      // A height of 0 is told by a DNL segment after the first scan, which is not read: undecodable.
      return { height: head.readUInt16BE(at + 3), width: head.readUInt16BE(at + 5) }
    }
    at += length
  }
}

function isAvif(head: Buffer): boolean {
  if (tag(head, 4) !== 'ftyp') return false
  const major = tag(head, 8)
  if (major === 'avif' || major === 'avis') return true
  if (major !== 'mif1' && major !== 'msf1') return false
  const end = Math.min(head.readUInt32BE(0), head.length, 256)
  for (let at = 16; at + 4 <= end; at += 4) if (tag(head, at) === 'avif' || tag(head, at) === 'avis') return true
  return false
}

/** ISO/IEC 23008-12: the largest `ispe` among the properties is the whole picture; tiles and thumbnails are smaller. */
function readAvif(head: Buffer): Found {
  const meta = findBox(head, 0, Number.POSITIVE_INFINITY, 'meta')
  if (typeof meta === 'string') return meta
  const iprp = findBox(head, meta.from + 4, meta.to, 'iprp')
  if (typeof iprp === 'string') return iprp
  const ipco = findBox(head, iprp.from, iprp.to, 'ipco')
  if (typeof ipco === 'string') return ipco
  let largest: Size | undefined
  for (let at = ipco.from; ; ) {
    const ispe = findBox(head, at, ipco.to, 'ispe')
    if (ispe === 'none') break
    if (ispe === 'more' || ispe.from + 12 > head.length) return 'more'
    const size = { width: head.readUInt32BE(ispe.from + 4), height: head.readUInt32BE(ispe.from + 8) }
    if (!largest || size.width * size.height > largest.width * largest.height) largest = size
    at = ispe.to
  }
  return largest ?? 'none'
}

type Box = { readonly from: number; readonly to: number }

/** The content of the first box of a kind between two offsets; each step passes a box header of at least 8 bytes. */
function findBox(head: Buffer, from: number, to: number, kind: string): Box | 'more' | 'none' {
  for (let at = from; at + 8 <= to; ) {
    if (at + 8 > head.length) return 'more'
    const bytes = head.readUInt32BE(at)
    // 0 is "to the end of the file", 1 a 64-bit length: neither occurs before the properties of a real image.
    if (bytes < 8) return 'none'
    if (tag(head, at + 4) === kind) return { from: at + 8, to: Math.min(at + bytes, to) }
    at += bytes
  }
  return 'none'
}
