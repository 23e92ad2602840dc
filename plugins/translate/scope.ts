import {
  type AskedSize,
  type Body,
  isEmptyField,
  type Json,
  readField,
  valueAtNames,
} from '../../src/plugin-api/index.ts'
import { isSameWord } from '../../src/pricing/index.ts'
import { type Picture, picturesOf, describePicture } from './pictures.ts'
import type { Section } from './schema.ts'
import { absent, type Ref, type Scope } from './template.ts'

/** The fields with pictures. */
export const pictureFields = ['image', 'mask'] as const
const pictureRef = /^(image|mask)\.(?:(\d+|only|several)\.)?(data_url|base64|mime|url|file)$/
/** Fields that stay texts, whatever they contain. */
const texts: ReadonlySet<string> = new Set(['prompt', 'negative_prompt', 'user'])

/** The request from which a template is filled. */
export type Request = {
  readonly body: Body
  /** The number of pictures that this one request is for. */
  readonly n: number
  readonly model: string
  readonly requestedSize: AskedSize | undefined
  readonly values: Section['values']
}

/** Whether a placeholder refers to a picture; returns which picture and which of its values. */
export function parsePictureRef(
  ref: Ref,
): { readonly field: string; readonly which: string | undefined; readonly what: string } | undefined {
  const [, field, which, what] = pictureRef.exec(ref) ?? []
  return field === undefined || what === undefined ? undefined : { field, which, what }
}

export class RequestScope implements Scope {
  readonly #request: Request
  readonly #pictures = new Map<string, readonly Picture[]>()

  constructor(request: Request) {
    this.#request = request
  }

  pictures(field: string): readonly Picture[] {
    let known = this.#pictures.get(field)
    if (!known) this.#pictures.set(field, (known = picturesOf(this.#request.body, field)))
    return known
  }

  turnsOf(ref: Ref): number | undefined {
    const wanted = parsePictureRef(ref)
    if (wanted?.field !== 'image' || (wanted.which !== undefined && wanted.which !== 'several')) return undefined
    return this.pictures(wanted.field).length
  }

  isOptional(ref: Ref): boolean {
    return parsePictureRef(ref) !== undefined
  }

  valueOf(ref: Ref, turn: number | undefined): unknown {
    const wanted = parsePictureRef(ref)
    if (wanted) return this.#pictureOf(wanted, turn)
    return this.#mapped(ref, this.#plain(ref))
  }

  /** The value of one of the client's fields, whatever a placeholder of the same name means. */
  fieldOf(name: string): unknown {
    return this.#mapped(name, this.#field(name, []))
  }

  #pictureOf(
    { field, which, what }: NonNullable<ReturnType<typeof parsePictureRef>>,
    turn: number | undefined,
  ): unknown {
    const all = this.pictures(field)
    const isThere = which === 'only' ? all.length === 1 : which === 'several' ? all.length > 1 : true
    const at = which === undefined || which === 'several' ? (turn ?? 0) : which === 'only' ? 0 : Number(which) - 1
    const picture = isThere ? all[at] : undefined
    return picture ? describePicture(picture, what, field) : absent
  }

  #plain(ref: Ref): unknown {
    const { n, model, requestedSize } = this.#request
    const [first = '', ...rest] = ref.split('.')
    if (ref === 'n') return n
    if (ref === 'model') return model
    const size = sizeOf(requestedSize)
    if (ref === 'width' || ref === 'height') return size?.[ref] ?? absent
    if (first === 'expected')
      return (requestedSize?.expected as { readonly [side: string]: number } | null)?.[rest[0] ?? ''] ?? absent
    if (ref === 'ratio') return requestedSize?.ratio ?? absent
    if (ref === 'ratio.width' || ref === 'ratio.height')
      return requestedSize?.ratio?.split(':')[ref === 'ratio.width' ? 0 : 1] ?? absent
    if (ref === 'resolution') return requestedSize?.resolution ?? absent
    return this.#field(first, rest)
  }

  #field(first: string, rest: readonly string[]): unknown {
    const { body } = this.#request
    const value = valueAtNames(readField(body, first), rest) as Json | undefined
    if (value === undefined || isEmptyField(value)) return absent
    return body.kind === 'form' && typeof value === 'string' && !texts.has(first) ? unwritten(value) : value
  }

  #mapped(ref: Ref, value: unknown): unknown {
    const own = this.#request.values?.[ref] as { readonly [value: string]: unknown } | undefined
    if (!own || (value === absent && own['absent'] === undefined)) return value
    if (value === absent) return own['absent']
    return own[nameIn(own, String(value)) ?? 'otherwise'] ?? value
  }
}

/** The name that equals a text. Prices ignore the case of Latin letters, so another case is the same value here too. */
function nameIn(values: object, text: string): string | undefined {
  if (Object.hasOwn(values, text)) return text
  return Object.keys(values).find(name => isSameWord(name, text))
}

/** The requested pixels; for a requested resolution, those of the family's table. */
function sizeOf(requested: AskedSize | undefined): { readonly width: number; readonly height: number } | undefined {
  if (!requested) return undefined
  return requested.size.kind === 'pixels' ? requested.size : (requested.expected ?? undefined)
}

/** A form contains only texts: a text that is a JSON number or literal becomes that value. */
function unwritten(text: string): unknown {
  if (/^-?\d{1,15}(\.\d{1,15})?$/.test(text)) return Number(text)
  return text === 'true' ? true : text === 'false' ? false : text
}
