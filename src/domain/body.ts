import type { Readable } from 'node:stream'
import type { Json, JsonObjectView } from './json.ts'

/** A file of a form, in memory or spooled; its bytes can be read more than once until `discard`. */
export type FilePart = {
  readonly kind: 'file'
  /** The field name as the client wrote it: `image`, `image[]`, `image[3]`. */
  readonly name: string
  readonly bytes: number
  /** Hex SHA-256 of the content, computed on the first call: most forms are never hashed. */
  sha256(): Promise<string>
  /** The first bytes, at most 64: enough to detect the type. */
  readonly head: Buffer
  open(): Readable
  /**
   * The client's file name (last part of the path) and type without parameters, in forms whose files need not be
   * images.
   */
  readonly claimed?: { readonly fileName: string | undefined; readonly contentType: string }
  /** Name and type to send, set by the plugin that forwards the part. */
  readonly fileName?: string
  readonly contentType?: string
}

export type TextPart = { readonly kind: 'text'; readonly name: string; readonly value: string }

export type Part = FilePart | TextPart

/** An outgoing form: its length and its bytes. */
export type EncodedForm = {
  readonly contentType: string
  readonly bytes: number
  /**
   * @param lend reuses the memory of a chunk for the chunk after the next, for readers that have sent or copied a
   * chunk before they read more, such as readers that wait for `drain`. Without it, every chunk belongs to the reader.
   */
  open(lend?: boolean): Readable
}

/** A body that a plugin has composed of parts in memory and in files; its bytes can be read more than once. */
export type Composed = {
  readonly kind: 'composed'
  readonly contentType: string
  readonly bytes: number
  /** The whole file, if it is in memory. */
  readonly whole?: Buffer
  open(): Readable
}

/**
 * The client's request body. `none`: empty. `json`: one object, completely in memory. `form`: read and stored by the
 * plugin that parses forms, which also serialises it. `composed`: built for the upstream. `stream`: bytes that were
 * not read yet.
 */
export type Body =
  | { readonly kind: 'none' }
  | { readonly kind: 'json'; readonly json: JsonObjectView }
  | {
      readonly kind: 'form'
      readonly parts: readonly Part[]
      encode(parts: readonly Part[]): EncodedForm
      /** Frees memory and disk; idempotent. */
      discard(): void
    }
  | Composed
  | {
      readonly kind: 'stream'
      /** Chunks belong to the reader, which may free them. */
      readonly source: Readable
      readonly contentType: string
      /** Content-Length as announced; undefined when chunked. */
      readonly bytes: number | undefined
    }

/** The longest field that is parsed by name: parsing a longer one would block all other requests. */
export const fieldBytesMax = 4 * 1024 * 1024

/**
 * The value of a top-level field of a JSON object, or of the first text part with that name. For longer fields use
 * `body.json.get`, which blocks all other requests meanwhile.
 * @throws Failure field_too_long for more than 4 MiB of JSON
 */
export function readField(body: Body, name: string): Json | undefined {
  if (body.kind === 'json') return body.json.get(name, fieldBytesMax)
  if (body.kind !== 'form') return undefined
  for (const part of body.parts) if (part.kind === 'text' && part.name === name) return part.value
  return undefined
}

/** Whether a field has no value. Clients that always send a field use null or an empty text for no value. */
export function isEmptyField(value: Json | undefined): boolean {
  return value === undefined || value === null || value === ''
}

/** The names of all top-level fields, in the order sent; a form's repeated names once. */
export function fieldNames(body: Body): readonly string[] {
  if (body.kind === 'json') return body.json.names()
  if (body.kind === 'form') return [...new Set(body.parts.map(part => part.name))]
  return []
}

/** A body with a field set, added, or (if undefined) removed; the given body is unchanged. */
export function withField(body: Body, name: string, value: Json | undefined): Body {
  return withFields(body, new Map([[name, value]]))
}

/** Like `withField`, for several fields in one copy. */
export function withFields(body: Body, changes: ReadonlyMap<string, Json | undefined>): Body {
  if (body.kind === 'json') return { kind: 'json', json: body.json.with(changes) }
  if (body.kind !== 'form') return body
  const rest = new Map(changes)
  const parts: Part[] = []
  for (const part of body.parts) {
    if (part.kind === 'file' || !changes.has(part.name)) {
      parts.push(part)
      continue
    }
    const value = rest.get(part.name)
    if (value !== undefined) parts.push({ kind: 'text', name: part.name, value: formText(value) })
    rest.delete(part.name)
  }
  for (const [name, value] of rest) if (value !== undefined) parts.push({ kind: 'text', name, value: formText(value) })
  return { ...body, parts }
}

function formText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
