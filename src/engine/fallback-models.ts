import {
  type Body,
  type DeclaredModel,
  type Failure,
  type ForwardRule,
  type FurtherModel,
  type Json,
  type Model,
  nameOn,
  readField,
  type Upstream,
  withFields,
} from '../domain/index.ts'
import { fail } from './errors.ts'
import { isForwarded } from './forwarded-fields.ts'
import { isObject } from '../util/index.ts'

type Place = readonly string[]
type Reading = {
  readonly rule: ForwardRule | undefined
  readonly named: readonly DeclaredModel[]
  readonly find: (name: string) => Model | undefined
  readonly unknown: (name: string, place: string) => Failure
}
type Found = { readonly value: Json; readonly place: string }

/** The most models that one request may name: each is looked up and held for. */
const furtherMax = 64
const resourcePrefix = 'models/'
const escape = Buffer.from('\\u')

/**
 * The models that a body names in addition to its own: in the fields where its family declares more models, and
 * `named`, anywhere. Each by its name here, once, without the model itself. Dropped fields name nothing. Undefined if
 * none is named at all; if only the model itself is named, it gets the upstream's name.
 * @param find the model of a name; undefined for one that is not offered, and `unknown` makes its error
 * @throws Failure model_not_found, with the path
 */
export function readFurther(
  { family, name: own }: Model,
  body: Body,
  { rule, named, find, unknown }: Reading,
): readonly FurtherModel[] | undefined {
  const { further } = family
  if (!further || body.kind !== 'json') return undefined
  const found = new Map<string, FurtherModel>()
  let names = 0
  const add = (
    model: Model | undefined,
    { name, place, runs }: Pick<DeclaredModel, 'name' | 'place' | 'runs'>,
  ): void => {
    names++
    if (name === own || model?.name === own || found.has(model?.name ?? name)) return
    if (found.size === furtherMax)
      throw fail('body_too_complex', { what: 'more models', max: `${furtherMax} besides its own` }, { param: place })
    if (!model) throw unknown(name, place)
    found.set(model.name, { model, place, runs })
  }
  for (const [runs, places] of [
    ['instead', further.instead],
    ['beside', further.beside],
  ] as const) {
    for (const path of places) {
      for (const { value, place } of valuesAt(body, path, rule)) {
        if (typeof value !== 'string')
          throw fail(
            'invalid_type',
            { name: place, expected: 'a string', found: Array.isArray(value) ? 'an array' : `a ${typeof value}` },
            { param: place },
          )
        add(find(value), { name: value, place, runs })
      }
    }
  }
  for (const one of named) add(find(one.name) ?? find(bareName(one.name)), one)
  return names > 0 ? [...found.values()] : undefined
}

/** Whether a body declares tools or models, or has a field in which its family declares some. Almost none does. */
export function mayNameFurther(body: Body, { further }: Pick<Model['family'], 'further'>): boolean {
  if (body.kind !== 'json') return false
  const { json } = body
  if (json.declared.models.length > 0 || json.declared.tools.length > 0) return true
  const isThere = ([field = '']: Place): boolean => json.has(field)
  return further !== undefined && (further.instead.some(isThere) || further.beside.some(isThere))
}

/** @throws Failure models_not_together for one that is not on this upstream, or is charged in another way */
export function checkTogether(model: Model, further: readonly FurtherModel[]): void {
  for (const { model: other, place, runs } of further) {
    const isHere = model.upstreams.some(({ upstream }) => nameOn(upstream, other) !== undefined)
    if (!isHere || (runs === 'instead' && other.family !== model.family)) throw refuse(model, other, place)
  }
}

/** The error for models that each run on one of the upstreams, but not together on any. */
export function notTogether(model: Model, further: readonly FurtherModel[]): Failure {
  const last = further.at(-1) as FurtherModel
  return refuse(model, last.model, last.place)
}

function refuse(model: Model, other: Model, place: string): Failure {
  return fail('models_not_together', { model: other.name, other: model.name }, { param: place })
}

/** Whether all of them run on an upstream: it gets their names, and chooses itself. */
export function runAllOn(upstream: Upstream, further: readonly FurtherModel[]): boolean {
  return further.every(({ model }) => nameOn(upstream, model) !== undefined)
}

/** Fields that name models, other than `model`, in what is forwarded. */
export function namedIn(body: Body, rule: ForwardRule | undefined): readonly DeclaredModel[] {
  if (body.kind !== 'json' || body.json.declared.models.length === 0) return []
  return body.json.declared.models.filter(({ path: [field] }) => isForwarded(rule, String(field)))
}

