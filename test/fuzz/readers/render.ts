import { type Kind, linkOf, makePicture, markOf } from './made.ts'

/**
 * A body in the notation of a case: text in which `{{P3.png.800}}` is picture 3, a PNG of 800 bytes. The letter is the
 * form: P base64, U its other alphabet without padding, M in lines of 76, E with escapes of JSON, D and Q as a data URL
 * (Q with escaped slashes), R as raw bytes; of L, K and N links (K with escaped slashes, N signed) only the number
 * counts.
 */
const token = /\{\{([PUMEDQRLKN])(\d{1,4})\.(png|jpeg|webp|gif)\.(\d{1,5})\}\}/g

export type Encoding = 'utf8' | 'utf8-bom' | 'utf16le' | 'utf16le-bom' | 'utf16be'

export type Rendered = {
  readonly bytes: Buffer
  /** Its pictures and links, including repeated ones. */
  readonly written: number
  /** The number of the picture with this mark. */
  readonly ids: ReadonlyMap<string, number>
}

export function render(template: string, encoding: Encoding = 'utf8'): Rendered {
  const parts: Buffer[] = []
  const ids = new Map<string, number>()
  let written = 0
  let from = 0
  for (const found of template.matchAll(token)) {
    const [text, how = 'P', number = '0', kind = 'png', bytes = '0'] = found
    parts.push(encode(template.slice(from, found.index), encoding))
    from = found.index + text.length
    const id = Number(number)
    const picture = makePicture(id, kind as Kind, Number(bytes))
    written++
    if (!'LKN'.includes(how)) ids.set(markOf(picture), id)
    parts.push(how === 'R' ? picture : encode(spell(how, id, kind, picture), encoding))
  }
  parts.push(encode(template.slice(from), encoding))
  return { bytes: Buffer.concat([marks[encoding], ...parts]), written, ids }
}

const nothing = Buffer.alloc(0)
const marks: { readonly [encoding in Encoding]: Buffer } = {
  utf8: nothing,
  'utf8-bom': Buffer.from([0xef, 0xbb, 0xbf]),
  utf16le: nothing,
  'utf16le-bom': Buffer.from([0xff, 0xfe]),
  utf16be: nothing,
}

function encode(text: string, encoding: Encoding): Buffer {
  if (encoding === 'utf16be') return Buffer.from(text, 'utf16le').swap16()
  return Buffer.from(text, encoding.startsWith('utf16') ? 'utf16le' : 'utf8')
}

function spell(how: string, id: number, kind: string, picture: Buffer): string {
  const slashes = (text: string): string => text.replaceAll('/', '\\/')
  const base64 = picture.toString('base64')
  if (how === 'U') return picture.toString('base64url')
  if (how === 'M') return base64.replace(/.{76}/g, line => `${line}\\n`)
  if (how === 'E')
    return slashes(base64).replace(/[A-Z](?=[a-z]{2})/g, letter => `\\u00${letter.charCodeAt(0).toString(16)}`)
  if (how === 'D') return `data:image/${kind};base64,${base64}`
  if (how === 'Q') return slashes(`data:image/${kind};base64,${base64}`)
  if (how === 'L') return linkOf(id)
  if (how === 'K') return slashes(linkOf(id))
  if (how === 'N') return `${linkOf(id)}?Expires=1&Signature=a%2Fb~`
  return base64
}
