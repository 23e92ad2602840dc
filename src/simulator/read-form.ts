import { fail } from './errors.ts'

export type FormPart = {
  readonly name: string
  /** Undefined for a text field. */
  readonly fileName: string | undefined
  readonly contentType: string | undefined
  readonly content: Buffer
}

/**
 * Parses a form as strictly as RFC 2046, section 5.1.1 and RFC 7578 define it, to detect incorrect senders: CRLF
 * everywhere, only a line end before the first and after the last boundary, one Content-Disposition per part. Parts are
 * views of `body`, in the order of the form.
 * @throws Failure `invalid_form`, `unsupported_content_type`
 */
export function readForm(body: Buffer, contentType: string | undefined): readonly FormPart[] {
  const delimiter = Buffer.from(`\r\n--${boundaryOf(contentType)}`, 'latin1')
  // There is no line before the first boundary.
  if (!body.subarray(0, delimiter.length - 2).equals(delimiter.subarray(2))) {
    throw fail('invalid_form', { reason: 'it does not begin with its boundary' })
  }
  const parts: FormPart[] = []
  let at = delimiter.length - 2
  for (;;) {
    const after = body.toString('latin1', at, at + 2)
    if (after === '--') break
    if (after !== '\r\n') throw fail('invalid_form', { reason: `a boundary is not a line of its own at byte ${at}` })
    const end = body.indexOf(delimiter, at)
    if (end === -1) throw fail('invalid_form', { reason: 'the last boundary is missing' })
    parts.push(readPart(body.subarray(at + 2, end)))
    at = end + delimiter.length
  }
  const rest = body.length - at - 2
  if (rest !== 0 && body.toString('latin1', at + 2) !== '\r\n') {
    throw fail('invalid_form', { reason: `${rest} bytes follow the last boundary` })
  }
  return parts
}

/** 1 to 70 characters, quoted or not (RFC 2046, section 5.1.1). */
function boundaryOf(contentType: string | undefined): string {
  const [type = '', ...parameters] = (contentType ?? '').split(';').map(text => text.trim())
  if (type.toLowerCase() !== 'multipart/form-data') {
    throw fail('unsupported_content_type', { found: type, expected: 'multipart/form-data' })
  }
  for (const parameter of parameters) {
    const match = /^boundary=(?:"([^"]{1,70})"|([\w'()+,\-./:=?]{1,70}))$/i.exec(parameter)
    const boundary = match?.[1] ?? match?.[2]
    if (boundary !== undefined) return boundary
  }
  throw fail('invalid_form', { reason: 'its content type names no boundary' })
}

function readPart(bytes: Buffer): FormPart {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd === -1) throw fail('invalid_form', { reason: 'a part has no end of its headers' })
  const headers = new Map<string, string>()
  for (const line of bytes.toString('utf8', 0, headEnd).split('\r\n')) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(0, colon)).toLowerCase()
    if (!/^[\w-]+$/.test(name) || headers.has(name))
      throw fail('invalid_form', { reason: `a part's header '${line}' is not one` })
    headers.set(name, line.slice(colon + 1).trim())
  }
  const disposition = headers.get('content-disposition') ?? ''
  const match = /^form-data; name="([^"\r\n]*)"(?:; filename="([^"\r\n]*)")?$/.exec(disposition)
  if (!match) throw fail('invalid_form', { reason: `'${disposition}' is not the disposition of a form's part` })
  return {
    name: match[1] ?? '',
    fileName: match[2],
    contentType: headers.get('content-type'),
    content: bytes.subarray(headEnd + 4),
  }
}
