import { type Body, type FilePart, isEmptyField, type Json, readField, sniff } from '../../src/plugin-api/index.ts'
import { fail } from './errors.ts'
import { absent, Mixed } from './template.ts'

/** A picture from the client. */
export type Picture =
  | { readonly kind: 'file'; readonly part: FilePart }
  | { readonly kind: 'data'; readonly mime: string; readonly base64: string }
  | { readonly kind: 'link'; readonly url: string }

/** The bytes of a file at their position in the sent body. */
export class FileBytes {
  readonly part: FilePart
  readonly as: 'base64' | 'bytes'

  constructor(part: FilePart, as: 'base64' | 'bytes') {
    this.part = part
    this.as = as
  }
}

/** No vendor accepts nearly as many; a body has room for tens of thousands, each of which would cost work. */
const picturesMax = 256
const bracketed = /^(.+?)\[\d*\]$/s

/**
 * The pictures of a field, in the order sent: files of a form, and in JSON data: URLs, links, objects with one, and
 * lists of these, under the field's name, then under its plural. @throws Failure picture_unreadable, too_many_input_pictures
 */
export function picturesOf(body: Body, name: string): readonly Picture[] {
  if (body.kind === 'form') {
    const parts = atMost(
      body.parts.filter(part => (bracketed.exec(part.name)?.[1] ?? part.name) === name),
      name,
    )
    return parts.map(part => (part.kind === 'file' ? { kind: 'file', part } : parsePicture(part.value, part.name)))
  }
  const written = [name, `${name}s`].flatMap(field => {
    const value = readField(body, field)
    const values: readonly Json[] = value === undefined || isEmptyField(value) ? [] : [value].flat()
    return values.map(one => ({ one, field }))
  })
  return atMost(written, written[picturesMax]?.field ?? name).map(({ one, field }) => parsePicture(one, field))
}

function atMost<T>(pictures: readonly T[], name: string): readonly T[] {
  const found = pictures.length
  if (found > picturesMax) throw fail('too_many_input_pictures', { name, found, max: picturesMax }, { param: name })
  return pictures
}

function parsePicture(value: Json, name: string): Picture {
  const text = textOf(value)
  if (text === undefined) throw fail('picture_unreadable', { name }, { param: name })
  const data = parseDataUrl(text)
  if (data) return data
  if (/^https:\/\/[^\s]+$/i.test(text)) return { kind: 'link', url: text }
  throw fail('picture_unreadable', { name }, { param: name })
}

function parseDataUrl(text: string): Picture | undefined {
  if (text.slice(0, 5).toLowerCase() !== 'data:') return undefined
  const comma = text.indexOf(',')
  const [mime = '', ...parameters] = text.slice('data:'.length, comma).split(';')
  if (comma < 0 || parameters.at(-1)?.trim().toLowerCase() !== 'base64') return undefined
  return { kind: 'data', mime: mime === '' ? 'image/png' : mime, base64: text.slice(comma + 1) }
}

function textOf(value: Json): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const own = value as { readonly [name: string]: Json }
  for (const member of ['image_url', 'url', 'data']) {
    const one = own[member]
    if (typeof one === 'string') return one
    if (typeof one === 'object' && one !== null) return textOf(one)
  }
  return undefined
}

/** The values of a picture in a template. @throws Failure picture_is_link */
export function describePicture(picture: Picture, what: string, name: string): unknown {
  if (what === 'url' && picture.kind === 'link') return picture.url
  if (picture.kind === 'link') throw fail('picture_is_link', { name }, { param: name })
  const mime = picture.kind === 'file' ? mimeOf(picture.part) : picture.mime
  if (what === 'mime') return mime
  if (what === 'file') return picture.kind === 'file' ? new FileBytes(picture.part, 'bytes') : absent
  const base64 = picture.kind === 'file' ? new FileBytes(picture.part, 'base64') : picture.base64
  if (what === 'base64') return base64
  return typeof base64 === 'string' ? `data:${mime};base64,${base64}` : new Mixed([`data:${mime};base64,`, base64])
}

function mimeOf(part: FilePart): string {
  return part.contentType ?? sniff(part.head).type
}
