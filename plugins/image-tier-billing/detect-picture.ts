import { measure } from './measure.ts'
import { wordSet } from './word-set.ts'

/** The smallest possible picture has 26 bytes; shorter runs of base64 characters are words. */
const runCharsMin = 32
/** The maximum number of base64 characters that a sentence may quote. No meaningful picture is shorter. */
export const quotedCharsMax = 87
/** The number of base64 characters from which a text counts as a picture, whatever its beginning. */
const denseCharsMax = 1024
/** Formats with enough magic bytes to exclude a coincidence in an id. */
const certain: ReadonlySet<string | null> = wordSet(
  'image/png image/jpeg image/webp image/gif image/avif image/heic image/tiff',
)
/** The beginnings of these formats in base64, in both alphabets. */
export const beginnings = ['iVBO', '/9j/', '_9j_', 'UklG', 'R0lG', 'AAAA', 'SUkq', 'TU0A']
/** The number of characters of a run that are decoded to read its beginning. */
const headChars = 64

const run = new RegExp(`[A-Za-z0-9+/_=-]{${runCharsMin},}`, 'g')
/**
 * Blanks between runs that are no words, because base64 may be split into lines. A run is examined only from its
 * beginning: from each character, it would be read as many times as it is long.
 */
const broken = /(?<![A-Za-z0-9+/_=-])([A-Za-z0-9+/_=-]{16,})\s+(?=[A-Za-z0-9+/_=-]{16})/g
const inlineImage = /data:image\/[a-z0-9.+-]+[;,]/i
const drawingBegin = /<svg[\s>]/i
const drawingEnd = /<\/svg/i
const link = /:\/\/|^\s*\/\/|^\s*data:|<svg[\s>]/i

/** Describes the picture in a text: a `data:` URL, a drawing, or base64 that begins like a picture. */
export function findPicture(text: string, isSentence = false): string | undefined {
  const least = isSentence ? quotedCharsMax : 0
  for (const [found] of text.replaceAll(broken, '$1').matchAll(run))
    if (found.length > least && beginsAsPicture(found)) return 'a picture in base64'
  const drawing = findDrawing(text)
  if (drawing !== undefined) return drawing
  return !isSentence && inlineImage.test(text) ? 'a data: URL of a picture' : undefined
}

/** Describes an SVG drawing in a text. The end is searched only once, not after each possible beginning. */
export function findDrawing(text: string): string | undefined {
  const from = text.search(drawingBegin)
  return from >= 0 && drawingEnd.test(text.slice(from)) ? 'a drawing (SVG)' : undefined
}

/** Describes base64 that is long enough for a picture of an unknown format. */
export function findBase64(text: string): string | undefined {
  let chars = 0
  for (const [found] of text.matchAll(run)) chars += found.length
  return chars >= denseCharsMax ? `${chars} characters of base64` : undefined
}

/** Whether a text consists only of base64 characters. */
export function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/_=-]+$/.test(text)
}

/** Whether a text links to a picture. */
export function isLink(text: string): boolean {
  return link.test(text)
}

/** The bytes that confirm a JPEG, because its first three bytes may occur anywhere in another picture. */
const jpegSegment =
  /^\xff\xd8\xff(?:[\xe0-\xef][^](?:[^]JFIF|[^]Exif|[^]Adobe|[^]ICC_P|[^]Photo|[^]http)|\xdb\0[\x43\x84\xc5])/

/** Whether base64 within a picture is another picture. */
export function beginsAnother(base64: string): boolean {
  const head = Buffer.from(base64.slice(0, headChars), 'base64')
  const { mime } = measure(head)
  return certain.has(mime) && (mime !== 'image/jpeg' || jpegSegment.test(head.toString('latin1')))
}

/** Whether base64 begins with the first bytes of a known picture format. */
export function beginsAsPicture(base64: string): boolean {
  return certain.has(measure(Buffer.from(base64.slice(0, headChars), 'base64')).mime)
}

/** The unfinished escape at the end of a text. */
const halfEscape = /(?<!\\)((?:\\\\)*)(\\(?:u[0-9a-fA-F]{0,3})?)$/

/** @returns a piece of a JSON string up to its unfinished escape, and that escape */
export function cutEscape(piece: string): [whole: string, escape: string] {
  const escape = halfEscape.exec(piece)?.[2] ?? ''
  return [piece.slice(0, piece.length - escape.length), escape]
}

/**
 * The content of a JSON string as sent, or its beginning, unescaped; invalid escapes are decoded as far as possible.
 */
export function unescapeText(raw: Buffer): string {
  const text = raw.toString('utf8')
  if (!text.includes('\\')) return text
  try {
    return JSON.parse(`"${text.replace(halfEscape, '$1')}"`) as string
  } catch {
    return text.replaceAll('\\/', '/')
  }
}
