import { readYaml } from '../../config/load.ts'
import { type Entry, type MapTree, toValue, type Tree } from '../../config/tree.ts'
import { operations } from '../../operations/index.ts'
import { jobsGet } from '../../operations/jobs-get.ts'

/** A file with a recipe's lines in it. */
export type Merged = {
  readonly text: string
  /** New entries, as paths: `families.fal-flux`. */
  readonly added: readonly string[]
  /** Existing entries with the same names, which stay unchanged. */
  readonly left: readonly string[]
}

/** Why a file cannot be merged into. */
export class MergeError extends Error {
  override readonly name = 'MergeError'
}

/** Images to edit are sent as forms, and as JSON where that is possible. */
const edits = operations.filter(({ traits }) => traits.images === 'edited').map(({ name }) => name)
const sections = ['upstreams', 'families', 'models'] as const
/**
 * Appends a fragment's upstreams, families and models, each with its comments, to those of a file, and the steps that
 * its pipeline lacks; from the shipped configuration also the families and routes that these need. Every other byte
 * stays.
 * @throws MergeError if a text does not permit that
 */
export function mergeRecipes(text: string, fragments: Iterable<string>, shipped: string): Merged {
  const added: string[] = []
  const left: string[] = []
  const [first, ...others] = fragments
  if (first === undefined) return { text, added, left }
  // Parses each text once, and again after a change: parsing a configuration takes tens of milliseconds.
  const base = open(shipped)
  let file = open(text)
  for (const fragment of [first, ...others])
    file = mergeRecipe(file, open(fragment, 'the recipe'), base, { added, left })
  return { text: file.text, added, left }
}

function mergeRecipe(
  whole: File,
  from: File,
  shipped: File,
  { added, left }: { readonly added: string[]; readonly left: string[] },
): File {
  let file = whole
  for (const key of sections) {
    const known = new Set(namesIn(file.root, key))
    const chunks = chunksOf(from, entryOf(from.root, key))
    for (const { name } of chunks) if (known.has(name)) left.push(`${key}.${name}`)
    const missing = key === 'families' ? familiesFor(from.root, shipped) : []
    const fresh = [...chunks, ...missing].filter(({ name }) => !known.has(name))
    added.push(...fresh.map(({ name }) => `${key}.${name}`))
    if (fresh.length > 0) file = open(append(file, key, fresh))
  }
  return addRoutes(addSteps(file, stepsOf(from.root), added), shipped, added)
}

/** Families of the shipped configuration that the fragment's models need. */
function familiesFor(fragment: MapTree, shipped: File): readonly Chunk[] {
  const own = new Set(namesIn(fragment, 'families'))
  const models = Object.values(valueOf(fragment, 'models')) as readonly { readonly family?: unknown }[]
  const used = new Set(models.map(model => String(model.family)))
  const chunks = chunksOf(shipped, entryOf(shipped.root, 'families'))
  return chunks.filter(({ name }) => used.has(name) && !own.has(name))
}

/** The text without the entries of a section that `keep` rejects. */
export function keepEntries(text: string, key: string, keep: (name: string) => boolean): string {
  const file = open(text)
  const gone = chunksOf(file, entryOf(file.root, key)).filter(({ name }) => !keep(name))
  return gone.reduceRight((rest, { start, end }) => rest.slice(0, start) + rest.slice(end), text)
}

type File = { readonly text: string; readonly root: MapTree }

function open(text: string, what = 'the file'): File {
  const { root, diagnostics } = readYaml(text)
  if (!root || root.kind !== 'map' || diagnostics.length > 0) throw new MergeError(`${what} cannot be read`)
  if (text[root.span.start] === '{') throw new MergeError(`${what} is written in braces; use one line for each key`)
  return { text, root }
}

function entryOf(root: MapTree, key: string): Entry | undefined {
  return root.entries.find(entry => entry.key === key)
}

