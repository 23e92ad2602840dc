import { resolve } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../domain/index.ts'
import { PartFiles, type PartTexts } from '../compose/part-files.ts'
import type { Environment } from '../environment.ts'
import { type Filled, readFilled } from '../read-filled.ts'
import { Report } from '../report.ts'
import { parts as schemas } from '../schema.ts'
import { Source } from '../source.ts'
import { entryOf, formatPath, type Path, toValue, type Tree } from '../tree.ts'
import { readComments } from '../load.ts'
import { SpliceBudget, SpliceError, Splicer } from './splice.ts'
import { isObject } from '../../util/index.ts'

/** One change of a setting of a model or a group; without a value the setting is removed. */
export type ConfigEdit = {
  /** `models NAME`, `models NAME MEMBER …`, `groups NAME MEMBER …`. */
  readonly path: readonly (string | number)[]
  readonly value?: Json
}

/** The texts of a configuration: the main file, and the files that it names, by absolute path. */
export type ConfigTexts = { readonly file: string; readonly text: string; readonly parts?: PartTexts }

export type Edited =
  | {
      readonly ok: true
      /** The given texts, with those of the files that they name. */
      readonly before: ConfigTexts
      /** The new texts. */
      readonly texts: ConfigTexts & { readonly parts: PartTexts }
      /** Absolute paths of changed files. */
      readonly changed: readonly string[]
      /** Notes for the author of the edit, in sentences. */
      readonly notes: readonly string[]
    }
  | { readonly ok: false; readonly why: string; readonly edit: ConfigEdit | undefined }

/** The reason why an edit is not possible. */
class EditError extends Error {}

/** The maximum nesting of lists and mappings; real configurations have far less. */
const nestingMax = 32

/** An entry has one of these. */
const rivals: { readonly [member: string]: readonly string[] } = {
  upstream: ['upstreams', 'routes'],
  upstreams: ['upstream', 'routes'],
  routes: ['upstream', 'upstreams'],
  prices: ['price'],
  price: ['prices'],
}

/** The editable settings, by section: nothing that changes addresses or contains secrets. */
const editable = {
  models: new Set(Object.keys(schemas.model.properties)),
  groups: new Set(Object.keys(schemas.group.properties)),
} as const

type Section = keyof typeof editable
type SourceFile = { readonly path: string; readonly own: Tree }

/**
 * Edits the texts of a configuration in the files of the entries: the main file or an included one. Everything else
 * stays unchanged, including comments, quotes and order, because texts are changed in place instead of rewritten. Each
 * edit is verified: the new text has the requested value, and all other values are unchanged.
 */
export async function applyEdits(texts: ConfigTexts, env: Environment, edits: readonly ConfigEdit[]): Promise<Edited> {
  let before: ConfigTexts = texts
  let now: (ConfigTexts & { readonly parts: PartTexts }) | undefined
  const changed = new Set<string>()
  const notes: string[] = []
  const budget = new SpliceBudget()
  let current: ConfigEdit | undefined
  try {
    for (const edit of edits) {
      current = edit
      const read = await readTexts(now ?? texts, env)
      now ??= before = { ...texts, parts: read.parts }
      checkEdit(edit)
      for (const { sourceFile, path, value } of placeEdit(edit, read, notes)) {
        const old: string = sourceFile.path === mainOf(now) ? now.text : (now.parts[sourceFile.path] ?? '')
        const after = await change(old, { path, value }, notes, budget)
        if (after === old) continue
        changed.add(sourceFile.path)
        now =
          sourceFile.path === mainOf(now)
            ? { ...now, text: after }
            : { ...now, parts: { ...now.parts, [sourceFile.path]: after } }
      }
    }
    now ??= before = { ...texts, parts: (await readTexts(texts, env)).parts }
  } catch (error) {
    if (error instanceof EditError) return { ok: false, why: error.message, edit: current }
    if (error instanceof SpliceError)
      return {
        ok: false,
        why: `this setting cannot be changed here (${error.message}): edit the file`,
        edit: current,
      }
    throw error
  }
  return { ok: true, before, texts: now, changed: [...changed], notes: [...new Set(notes)] }
}

const mainOf = ({ file }: ConfigTexts): string => resolve(file)

type Read = Filled & { readonly parts: PartTexts; readonly files: readonly SourceFile[] }

