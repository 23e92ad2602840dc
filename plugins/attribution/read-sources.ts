import { type Body, type Head, type Json, readField } from '../../src/plugin-api/index.ts'

/** The location of a name, in the syntax of the option. */
export type Source =
  | { readonly from: 'key' }
  | { readonly from: 'header'; readonly name: string }
  | { readonly from: 'body'; readonly path: readonly string[] }

export function parseSource(text: string): Source {
  if (text === 'key') return { from: 'key' }
  const [from, rest] = [text.slice(0, text.indexOf(':')), text.slice(text.indexOf(':') + 1)]
  return from === 'header' ? { from, name: rest.toLowerCase() } : { from: 'body', path: rest.split('.') }
}

type Request = { readonly head: Head; readonly body: Body; readonly keyTags: readonly string[] }

/** The first name that a source has. */
export function findName(sources: readonly Source[], request: Request): string | undefined {
  for (const source of sources) {
    const name = plainText(valueOf(source, request))
    if (name !== undefined) return name
  }
  return undefined
}

/** Tags of all sources, in their order, each once. */
export function findTags(sources: readonly Source[], request: Request, most: number): readonly string[] {
  const tags = new Set<string>()
  for (const source of sources)
    for (const tag of tagsOf(source, request)) {
      if (tags.size >= most) return [...tags]
      tags.add(tag)
    }
  return [...tags]
}

function tagsOf(source: Source, request: Request): readonly string[] {
  if (source.from === 'key') return request.keyTags
  const value = valueOf(source, request)
  if (source.from === 'header') return typeof value === 'string' ? textsOf(value.split(',')) : []
  if (Array.isArray(value)) return textsOf(value as readonly Json[])
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, member]) => textsOf([member]).map(text => `${name}:${text}`))
  const name = source.path.at(-1) as string
  return textsOf([value]).map(text => (source.path.length > 1 ? `${name}:${text}` : text))
}

function textsOf(values: readonly (Json | undefined)[]): readonly string[] {
  return values.flatMap(value => plainText(value) ?? [])
}

function valueOf(source: Source, { head, body }: Request): Json | undefined {
  if (source.from === 'key') return undefined
  if (source.from === 'header') {
    const value = head.headers[source.name]
    return typeof value === 'string' ? value : undefined
  }
  const [first = '', ...rest] = source.path
  let value: unknown = readField(body, first)
  for (const name of rest) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as { readonly [name: string]: unknown })[name]
  }
  return value as Json | undefined
}

/** The text of texts, numbers and booleans; undefined for everything else, and for an empty text. */
function plainText(value: Json | undefined): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return typeof value === 'string' && value.trim() !== '' ? value : undefined
}
