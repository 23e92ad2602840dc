import type { Holdback } from '../../src/wire/index.ts'
import { findBase64, findPicture, isLink } from './detect-picture.ts'
import { Unrecognised } from './scan-result.ts'

/** The maximum size of an error page. */
const bytesMax = 64 * 1024
const isPage = /^\s*<(?:!doctype|\?xml|html|head|body|!--)/i
/** Markup that shows an image in a page, or links to one. */
const shows = /<(?:img|image|picture|svg|source|video|canvas|object|embed)\b|\.(?:png|jpe?g|webp|gif|avif|svg)\b|data:/i

/**
 * Withholds an answer that is not a JSON object. @throws Unrecognised at its end, or once it is longer than any answer
 * without an image
 */
export function refuseNonJson(holdback: Holdback, isOver: boolean): void {
  const shape = 'no JSON object'
  if (holdback.end - holdback.from > bytesMax) throw new Unrecognised(shape)
  if (isOver) throw new Unrecognised(shape, hasNoImage(Buffer.concat(holdback.release(holdback.end))))
}

/** Whether an answer that is not a JSON object is known to contain no image: a page, `null`, an empty list. */
export function hasNoImage(answer: Buffer): boolean {
  const text = answer.toString('utf8')
  // Other encodings and binary data are not read.
  if (answer.includes(0) || text.includes('\ufffd')) return false
  if (findPicture(text) !== undefined || findBase64(text) !== undefined) return false
  return isPage.test(text) ? !shows.test(text) : !isLink(text) && !text.includes('{')
}
