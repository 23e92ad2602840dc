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
import { fail, modelNotFound } from './errors.ts'
import { isForwarded } from './forwarded-fields.ts'

type Place = readonly string[]
type Reading = {
  readonly rule: ForwardRule | undefined
  readonly named: readonly DeclaredModel[]
  readonly find: (name: string) => Model | undefined
}
type Found = { readonly value: Json; readonly place: string }

/** Most that one request may name: each is looked up, and held for. */
const furtherMax = 64
const resourcePrefix = 'models/'
const escape = Buffer.from('\\u')

/**
 * The models that a body names in addition to its own: at the places where its family says that upstreams look for more, and `named`,
 * wherever that is. Each by its name here, once, without the model itself. What does not go upstream names nothing. Undefined where
 * none is named at all: where the model itself is, it is to be called as the upstream calls it.
 * @param find the model of a name; undefined for one that is not offered
 * @throws Failure model_not_found, with the place
 */
export function readFurther(
  { family, name: own }: Model,
  body: Body,
  { rule, named, find }: Reading,
): readonly FurtherModel[] | undefined {
  const { further } = family
  if (!further || body.kind !== 'json') return undefined
  const { json } = body
  const isThere = ([field = '']: Place): boolean => json.has(field)
  // Nearly no request names any.
  if (named.length === 0 && !further.instead.some(isThere) && !further.beside.some(isThere)) return undefined
  const found = new Map<string, FurtherModel>()
  let names = 0
  const add = (
    model: Model | undefined,
    { name, place, runs }: Pick<DeclaredModel, 'name' | 'place' | 'runs'>,
  ): void => {
    names++
    if (name === own || model?.name === own || found.has(model?.name ?? name)) return
    if (found.size === furtherMax)
      throw fail('body_too_complex', { what: 'more models', max: `${furtherMax} beside its own` }, { param: place })
    if (!model) throw modelNotFound(name, place)
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

/** @throws Failure models_not_together for one that is not of this upstream, or that is charged in another way */
export function checkTogether(model: Model, further: readonly FurtherModel[]): void {
  for (const { model: other, place, runs } of further) {
    const isHere = model.upstreams.some(({ upstream }) => nameOn(upstream, other) !== undefined)
    if (!isHere || (runs === 'instead' && other.family !== model.family)) throw refuse(model, other, place)
  }
}

/** The refusal of models each of which runs on one of the upstreams, and all of them on none. */
export function notTogether(model: Model, further: readonly FurtherModel[]): Failure {
  const last = further.at(-1) as FurtherModel
  return refuse(model, last.model, last.place)
}

function refuse(model: Model, other: Model, place: string): Failure {
  return fail('models_not_together', { model: other.name, other: model.name }, { param: place })
}

/** Whether all of them run on an upstream: it is given their names, and runs them itself. */
export function runAllOn(upstream: Upstream, further: readonly FurtherModel[]): boolean {
  return further.every(({ model }) => nameOn(upstream, model) !== undefined)
}

/** What a body names models by, anywhere but in `model`, in what goes upstream. */
export function namedIn(body: Body, rule: ForwardRule | undefined): readonly DeclaredModel[] {
  if (body.kind !== 'json' || body.json.declared.models.length === 0) return []
  return body.json.declared.models.filter(({ path: [field] }) => isForwarded(rule, String(field)))
}

/** Those that are not the model itself. */
export function namesOfOthers(named: readonly DeclaredModel[], { name: own }: Model): readonly DeclaredModel[] {
  return named.filter(({ name }) => bareName(name) !== own && name !== own)
}

/** The body with every further model by the name that the upstream knows it by. */
export function renameFurther(body: Body, own: Model, upstream: Upstream, further: readonly FurtherModel[]): Body {
  const all = [own, ...further.map(({ model }) => model)]
  const names = new Map(all.map(model => [model.name, nameOn(upstream, model) ?? model.name]))
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

/** Replaces a name where it still is: the places that the family names may have been renamed already. */
function setAt(value: Json, [next, ...rest]: readonly (string | number)[], from: string, to: string): Json {
  if (next === undefined) return value === from ? to : value
  if (typeof next === 'number')
    return Array.isArray(value) ? value.map((one: Json, i) => (i === next ? setAt(one, rest, from, to) : one)) : value
  if (!isObject(value)) return value
  const inner = value[next]
  return inner === undefined ? value : { ...value, [next]: setAt(inner, rest, from, to) }
}

/** A resource's name as some formats write it. */
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
  // Tools are long and rarely name a model: one look at the bytes spares reading them.
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

function isObject(value: Json): value is { readonly [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a text may have a member of this name: one that is written with escapes is looked for in any that has some. */
function mayName(raw: Buffer | undefined, name: string): boolean {
  return raw !== undefined && (raw.includes(JSON.stringify(name)) || raw.includes(escape))
}