function valueOf(root: MapTree, key: string): { readonly [name: string]: unknown } {
  const value = entryOf(root, key)?.value
  return value?.kind === 'map' ? (toValue(value) as { readonly [name: string]: unknown }) : {}
}

function namesIn(root: MapTree, key: string): readonly string[] {
  const value = entryOf(root, key)?.value
  return value?.kind === 'map' ? value.entries.map(entry => entry.key) : []
}

type Chunk = { readonly name: string; readonly text: string; readonly start: number; readonly end: number }

/** Each entry of a section as its lines, including the comments directly above it. */
function chunksOf(file: File, section: Entry | undefined): readonly Chunk[] {
  const { text } = file
  if (section?.value.kind !== 'map' || text[section.value.span.start] === '{') return []
  const { value } = section
  const starts = value.entries.map(entry => aboveComments(text, lineStart(text, entry.keySpan.start)))
  const last = endOf(file, section)
  return value.entries.map(({ key }, i) => {
    const start = starts[i] ?? 0
    const end = starts[i + 1] ?? last
    return { name: key, text: `${text.slice(start, end).trimEnd()}\n`, start, end }
  })
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at - 1) + 1
}

/** The beginning of the comments directly above a line. */
function aboveComments(text: string, line: number): number {
  let start = line
  while (start > 0) {
    const above = lineStart(text, start - 1)
    if (!/^[ \t]+#/.test(text.slice(above, start))) break
    start = above
  }
  return start
}

/** The end of a top-level section: before the blank lines and comments that precede the next one. */
function endOf({ text, root }: File, section: Entry): number {
  const next = root.entries[root.entries.indexOf(section) + 1]
  let end = next ? lineStart(text, next.keySpan.start) : text.length
  while (end > 0) {
    const above = lineStart(text, end - 1)
    if (!leadsOn(text.slice(above, end)) || above <= section.keySpan.start) break
    end = above
  }
  return end
}

/** Whether a line is blank, a comment at the margin or the end mark of the document. */
function leadsOn(line: string): boolean {
  const words = line.trim()
  return words === '' || words === '...' || line.startsWith('#')
}

function append(whole: File, key: string, chunks: readonly Chunk[]): string {
  const file = asBlock(whole, key)
  const section = entryOf(file.root, key)
  if (!section) return `${withEnd(file.text)}\n${key}:\n${shift(chunks, 2)}`
  const [first] = section.value.kind === 'map' ? section.value.entries : []
  const indent = first ? first.keySpan.start - lineStart(file.text, first.keySpan.start) : 2
  const end = endOf(file, section)
  const put = shift(chunks, indent)
  const lines = file.text.includes('\r\n') ? put.replaceAll('\n', '\r\n') : put
  return withEnd(file.text.slice(0, end)) + lines + file.text.slice(end)
}

function withEnd(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}

/** The lines of chunks, with their names at this column. */
function shift(chunks: readonly Chunk[], indent: number): string {
  const shifted = chunks.map(({ text }) => {
    const own = /^ */.exec(text)?.[0].length ?? 0
    return text.replaceAll(/^( *)(?=\S)/gm, (blanks: string) => ' '.repeat(Math.max(0, blanks.length - own + indent)))
  })
  return shifted.join('')
}

/**
 * Rewrites a section in braces with one line for each entry, so that others can be appended.
 * @throws MergeError if it contains comments
 */
function asBlock(file: File, key: string): File {
  const { text } = file
  const value = entryOf(file.root, key)?.value
  if (value?.kind !== 'map' || text[value.span.start] !== '{') return file
  const { start, end } = value.span
  if (/#/.test(text.slice(start, end).replaceAll(/"[^"]*"|'[^']*'/g, '')))
    throw new MergeError(`${key} is written in braces, with comments; use one line for each entry`)
  const lines = value.entries.map(entry => `  ${text.slice(entry.keySpan.start, endIn(entry.value))}`)
  const before = text.slice(0, start).trimEnd()
  return open(`${[before, ...lines].join('\n')}\n${text.slice(end).replace(/^[ \t]*\n/, '')}`)
}

function endIn(value: Tree): number {
  return value.span.end
}

function stepsOf(root: MapTree): readonly string[] {
  const value = entryOf(root, 'pipeline')?.value
  return value?.kind === 'list' ? value.elements.map(nameOfStep) : []
}

function nameOfStep(step: Tree): string {
  return step.kind === 'map' ? (step.entries[0]?.key ?? '') : String(toValue(step))
}

/**
 * Adds steps that the file's pipeline lacks: the last one at its end, others after the step that they follow in the
 * recipe.
 */
function addSteps(whole: File, wanted: readonly string[], added: string[]): File {
  let file = whole
  for (const [i, name] of wanted.entries()) {
    const { root, text } = file
    const there = stepsOf(root)
    const list = entryOf(root, 'pipeline')?.value
    if (there.includes(name) || list?.kind !== 'list' || list.elements.length === 0) continue
    const before = i === wanted.length - 1 ? -1 : there.indexOf(wanted[i - 1] ?? '')
    const step = list.elements.at(before) as Tree
    file = open(insertAfter(text, step, name, text[list.span.start] === '['))
    added.push(`pipeline ${name}`)
  }
  return file
}

function insertAfter(text: string, element: Tree, item: string, isFlow: boolean): string {
  const { start, end } = element.span
  if (isFlow) return `${text.slice(0, end)}, ${item}${text.slice(end)}`
  const line = lineStart(text, start)
  const dash = /^\s*-\s*/.exec(text.slice(line, start))?.[0] ?? '  - '
  const newline = text.indexOf('\n', Math.max(start, end - 1))
  const at = newline < 0 ? text.length : newline + 1
  return `${withEnd(text.slice(0, at))}${dash}${item}\n${text.slice(at)}`
}

type Route = { readonly operation?: unknown }

/** Adds routes for operations of the file's families that no route leads to, as in the shipped configuration. */
function addRoutes(file: File, shipped: File, added: string[]): File {
  const { root, text } = file
  const list = entryOf(root, 'routes')?.value
  const last = list?.kind === 'list' ? list.elements.at(-1) : undefined
  if (list?.kind !== 'list' || !last) return file
  const there = new Set(list.elements.map(operationOf))
  const needed = new Set(operationsOf(root).filter(operation => !there.has(operation)))
  const routes = entryOf(shipped.root, 'routes')?.value
  const fresh = routes?.kind === 'list' ? routes.elements.filter(route => needed.has(operationOf(route))) : []
  const isFlow = text[list.span.start] === '['
  const texts = fresh.map(({ span }) => takingJson(shipped.text.slice(span.start, span.end)))
  added.push(...fresh.map(route => `routes of ${operationOf(route)}`))
  return texts.length === 0
    ? file
    : open(texts.reduceRight((rest, route) => insertAfter(rest, last, route, isFlow), text))
}

function operationOf(route: Tree): string {
  return String((toValue(route) as Route | null)?.operation)
}

/**
 * The operations that need routes for the families of a file, including those of jobs if a vendor answers with them.
 */
function operationsOf(root: MapTree): readonly string[] {
  const families = Object.values(valueOf(root, 'families')) as readonly { readonly forward?: object }[]
  const jobs = families.some(family => /"job":\{/.test(JSON.stringify(family))) ? [jobsGet.name] : []
  return [...families.flatMap(family => Object.keys(family.forward ?? {})), ...jobs]
}

/** The same, with edits as JSON in addition to forms. */
export function takingJson(routes: string): string {
  const lines = routes.split('\n').map(line => {
    return edits.some(name => line.includes(`operation: ${name},`))
      ? line.replace(/body: form(?=[,\s}])/, 'body: form-or-json')
      : line
  })
  return lines.join('\n')
}
