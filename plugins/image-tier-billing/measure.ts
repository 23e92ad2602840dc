import { imageSize } from 'image-size'
import { type Found, JpegSize, type SizeReader, TiffSize } from './stream-size.ts'
import type { Size } from './tier.ts'

/**
 * The result of reading an image's first bytes. `more`: there are not enough bytes yet. `bytesMin`: the minimum number
 * of bytes of an image with this size. `implausible`: it states an impossible size.
 */
export type Measured =
  | { readonly kind: 'size'; readonly mime: string; readonly size: Size; readonly bytesMin: number }
  | { readonly kind: 'more'; readonly mime: string | null; readonly bytesMax: number; readonly reader?: SizeReader }
  | { readonly kind: 'undecodable'; readonly mime: string | null; readonly implausible?: true }

/** The number of bytes after which an image counts as undecodable. JPEG and TIFF are read further, until their size. */
export const headBytesMax = 64 * 1024
/** The maximum edge and number of pixels of an image. */
const edgeMax = 65_535
const areaMax = 1_000_000_000
const magicBytes = 12
/** Deflate expands one byte to at most 1032 (RFC 1951), each with eight pixels of one bit. */
const pngPixelsPerByte = 1032 * 8
/** A code of the maximum length of 12 bits covers at most 3839 pixels. */
const gifPixelsPerByte = 4096

/**
 * Reads the dimensions from the first `headBytesMax` bytes of an image, unless the format allows them anywhere.
 * Decodes nothing: a header is accepted if the received bytes can contain such an image. Only formats with known magic
 * bytes reach a parser: PNG, JPEG, WebP, GIF, AVIF, BMP and TIFF; other known formats are named by type. Never throws.
 *
 * `image-size` reads PNG, WebP and GIF, after inputs that it misreads are excluded: it reads past the end of a short
 * buffer into the shared pool, accepts zero edges, and accepts VP8 data without its start code. The other formats are
 * read here: `image-size` 2.1.0 knows three of the thirteen SOF markers of a JPEG, fails at fill bytes, allocates for
 * each byte of garbage, subtracts an AVIF's clean-aperture denominator from its width, and requires a whole TIFF.
 */
export function measure(head: Buffer): Measured {
  if (head.length < magicBytes) return { kind: 'more', mime: null, bytesMax: headBytesMax }
  const format = formats.find(row => row.matches(head))
  if (!format) return { kind: 'undecodable', mime: nameOf(head) }
  const { mime } = format
  if ('open' in format) {
    const reader = format.open()
    for (let i = 0; i < head.length && reader.found === 'more'; i++) reader.push(head[i] as number)
    return reader.found === 'more'
      ? { kind: 'more', mime, bytesMax: headBytesMax, reader }
      : measuredOf(mime, reader.found)
  }
  const found = format.read(head.length > headBytesMax ? head.subarray(0, headBytesMax) : head)
  if (found !== 'more') return measuredOf(mime, found)
  return head.length >= headBytesMax ? { kind: 'undecodable', mime } : { kind: 'more', mime, bytesMax: headBytesMax }
}

/** Accepts a size that an image can have. */
export function measuredOf(mime: string, found: Exclude<Found, 'more'>): Measured {
  if (found === 'none' || !isEdge(found.width) || !isEdge(found.height)) return { kind: 'undecodable', mime }
  const { width, height, bytesMin = 0 } = found
  if (width > edgeMax || height > edgeMax || width * height > areaMax)
    return { kind: 'undecodable', mime, implausible: true }
  return { kind: 'size', mime, size: { width, height }, bytesMin }
}

/** The measured values for rating an image; the reason if there is no size. */
export function sizeOf(measured: Measured): { readonly size: Size | null; readonly unread?: readonly string[] } {
  if (measured.kind === 'size') return { size: measured.size }
  if (measured.kind === 'undecodable' && measured.implausible) return { size: null, unread: ['implausible'] }
  return { size: null, ...(measured.mime !== null && { unread: [measured.mime] }) }
}

type Format = { readonly mime: string; matches(head: Buffer): boolean } & (
  | { read(head: Buffer): Found }
  | { open(): SizeReader }
)

const pngSignature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')

const formats: readonly Format[] = [
  { mime: 'image/png', matches: head => head.subarray(0, 8).equals(pngSignature), read: readPng },
  {
    mime: 'image/jpeg',
    matches: head => head[0] === 0xff && head[1] === 0xd8 && head[2] === 0xff,
    open: () => new JpegSize(),
  },
  { mime: 'image/webp', matches: head => tag(head, 0) === 'RIFF' && tag(head, 8) === 'WEBP', read: readWebp },
  {
    mime: 'image/gif',
    matches: head => tag(head, 0) === 'GIF8' && (head[4] === 0x37 || head[4] === 0x39) && head[5] === 0x61,
    read: readGif,
  },
  { mime: 'image/avif', matches: isAvif, read: readAvif },
  { mime: 'image/bmp', matches: head => tag(head, 0).startsWith('BM'), read: readBmp },
  { mime: 'image/tiff', matches: isTiff, open: () => new TiffSize() },
]

