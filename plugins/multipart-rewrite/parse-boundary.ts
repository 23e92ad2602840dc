import { fail } from './errors.ts'

const type = /^[ \t]*multipart\/form-data[ \t]*(?=;|$)/i
/** RFC 9110 5.6.6: parameters may be empty, and a list may end in a semicolon. */
const parameter = /[ \t]*;[ \t]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s";]*)))?/gy
/** RFC 2046 5.1.1: spaces are allowed inside, but not at the end. */
const boundaryText = /^[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]$/

/**
 * The boundary of a `multipart/form-data` content type (RFC 2046 5.1.1, RFC 7578 4.1): 1 to 70 characters, given once,
 * bare or in quotes. busboy accepts fewer spellings, and reports errors less precisely.
 * @throws Failure form_boundary_invalid
 */
export function parseBoundary(contentType: string): string {
  const start = type.exec(contentType)?.[0].length
  if (start === undefined)
    throw fail('form_boundary_invalid', { why: 'is missing: the type is not multipart/form-data' })
  let boundary: string | undefined
  let end = start
  parameter.lastIndex = start
  for (let match = parameter.exec(contentType); match; match = parameter.exec(contentType)) {
    end = parameter.lastIndex
    const name = match[1]?.toLowerCase() ?? ''
    // RFC 2231 continuations would be a second way to write the boundary.
    if (name.startsWith('boundary*')) throw fail('form_boundary_invalid', { why: 'is split or encoded' })
    if (name !== 'boundary') continue
    if (boundary !== undefined) throw fail('form_boundary_invalid', { why: 'is given more than once' })
    boundary = match[2]?.replaceAll(/\\(.)/g, '$1') ?? match[3] ?? ''
  }
  parameter.lastIndex = 0
  if (contentType.slice(end).trim() !== '')
    throw fail('form_boundary_invalid', { why: 'cannot be read: the parameters are malformed' })
  if (boundary === undefined) throw fail('form_boundary_invalid', { why: 'is missing' })
  if (!boundaryText.test(boundary))
    throw fail('form_boundary_invalid', { why: 'is not 1 to 70 letters, digits or marks' })
  return boundary
}
