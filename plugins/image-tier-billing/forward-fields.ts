import { type Body, type Json, type Part, readField, type TextPart, withField } from '../../src/plugin-api/index.ts'
import { isCountName } from './count-names.ts'
import { pathOfName, readJsonText, valuesAt } from './count-paths.ts'
import { fail } from './errors.ts'
import { isAbsent } from './read-count.ts'

/** The field with free text, which is forwarded as sent, even if empty; any other empty field counts as absent. */
const written = 'prompt'
const emptyText = Buffer.from('""')
/** The maximum number of listed names. */
const namesMax = 100
/** The maximum depth that is searched. Deeper bodies are refused, but a text in a form may be deeper. */
const depthMax = 64

/** The forwarded part of an image request, and the paths of the dropped fields. */
export type Shaped = { readonly body: Body; readonly dropped: readonly string[] }

/**
 * Removes fields that must not reach an upstream: empty fields, and undeclared fields at any depth that set a number
 * of images.
 * @throws Failure `count_repeated` if a declared field is ambiguous
 */
export function shapeFields(body: Body, paths: readonly string[]): Shaped {
  if (body.kind === 'json') return shapeJson(body, paths)
  return body.kind === 'form' ? shapeForm(body, paths) : { body, dropped: [] }
}

/** Removes numbers of images from tools that create images, because the hold counts calls. */
export function shapeTools(body: Body): Shaped {
  const tools = readField(body, 'tools')
  if (!Array.isArray(tools)) return { body, dropped: [] }
  const dropped = new Dropped()
  const kept = tools.map((tool: Json) => {
    const isImage = typeof tool === 'object' && tool !== null && 'type' in tool && tool['type'] === 'image_generation'
    return isImage ? withoutCounts(tool, 'tools[]', path => dropped.add(path)) : tool
  })
  return { body: dropped.paths.length === 0 ? body : withField(body, 'tools', kept), dropped: dropped.paths }
}

class Dropped {
  readonly #paths = new Set<string>()

  get paths(): readonly string[] {
    return [...this.#paths]
  }

  add(path: string): true {
    if (this.#paths.size < namesMax) this.#paths.add(path)
    return true
  }
}

function shapeJson(body: Extract<Body, { kind: 'json' }>, paths: readonly string[]): Shaped {
  const declared = new Set(paths)
  const empty = body.json.names().filter(name => name !== written && body.json.raw(name)?.equals(emptyText))
  const absent = new Set([...empty, ...paths.filter(path => valuesAt(body, path)[0]?.value === '')])
  const dropped = new Dropped()
  const seen = new Map<string, number>()
  const ends = new Set([...declared, ...absent].map(path => path.slice(path.lastIndexOf('.') + 1)))
  const json = body.json.prune((name, path) => {
    if (!ends.has(name) && !isCountName(name)) return false
    const whole = path()
    if (absent.has(whole)) return dropped.add(whole)
    if (!declared.has(whole)) return isCountName(name) && dropped.add(whole)
    seen.set(whole, (seen.get(whole) ?? 0) + 1)
    return false
  })
  // Parsers differ in which of two equal members they use: the upstream may read the other one than the hold.
  for (const [path, times] of seen)
    if (times > 1 || valuesAt(body, path).length === 0) throw fail('count_repeated', { field: path }, { param: path })
  return { body: json === body.json ? body : { kind: 'json', json }, dropped: dropped.paths }
}

function shapeForm(body: Extract<Body, { kind: 'form' }>, paths: readonly string[]): Shaped {
  const declared = new Set(paths)
  const dropped = new Dropped()
  const parts: Part[] = []
  for (const part of body.parts) {
    const path = pathOfName(part.name)
    if (part.kind === 'text' && isLeftOut(part, path, declared)) dropped.add(path)
    else parts.push(part.kind === 'text' ? withoutInner(part, path, { declared, dropped }) : part)
  }
  const isSame = parts.every((part, i) => part === body.parts[i]) && dropped.paths.length === 0
  return { body: isSame ? body : { ...body, parts }, dropped: dropped.paths }
}

function isLeftOut({ value }: TextPart, path: string, declared: ReadonlySet<string>): boolean {
  if (declared.has(path)) return isAbsent(value, true)
  if (value === '' && path !== written) return true
  return path.split(/[.[\]]/).some(name => name !== '' && isCountName(name))
}

/**
 * Removes counts from a form text that is JSON. If a declared number is read from it, it is serialised again, so that
 * the upstream reads the same.
 */
function withoutInner(
  part: TextPart,
  path: string,
  { declared, dropped }: { readonly declared: ReadonlySet<string>; readonly dropped: Dropped },
): TextPart {
  const json = readJsonText(part)
  if (json === undefined) return part
  let isNew = [...declared].some(one => one.startsWith(`${path}.`))
  const kept = withoutCounts(json, path, one => {
    if (declared.has(one)) return false
    isNew = true
    return dropped.add(one)
  })
  return isNew ? { ...part, value: JSON.stringify(kept) } : part
}

/** The value without undeclared members that set a number of images; below the maximum depth it stays unchanged. */
function withoutCounts(value: Json, path: string, drops: (path: string) => boolean, depth = 0): Json {
  if (typeof value !== 'object' || value === null || depth === depthMax) return value
  if (Array.isArray(value)) return value.map((one: Json) => withoutCounts(one, `${path}[]`, drops, depth + 1))
  const kept: [string, Json][] = []
  for (const [name, one] of Object.entries(value)) {
    const whole = `${path}.${name}`
    if (!isCountName(name) || !drops(whole)) kept.push([name, withoutCounts(one, whole, drops, depth + 1)])
  }
  return Object.fromEntries(kept)
}
