import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { readYaml } from '../load.ts'
import type { Report } from '../report.ts'
import type { Source } from '../source.ts'
import { entryOf, type MapTree, type ScalarTree, shiftSpan, shiftTree, type Span, type Tree } from '../tree.ts'
import { mergeSourceFiles } from './merge.ts'
import { isPattern, type PartFiles } from './part-files.ts'

const filesMax = 500

/** A settings file: its offset in the joined text, and its tree with places in its own text. */
export type SettingsFile = { readonly start: number; readonly text: string; readonly own: Tree }

/** A configuration with its included files. */
export type Included = {
  readonly root: Tree
  readonly sourceFiles: readonly SettingsFile[]
  /** Every file exists, and is valid YAML. */
  readonly whole: boolean
  /** Files that could not be parsed, so that no part of them may be shown. */
  readonly hidden: readonly Span[]
}

type Work = {
  readonly source: Source
  readonly parts: PartFiles
  readonly report: Report
  readonly sourceFiles: SettingsFile[]
  readonly trees: MapTree[]
  readonly seen: Set<string>
  readonly hidden: Span[]
  broken: boolean
}

/** Reads the files in `include`, and those that these include, and merges them as if they were one. */
export async function includeFiles(root: Tree, source: Source, parts: PartFiles, report: Report): Promise<Included> {
  const main = resolve(source.file)
  const sourceFile = { start: 0, text: source.ownText, own: root }
  const work: Work = {
    source,
    parts,
    report,
    sourceFiles: [sourceFile],
    trees: [],
    seen: new Set([main]),
    hidden: [],
    broken: false,
  }
  await follow(root, [main], work)
  const { trees, sourceFiles, hidden } = work
  const together = root.kind === 'map' && trees.length > 0 ? mergeSourceFiles(root, trees, work) : root
  return { root: together, sourceFiles, whole: !work.broken, hidden }
}

/** `above` are the including files, the nearest last. */
async function follow(tree: Tree, above: readonly string[], work: Work): Promise<void> {
  const list = entryOf(tree, 'include')?.value
  if (list?.kind !== 'list') return
  for (const element of list.elements) {
    const named = await findNamed(element, 'include', work)
    if (!named) work.broken = true
    for (const path of named?.paths ?? []) await take(path, named as Named, above, work)
  }
}

type Named = { readonly element: ScalarTree; readonly paths: readonly string[]; readonly isPattern: boolean }

/** The files of an element of a list, relative to the file of the list. Undefined if a finding was reported. */
export async function findNamed(
  element: Tree,
  key: string,
  { source, parts, report }: Pick<Work, 'source' | 'parts' | 'report'>,
): Promise<Named | undefined> {
  // The schema reports values that are not texts.
  if (element.kind !== 'scalar' || typeof element.value !== 'string' || element.unknown) return undefined
  const { value: name, span } = element
  const about = { path: [key], span }
  if (name.includes('$')) {
    const message = `file names in ${key} cannot contain references`
    report.add({ ...about, code: 'file_name_reference', message, remedy: 'write the path itself' })
    return undefined
  }
  const folder = dirname(resolve(source.sourceFileOf(span.start).file))
  if (!isPattern(name)) return { element, paths: [resolve(folder, name)], isPattern: false }
  const paths = await parts.find(name, folder)
  if (paths.length === 0) {
    const message = `no file matches '${name}'`
    report.add({
      ...about,
      severity: 'warning',
      code: 'file_pattern_empty',
      message,
      remedy: 'add a file, or remove the pattern',
    })
  }
  return { element, paths, isPattern: true }
}

/** The name of a file in findings: its path relative to the main file's folder, in the form in which that was given. */
export function nameFile(path: string, source: Source): string {
  if (isAbsolute(source.file)) return path
  return join(dirname(source.file), relative(dirname(resolve(source.file)), path))
}

async function take(path: string, { element, isPattern }: Named, above: readonly string[], work: Work): Promise<void> {
  const { source, parts, report, seen } = work
  const file = nameFile(path, source)
  const about = { path: ['include'], span: element.span }
  if (above.includes(path)) {
    // A pattern may match its own file.
    if (isPattern && above.at(-1) === path) return
    const circle = [...above.slice(above.indexOf(path)), path].map(one => nameFile(one, source)).join(' → ')
    work.broken = true
    report.add({
      ...about,
      code: 'include_circle',
      message: `files include each other: ${circle}`,
      remedy: 'remove one of them',
    })
    return
  }
  // Each file is read once, even if it is included several times.
  if (seen.has(path)) return
  seen.add(path)
  if (seen.size > filesMax) {
    work.broken = true
    report.add({
      ...about,
      code: 'include_many',
      message: `more than ${filesMax} files are included`,
      remedy: 'combine some of them',
    })
    return
  }
  const read = await parts.read(path)
  if ('reason' in read) {
    work.broken = true
    report.add({ ...about, ...unreadable(file, read.reason) })
    return
  }
  const start = source.add(file, read.text)
  const { root: own, diagnostics, hidden = [] } = readYaml(read.text)
  for (const one of diagnostics) report.add({ ...one, span: shiftSpan(one.span, start) })
  work.hidden.push(...hidden.map(span => shiftSpan(span, start)))
  if (own?.kind !== 'map') {
    work.broken = true
    work.hidden.push(...(own ? [{ start, end: start + read.text.length }] : valuesIn(read.text, start)))
    if (own) {
      const message = 'an included file must be a mapping with the same top-level keys as the main file'
      const remedy = 'write the sections that belong to it: models, upstreams …'
      report.add({ code: 'include_not_settings', path: [], span: { start, end: start + 1 }, message, remedy })
    }
    return
  }
  const tree = shiftTree(own, start) as MapTree
  work.sourceFiles.push({ start, text: read.text, own })
  work.trees.push(tree)
  await follow(tree, [...above, path], work)
}

export function unreadable(file: string, reason: string) {
  return {
    code: 'file_unreadable',
    message: `${file} cannot be read: ${reason}`,
    remedy: 'check that it exists and that the gateway may read it; paths are relative to the file that names them',
  }
}

/**
 * The parts of a text that is not YAML that may be values: the text after a name on its line, and lines without a name.
 */
function valuesIn(text: string, start: number): Span[] {
  const spans: Span[] = []
  let at = 0
  for (const line of text.split('\n')) {
    const name = /^\s*(?:- )?["']?[\w./-]{1,64}["']?:(?=\s)/.exec(line)
    spans.push({ start: start + at + (name?.[0].length ?? 0), end: start + at + line.length })
    at += line.length + 1
  }
  return spans
}
