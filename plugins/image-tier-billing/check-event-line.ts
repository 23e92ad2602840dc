import { fieldCharsMax } from '../../src/wire/index.ts'
import { findPicture, isLink } from './detect-picture.ts'

const fieldNames: ReadonlySet<string> = new Set(['event', 'id', 'retry', ''])

/** The problem with a line of an event stream that is not data; undefined if there is none. */
export function problemOfLine(name: string, value: string): string | undefined {
  if (!fieldNames.has(name)) return `a line '${name.slice(0, 40)}', which no event has`
  if (value.length > fieldCharsMax) return `more than ${fieldCharsMax} characters in a line that is no data`
  return isLink(value) || findPicture(value) !== undefined ? `a link or a picture in a line '${name}'` : undefined
}
