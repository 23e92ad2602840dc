import {
  type Body,
  type Failure,
  type ForwardRule,
  type FurtherModel,
  type Json,
  type Model,
  nameOn,
  readField,
  type Upstream,
  withFields,
} from '../kit/index.ts'
import { fail } from './errors.ts'

type Place = readonly string[]
type Found = { readonly value: Json; readonly place: string }

/** Most that one request may name: each is looked up, and held for. */
const furtherMax = 64
const escape = Buffer.from('\\u')

/**
 * The models that a body names beside its own, at the places where its family says that upstreams look for more: each by its
 * name here, once, without the model itself. What does not go upstream names nothing. Undefined where none is named at all: where
 * the model itself is, it is to be called as the upstream calls it.
 * @param find the model of a name. @throws what a name that is none throws, with its place
 */
export function readFurther(
  { family, name: own }: Model,
  body: Body,
  rule: ForwardRule | undefined,
  find: (name: string, place: string) => Model,
): readonly FurtherModel[] | undefined {
  const { further } = family
  if (!further || body.kind !== 'json') return undefined
  const { json } = body
  const isThere = ([field = '']: Place): boolean => json.has(field)
  // Nearly no request names any.
  if (!further.instead.some(isThere) && !further.beside.some(isThere)) return undefined
  const found = new Map<string, FurtherModel>()
  let names = 0
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
        names++
        if (value === own || found.has(value)) continue
        if (found.size === furtherMax)
          throw fail('body_too_complex', { what: 'more models', max: `${furtherMax} beside its own` }, { param: place })
        found.set(value, { model: find(value, place), place, runs })
      }
    }
  }
  return names > 0 ? [...found.values()] : undefined
}

/** @throws Failure models_not_together for one that the upstream would not be asked for, or that is charged in another way */
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

function valuesAt(body: Body, path: Place, rule: ForwardRule | undefined): readonly Found[] {
  const [field = '', ...rest] = path
  if (body.kind !== 'json' || !body.json.has(field) || !passes(rule, field)) return []
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

function passes(rule: ForwardRule | undefined, field: string): boolean {
  if (!rule) return true
  return rule.kind === 'only' ? rule.names.has(field) : !rule.except.has(field)
}