/** Known formats that are not measured, by their first bytes; in a box format these follow the box length. */
const named: readonly (readonly [mime: string, at: number, magic: string])[] = [
  ['image/heic', 4, 'ftyphei'],
  ['image/heic', 4, 'ftyphev'],
  ['image/heif', 4, 'ftypmif1'],
  ['image/heif', 4, 'ftypmsf1'],
  ['image/x-canon-cr3', 4, 'ftypcrx '],
  ['image/jxl', 0, '\0\0\0\x0cJXL '],
  ['image/jxl', 0, '\xff\x0a'],
  ['image/jp2', 0, '\0\0\0\x0cjP  '],
  ['image/jp2', 0, '\xff\x4f\xff\x51'],
  ['image/vnd.adobe.photoshop', 0, '8BPS'],
  ['image/x-icon', 0, '\0\0\x01\0'],
  ['image/x-cursor', 0, '\0\0\x02\0'],
  ['image/icns', 0, 'icns'],
  ['image/tiff', 0, 'II+\0'],
  ['image/tiff', 0, 'MM\0+'],
  ['image/vnd.ms-photo', 0, 'II\xbc\x01'],
  ['image/vnd.ms-dds', 0, 'DDS '],
  ['image/ktx', 0, '\xabKTX '],
  ['image/x-exr', 0, 'v/1\x01'],
  ['image/vnd.radiance', 0, '#?RADIANCE'],
  ['image/qoi', 0, 'qoif'],
  ['image/x-portable-anymap', 0, 'P6\n'],
  ['image/x-portable-anymap', 0, 'P5\n'],
  ['application/pdf', 0, '%PDF-'],
  ['video/webm', 0, '\x1a\x45\xdf\xa3'],
  ['video/mp4', 4, 'ftyp'],
]
/** A comment ends at its first possible end; otherwise each further comment would double the number of attempts. */
const svg = /^\s*(?:<\?xml[^>]*>\s*|<!--(?:(?!-->)[^])*-->\s*|<!DOCTYPE[^>]*>\s*)*<svg[\s>]/i

/** The type of an image that is not measured; null if it is unknown. */
function nameOf(head: Buffer): string | null {
  const text = head.toString('latin1', 0, 512)
  for (const [mime, at, magic] of named) if (text.startsWith(magic, at)) return mime
  return svg.test(text.replace(/^\xef\xbb\xbf/, '')) ? 'image/svg+xml' : null
}

function isEdge(pixels: number): boolean {
  return Number.isInteger(pixels) && pixels >= 1
}

function isTiff(head: Buffer): boolean {
  const magic = tag(head, 0)
  return magic === 'II*\0' || magic === 'MM\0*'
}

/** Reads a BMP: the DIB header begins with its length; uncompressed pixels have a fixed number of bits. */
function readBmp(head: Buffer): Found {
  if (head.length < 34) return 'more'
  const bytes = head.readUInt32LE(14)
  if (bytes === 12) return { width: head.readUInt16LE(18), height: head.readUInt16LE(20) }
  if (bytes < 40 || bytes > 124 || head.readUInt16LE(26) !== 1) return 'none'
  const width = head.readInt32LE(18)
  const height = Math.abs(head.readInt32LE(22))
  const isPlain = head.readUInt32LE(30) === 0
  return { width, height, ...(isPlain && { bytesMin: (width * height * head.readUInt16LE(28)) / 8 }) }
}

function readGif(head: Buffer): Found {
  return withLeast(readSize(head), gifPixelsPerByte)
}

function withLeast(found: Found, pixelsPerByte: number): Found {
  if (typeof found === 'string') return found
  return { ...found, bytesMin: (found.width * found.height) / pixelsPerByte }
}

function tag(head: Buffer, at: number): string {
  return head.toString('latin1', at, at + 4)
}

/** Reads a size with `image-size`; format and length were checked before. */
function readSize(head: Buffer): Found {
  try {
    return imageSize(head)
  } catch {
    return 'none'
  }
}

/** RFC 2083: IHDR is the first chunk, except in Apple's variant, where a CgBI chunk of 4 bytes precedes it. */
function readPng(head: Buffer): Found {
  const before = head.length >= 16 && tag(head, 12) === 'CgBI' ? 16 : 0
  return head.length < 24 + before ? 'more' : withLeast(readSize(head), pngPixelsPerByte)
}

/** RFC 9649: the first chunk, of three kinds, has the size. */
function readWebp(head: Buffer): Found {
  if (head.length < 30) return 'more'
  const chunk = tag(head, 12)
  if (chunk === 'VP8 ' && head.readUIntBE(23, 3) !== 0x9d012a) return 'none'
  if (chunk === 'VP8L' && head[20] !== 0x2f) return 'none'
  return readSize(head)
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

/** ISO/IEC 23008-12: the largest `ispe` property is the whole picture; tiles and thumbnails are smaller. */
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
    // 0 means "to the end of the file", 1 a 64-bit length: neither occurs before the properties of a real image.
    if (bytes < 8) return 'none'
    if (tag(head, at + 4) === kind) return { from: at + 8, to: Math.min(at + bytes, to) }
    at += bytes
  }
  return 'none'
}
