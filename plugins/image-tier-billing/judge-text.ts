import { measure } from './measure.ts'
import { wordSet } from './word-set.ts'

/** The smallest picture there is has 26 bytes; shorter runs of base64's alphabet are words. */
const runCharsMin = 32
/** A sentence may quote how base64 begins. No picture that shows anything is shorter. */
export const spokenCharsMax = 87
/** More base64 than this is a picture until proved otherwise, whatever it begins with. */
const denseCharsMax = 1024
/** Formats with enough magic bytes to be no accident in an id. */
const certain: ReadonlySet<string | null> = wordSet(
  'image/png image/jpeg image/webp image/gif image/avif image/heic image/tiff',
)
/** How base64 of these begins, in both alphabets. */
export const beginnings = ['iVBO', '/9j/', '_9j_', 'UklG', 'R0lG', 'AAAA', 'SUkq', 'TU0A']
/** Characters of a run that are decoded to see what it begins with. */
const headChars = 64

const run = new RegExp(`[A-Za-z0-9+/_=-]{${runCharsMin},}`, 'g')
/**
 * Blanks between stretches that are no words: base64 may be written in lines. A stretch is looked at from its beginning alone:
 * from each of its characters, a long one would be read as many times as it is long.
 */
const broken = /(?<![A-Za-z0-9+/_=-])([A-Za-z0-9+/_=-]{16,})\s+(?=[A-Za-z0-9+/_=-]{16})/g
const inlineImage = /data:image\/[a-z0-9.+-]+[;,]/i
const drawingBegin = /<svg[\s>]/i
const drawingEnd = /<\/svg/i
const link = /:\/\/|^\s*\/\/|^\s*data:|<svg[\s>]/i

/** What a text holds that is a picture: a `data:` URL of one, or base64 that begins as one does. */
export function findPicture(text: string, isSentence = false): string | undefined {
  const least = isSentence ? spokenCharsMax : 0
  for (const [found] of text.replaceAll(broken, '$1').matchAll(run))
    if (found.length > least && beginsAsPicture(found)) return 'a picture in base64'
  const drawing = findDrawing(text)
  if (drawing !== undefined) return drawing
  return !isSentence && inlineImage.test(text) ? 'a data: URL of a picture' : undefined
}

/** The end is looked for once: after each of many beginnings it would be looked for again. */
export function findDrawing(text: string): string | undefined {
  const from = text.search(drawingBegin)
  return from >= 0 && drawingEnd.test(text.slice(from)) ? 'a drawing (SVG)' : undefined
}

/** So much base64 that it may be a picture of an unknown format. */
export function findBase64(text: string): string | undefined {
  let chars = 0
  for (const [found] of text.matchAll(run)) chars += found.length
  return chars >= denseCharsMax ? `${chars} characters of base64` : undefined
}

/** Whether a text is nothing else. */
export function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/_=-]+$/.test(text)
}

/** Whether a text leads to a picture somewhere else. */
export function isLink(text: string): boolean {
  return link.test(text)
}

/** How a JPEG goes on that is no accident: its first three bytes may be anywhere in another picture. */
const jpegSegment =
  /^\xff\xd8\xff(?:[\xe0-\xef][^](?:[^]JFIF|[^]Exif|[^]Adobe|[^]ICC_P|[^]Photo|[^]http)|\xdb\0[\x43\x84\xc5])/

/** Whether base64 within a picture is another one. */
export function beginsAnother(base64: string): boolean {
  const head = Buffer.from(base64.slice(0, headChars), 'base64')
  const { mime } = measure(head)
  return certain.has(mime) && (mime !== 'image/jpeg' || jpegSegment.test(head.toString('latin1')))
}

/** Whether base64 begins with the first bytes of a picture of a known format. */
export function beginsAsPicture(base64: string): boolean {
  return certain.has(measure(Buffer.from(base64.slice(0, headChars), 'base64')).mime)
}

/** An escape that a text ends in the middle of. */
const halfEscape = /(?<!\\)((?:\\\\)*)(\\(?:u[0-9a-fA-F]{0,3})?)$/

/** @returns a piece of a JSON string up to the escape that it ends in the middle of, and that escape */
export function cutEscape(piece: string): [whole: string, escape: string] {
  const escape = halfEscape.exec(piece)?.[2] ?? ''
  return [piece.slice(0, piece.length - escape.length), escape]
}

/** The content of a JSON string as it was sent, or its beginning, unescaped; what is escaped wrongly as far as that is possible. */
export function unescapeText(raw: Buffer): string {
  const text = raw.toString('utf8')
  if (!text.includes('\\')) return text
  try {
    return JSON.parse(`"${text.replace(halfEscape, '$1')}"`) as string
  } catch {
    return text.replaceAll('\\/', '/')
  }
}
