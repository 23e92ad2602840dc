import { resolve } from 'node:path'
import type { Json } from '../../domain/index.ts'
import { PartFiles } from '../compose/part-files.ts'
import type { Environment } from '../environment.ts'
import { type Filled, readFilled } from '../read-filled.ts'
import { Report } from '../report.ts'
import { Source } from '../source.ts'
import { entryOf, type MapTree, toValue, type Tree } from '../tree.ts'
import { type ConfigTexts, readTexts } from './apply-edits.ts'

/** An entry as written, and its value with all defaults. */
export type EditableEntry = {
  readonly name: string
  readonly file: string
  readonly line: number
  /** The members of the entry itself as written; null for a model from a list. */
  readonly own: Json
  readonly whole: Json
}

/** The editable entries, and the allowed values. */
export type Editable = {
  readonly models: readonly EditableEntry[]
  readonly groups: readonly EditableEntry[]
  /** Families, and the prices that their models use. */
  readonly families: readonly { readonly name: string; readonly prices: readonly string[] }[]
  readonly upstreams: readonly string[]
  readonly route_sets: readonly string[]
}

const none: Editable = { models: [], groups: [], families: [], upstreams: [], route_sets: [] }

/** Reads the entries as written, with unresolved references; empty if a text is not YAML. */
export async function listEditable({ file, text, parts }: ConfigTexts, env: Environment): Promise<Editable> {
  const source = new Source(file, text.replace(/^\uFEFF/, ''))
  const read = await readFilled(source, env, new Report(source), { parts: new PartFiles(parts) })
  return read.written ? entriesIn(read) : none
}

/** The entries that can be edited, and the texts with those of the files that they name. @throws EditError */
export async function readEditable(
  texts: ConfigTexts,
  env: Environment,
): Promise<Editable & { readonly texts: ConfigTexts }> {
  const read = await readTexts(texts, env)
  return { ...entriesIn(read), texts: { ...texts, parts: read.parts } }
}

function entriesIn({ source, written, sourceFiles }: Filled): Editable {
  const owns = sourceFiles.map(({ own, start }) => ({ own, path: resolve(source.sourceFileOf(start).file) }))
  const list = (section: 'models' | 'groups'): readonly EditableEntry[] =>
    entriesOf(written, section).map(({ key: name, keySpan, value }) => {
      const own = owns.map(one => entryOf(entryOf(one.own, section)?.value, name)).find(one => one !== undefined)
      const { file, line } = source.locate(keySpan.start)
      return { name, file, line, own: own ? jsonOf(own.value) : null, whole: jsonOf(value) }
    })
  const models = list('models')
  const names = (section: string) => entriesOf(written, section).map(({ key }) => key)
  return {
    models,
    groups: list('groups'),
    families: names('families').map(name => ({ name, prices: pricesOf(name, models) })),
    upstreams: names('upstreams'),
    route_sets: names('route_sets'),
  }
}

function entriesOf(root: Tree, section: string): MapTree['entries'] {
  const found = entryOf(root, section)?.value
  return found?.kind === 'map' ? found.entries : []
}

function jsonOf(tree: Tree): Json {
  return toValue(tree) as Json
}

/** The prices that models of a family use. */
function pricesOf(family: string, models: readonly EditableEntry[]): readonly string[] {
  const found = models.flatMap(({ whole }) => {
    const model = whole as { readonly family?: Json; readonly prices?: Json } | null
    return model?.family === family && typeof model.prices === 'object' ? Object.keys(model.prices ?? {}) : []
  })
  return [...new Set(found)].filter(unit => unit !== 'from')
}