/** @throws EditError if the configuration is unreadable */
export async function readTexts({ file, text, parts }: ConfigTexts, env: Environment): Promise<Read> {
  const source = new Source(file, text.replace(/^\uFEFF/, ''))
  const named = new PartFiles(parts)
  const report = new Report(source)
  const read = await readFilled(source, env, report, { parts: named })
  if (!read.written || !read.whole) {
    const [first] = report.findings(read.secrets)
    throw new EditError(
      `the current configuration cannot be read${first ? `: ${first.file}:${first.line} ${first.message}` : ''}`,
    )
  }
  const files = read.sourceFiles.map(({ start, own }) => ({ path: resolve(source.sourceFileOf(start).file), own }))
  return { ...read, parts: named.texts, files }
}

/** @throws EditError */
function checkEdit({ path, value }: ConfigEdit): void {
  const [section, name, member] = path
  if (section !== 'models' && section !== 'groups')
    throw new EditError('only models and groups can be edited here; edit the rest in the file')
  if (typeof name !== 'string' || name === '' || /[\p{Cc}]|\$\{|^__proto__$|^<<$/u.test(name))
    throw new EditError(`${JSON.stringify(name ?? '')} is not a valid name`)
  // Its users and keys would lose their limits, or would be refused.
  if (member === undefined && section === 'groups' && value === undefined)
    throw new EditError('groups can only be removed in the file')
  if (member !== undefined && !editable[section].has(String(member)))
    throw new EditError(`entries of ${section} have no setting '${member}'`)
  if (value !== undefined && isNestedDeeper(value, nestingMax))
    throw new EditError(`lists and mappings are nested more than ${nestingMax} levels deep`)
  if (value !== undefined && hasReservedName(value)) throw new EditError("'<<' and '__proto__' cannot be names")
  if (value !== undefined && hasReference(value))
    throw new EditError('write a reference such as ${NAME} in the file itself: it could read a secret')
}

function isNestedDeeper(value: Json, levels: number): boolean {
  if (value === null || typeof value !== 'object') return false
  return levels === 0 || Object.values(value).some(one => isNestedDeeper(one, levels - 1))
}

function hasReference(value: Json): boolean {
  if (typeof value === 'string') return value.includes('${')
  if (value === null || typeof value !== 'object') return false
  return Object.entries(value).some(([key, one]) => hasReference(key) || hasReference(one))
}

function hasReservedName(value: Json): boolean {
  if (value === null || typeof value !== 'object') return false
  return Object.entries(value).some(([key, one]) => key === '<<' || key === '__proto__' || hasReservedName(one))
}

type Place = { readonly sourceFile: SourceFile; readonly path: Path; readonly value: Json | undefined }

/** The position of an edit, and the value that it replaces. @throws EditError */
function placeEdit({ path, value }: ConfigEdit, read: Read, notes: string[]): readonly Place[] {
  const [section, name] = path as readonly [Section, string]
  const sourceFile = read.files.find(({ own }) => entryOf(entryOf(own, section)?.value, name))
  if (!sourceFile) return placeElsewhere({ path, ...(value !== undefined && { value }) }, read, notes)
  const own = entryOf(entryOf(sourceFile.own, section)?.value, name)?.value
  const member = path[2]
  if (typeof member !== 'string') return [{ sourceFile, path, value }]
  const there = entryOf(own, member)
  const composed = entryOf(entryOf(entryOf(read.written, section)?.value, name)?.value, member)
  if (value === undefined) {
    if (there) return [{ sourceFile, path, value }]
    throw new EditError(
      composed
        ? `${formatPath(path)} comes from ${whence(composed.value, read)}: set a different value here instead`
        : `there is no ${formatPath(path)}`,
    )
  }
  const places: Place[] = []
  if (path.length > 3 && (!there || entryOf(there.value, 'from'))) {
    // A value that is only inherited as a whole is copied here with the change.
    if (!composed || composed.value.kind !== 'map') {
      places.push({ sourceFile, path: path.slice(0, 3), value: nest(path.slice(3), value) })
    } else {
      if (composed.value !== there?.value)
        notes.push(
          `${formatPath(path.slice(0, 3))} came from ${whence(composed.value, read)}. It is now set in this entry; changes there no longer apply to it.`,
        )
      places.push({
        sourceFile,
        path: path.slice(0, 3),
        value: put(toValue(composed.value) as Json, path.slice(3), value),
      })
    }
  } else places.push({ sourceFile, path, value })
  // The new one is added before the old one is removed, so that a mapping is never empty.
  const gone = (rivals[member] ?? []).filter(rival => entryOf(own, rival))
  return [...places, ...gone.map(rival => ({ sourceFile, path: [section, name, rival], value: undefined }))]
}

/** The positions for an entry that no file has itself: a new one, or a model from a list. @throws EditError */
function placeElsewhere({ path, value }: ConfigEdit, read: Read, notes: string[]): readonly Place[] {
  const [section, name, member] = path as readonly [Section, string, string | undefined]
  if (section === 'models')
    for (const sourceFile of read.files) {
      const lists = entryOf(sourceFile.own, 'model_lists')?.value
      if (lists?.kind !== 'map') continue
      for (const { key: list, value: own } of lists.entries) {
        const names = entryOf(own, 'models')?.value
        const at: Path = ['model_lists', list, 'models']
        const index =
          names?.kind === 'list' ? names.elements.findIndex(one => one.kind === 'scalar' && one.value === name) : -1
        const mapped = entryOf(names, name)
        if (index === -1 && !mapped) continue
        if (member === undefined && value === undefined)
          return [{ sourceFile, path: mapped ? [...at, name] : [...at, index], value: undefined }]
        if (mapped && member === 'prices' && value !== undefined) {
          const was = mapped.value.kind === 'map' ? (toValue(mapped.value) as Json) : {}
          notes.push(`${name} is part of model_lists.${list}; its prices are set there.`)
          return [{ sourceFile, path: [...at, name], value: put(was, path.slice(3), value) }]
        }
        if (mapped && member === 'price' && value === 'free') return [{ sourceFile, path: [...at, name], value }]
        throw new EditError(
          `${name} is part of model_lists.${list} and shares this setting with the list: edit the file, or remove it from the list and add it separately`,
        )
      }
    }
  if (member === undefined && value !== undefined) {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new EditError(
        section === 'models'
          ? 'a model is a mapping: family, upstream, prices'
          : 'a group is a mapping: limits, budget',
      )
    const sourceFile = read.files.find(({ own }) => entryOf(own, section)) ?? read.files[0]
    if (!sourceFile) throw new EditError('there is no file')
    if (entryOf(sourceFile.own, section)) return [{ sourceFile, path, value }]
    return [{ sourceFile, path: [section], value: { [name]: value } }]
  }
  throw new EditError(`there is no ${section === 'models' ? 'model' : 'group'} '${name}' in the configuration`)
}

/** The file and line of a value, for people. */
function whence({ span }: Tree, { source }: Read): string {
  const { file, line } = source.locate(span.start)
  return `${file}:${line}`
}

function nest(path: Path, value: Json): Json {
  return path.reduceRight<Json>((inner, step) => ({ [step]: inner }), value)
}

/** A value with the given value at a path inside it. @throws EditError for a position after the end of a list */
function put(whole: Json, path: Path, value: Json | undefined): Json {
  const [step, ...rest] = path
  if (step === undefined) return value ?? null
  if (Array.isArray(whole)) {
    const list = whole as readonly Json[]
    const at = Number(step)
    // A list has no gaps: only the next index may be added.
    const end = rest.length === 0 && value === undefined ? list.length - 1 : list.length
    if (!Number.isInteger(at) || at < 0 || at > end)
      throw new EditError(`this list has no entry ${JSON.stringify(step)}`)
    if (at === list.length) return [...list, put({}, rest, value)]
    return rest.length === 0 && value === undefined
      ? list.toSpliced(at, 1)
      : list.with(at, put(list[at] ?? {}, rest, value))
  }
  const map = isObject(whole) ? whole : {}
  if (rest.length === 0 && value === undefined) {
    const { [step]: _gone, ...kept } = map
    return kept
  }
  return { ...map, [step]: put(map[step] ?? {}, rest, value) }
}

type Change = Pick<Place, 'path' | 'value'>

/** @throws EditError, SpliceError */
async function change(given: string, { path, value }: Change, notes: string[], budget: SpliceBudget): Promise<string> {
  const mark = /^\uFEFF?/.exec(given)?.[0] ?? ''
  const before = given.slice(mark.length)
  const splicer = new Splicer(before, budget)
  const wanted = put(toValue(splicer.root) as Json, path, value)
  // The text is parsed before and after; other requests run in between.
  await nextTurn()
  if (value === undefined) splicer.remove(path)
  else splicer.set(path, value)
  const { text } = splicer
  // Rejects the edit if the result is not the intended one.
  if (!isDeepStrictEqual(toValue(splicer.root), wanted)) throw new SpliceError('the text has an unsupported form')
  const lost = readComments(before).length - readComments(text).length
  if (lost > 0)
    notes.push(`${lost} ${lost === 1 ? 'comment is removed' : 'comments are removed'} with ${formatPath(path)}.`)
  return mark + text
}
