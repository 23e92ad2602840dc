import { type AskedSize, type Body, fieldNames, type Random, readField, withField } from '../../src/plugin-api/index.ts'
import { normalPath } from '../../src/wire/index.ts'
import { composeForm, composeJson } from './compose.ts'
import type { Section } from './schema.ts'
import { fail } from './errors.ts'
import { parsePictureRef, pictureFields, RequestScope } from './scope.ts'
import { absent, compileTemplate, fillTemplate, type Template } from './template.ts'

export type ClientRequest = {
  readonly body: Body
  readonly model: string
  readonly n: number
  readonly requestedSize: AskedSize | undefined
}

/** A body for the upstream, and the client's fields that are not in it. */
export type Shaped = { readonly body: Body; readonly value: unknown; readonly dropped: readonly string[] }

const templates = new WeakMap<object, Template>()

export function templateOf(request: object): Template {
  let template = templates.get(request)
  if (!template) templates.set(request, (template = compileTemplate(request)))
  return template
}

/**
 * The body for the upstream: the section's template filled in, or the unchanged body if there is none.
 * @throws Failure picture_is_link, picture_unreadable, too_many_input_pictures
 */
export function shapeRequest(section: Section, request: ClientRequest, random: Pick<Random, 'bytes'>): Shaped {
  const { body } = request
  if (section.request === undefined) return { body: withCount(section, request), value: undefined, dropped: [] }
  const template = templateOf(section.request)
  const scope = new RequestScope({ ...request, values: section.values })
  checkPictures(template, scope)
  const filled = fillTemplate(template, scope)
  const value = (filled === absent ? {} : filled) as { [name: string]: unknown }
  const named = new Set([...template.refs].map(ref => ref.split('.', 1)[0] as string))
  for (const field of pictureFields) if (named.has(field)) named.add(`${field}s`)
  // {width} and similar placeholders are other forms of the size.
  if (sizeRefs.some(ref => named.has(ref))) named.add('size')
  // If each request is for one picture, no field contains the number.
  if (section.fan_out !== undefined) named.add('n')
  const rest = fieldNames(body).filter(name => !named.has(name) && !ours.has(name))
  if (section.rest === undefined) return { body: compose(section, value, random), value, dropped: rest }
  const whole = withRest(value, normalPath(section.rest), rest, scope)
  return { body: compose(section, whole, random), value: whole, dropped: [] }
}

/**
 * Refuses pictures beyond the numbered places of a template: they would be charged and not sent. A template with one
 * number wants that picture alone.
 * @throws Failure too_many_input_pictures
 */
function checkPictures({ refs }: Template, scope: RequestScope): void {
  const places = [...refs].map(parsePictureRef)
  for (const name of pictureFields) {
    const numbers = places.flatMap(place => (place?.field === name ? [Number(place.which)] : []))
    const max = Math.max(1, ...numbers)
    // Other placeholders than numbers have room for every picture.
    if (max === 1 || Number.isNaN(max)) continue
    const found = scope.pictures(name).length
    if (found > max) throw fail('too_many_input_pictures', { name, found, max }, { param: name })
  }
}

const sizeRefs = ['width', 'height', 'ratio', 'resolution', 'expected']
/** Pictures have their own placeholders, the rest is read here. */
const ours: ReadonlySet<string> = new Set(['model', 'image', 'images', 'image[]', 'mask'])

function compose(section: Section, value: unknown, random: Pick<Random, 'bytes'>): Body {
  return section.body === 'form' ? composeForm(value, random) : composeJson(value, random)
}

/** If each request is for one picture, no field contains the number. */
function withCount({ fan_out: fanOut }: Section, { body }: ClientRequest): Body {
  return fanOut === undefined || readField(body, 'n') === undefined ? body : withField(body, 'n', undefined)
}

function withRest(
  value: { [name: string]: unknown },
  path: string,
  names: readonly string[],
  scope: RequestScope,
): unknown {
  const fields: { [name: string]: unknown } = {}
  for (const name of names) {
    const own = scope.fieldOf(name)
    if (own !== absent) fields[name] = own
  }
  if (path === '') return { ...fields, ...value }
  const [first = '', ...more] = path.split('.')
  const own = (value[first] ?? {}) as { [name: string]: unknown }
  return { ...value, [first]: withRest(own, more.join('.'), names, scope) }
}