/** Those that are not the model itself. */
export function namesOfOthers(
  named: readonly DeclaredModel[],
  { name: own }: Model,
  nameOf: (given: string) => string,
): readonly DeclaredModel[] {
  return named.filter(({ name }) => nameOf(bareName(name)) !== own && nameOf(name) !== own)
}

/** The body with every further model by the upstream's name for it. */
export function renameFurther(
  body: Body,
  own: Model,
  upstream: Upstream,
  {
    further,
    aliases = new Map(),
  }: { readonly further: readonly FurtherModel[]; readonly aliases?: ReadonlyMap<string, string> | undefined },
): Body {
  const all = [own, ...further.map(({ model }) => model)]
  const names = new Map(all.map(model => [model.name, nameOn(upstream, model) ?? model.name]))
  for (const [alias, name] of aliases) {
    const sent = names.get(name)
    if (sent !== undefined) names.set(alias, sent)
  }
  const changes = new Map<string, Json>()
  const { instead = [], beside = [] } = own.family.further ?? {}
  for (const path of [...instead, ...beside]) {
    const [field = '', ...rest] = path
    const value = changes.get(field) ?? readField(body, field)
    if (value !== undefined) changes.set(field, renameAt(value, rest, names))
  }
  for (const { path, name } of body.kind === 'json' ? body.json.declared.models : []) {
    const [field = '', ...rest] = path
    const to = names.get(name) ?? withPrefix(names.get(bareName(name)))
    if (to === undefined || to === name) continue
    const value = changes.get(String(field)) ?? readField(body, String(field))
    if (value !== undefined) changes.set(String(field), setAt(value, rest, name, to))
  }
  return withFields(body, changes)
}

/** @param names by the name here; the model itself may be named again */
function renameAt(value: Json, path: Place, names: ReadonlyMap<string, string>): Json {
  if (Array.isArray(value)) return value.map(one => renameAt(one, path, names))
  const [next, ...rest] = path
  if (next === undefined) return typeof value === 'string' ? (names.get(value) ?? value) : value
  if (!isObject(value)) return value
  const inner = value[next]
  return inner === undefined ? value : { ...value, [next]: renameAt(inner, rest, names) }
}

/** Replaces a name if it is still there: the fields of the family may have been renamed already. */
function setAt(value: Json, [next, ...rest]: readonly (string | number)[], from: string, to: string): Json {
  if (next === undefined) return value === from ? to : value
  if (typeof next === 'number')
    return Array.isArray(value) ? value.map((one: Json, i) => (i === next ? setAt(one, rest, from, to) : one)) : value
  if (!isObject(value)) return value
  const inner = value[next]
  return inner === undefined ? value : { ...value, [next]: setAt(inner, rest, from, to) }
}

/** A resource name in some formats. */
function bareName(name: string): string {
  return name.startsWith(resourcePrefix) ? name.slice(resourcePrefix.length) : name
}

function withPrefix(name: string | undefined): string | undefined {
  return name === undefined ? undefined : `${resourcePrefix}${name}`
}

function valuesAt(body: Body, path: Place, rule: ForwardRule | undefined): readonly Found[] {
  const [field = '', ...rest] = path
  if (body.kind !== 'json' || !body.json.has(field) || !isForwarded(rule, field)) return []
  const last = rest.at(-1)
  // Tools are long and rarely name a model: one search of the bytes avoids reading them.
  if (last !== undefined && !mayName(body.json.raw(field), last)) return []
  const value = readField(body, field)
  return value === undefined ? [] : walk(value, rest, field)
}

function walk(value: Json, path: Place, place: string): readonly Found[] {
  if (value === null) return []
  if (Array.isArray(value)) return value.flatMap((one: Json, i) => walk(one, path, `${place}[${i}]`))
  const [next, ...rest] = path
  if (next === undefined) return [{ value, place }]
  if (!isObject(value)) return []
  const inner = value[next]
  return inner === undefined ? [] : walk(inner, rest, `${place}.${next}`)
}

/** Whether a text may have a member of this name; if it is written with escapes, any text with escapes may. */
function mayName(raw: Buffer | undefined, name: string): boolean {
  return raw !== undefined && (raw.includes(JSON.stringify(name)) || raw.includes(escape))
}
