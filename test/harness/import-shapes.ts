import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import { importConfig } from '../../src/index.ts'

const root = resolve(import.meta.dirname, '../..')
const folder = join(root, 'test/fixtures/import/litellm')
export const tablePath: string = join(root, 'test/fixtures/import/prices.json')
export const migrationPage: string = join(root, 'docs/migration.md')

/** A reproduction of a public configuration's structure, and its import. */
export type Shape = {
  /** The repository of the original. */
  readonly source: string
  readonly file: string
  readonly text: string
  readonly value: unknown
  readonly entries: number
  /** Number of lines that have a price, or run locally without a charge. */
  readonly pricedOrLocal: number
  readonly imported: Extract<Awaited<ReturnType<typeof importConfig>>, { readonly ok: true }>
}

type Entry = {
  readonly litellm_params: { readonly [key: string]: unknown }
  readonly model_info?: { readonly [key: string]: unknown }
}

/** Imports every shape with all options that an operator could give. */
export async function importShapes(): Promise<readonly Shape[]> {
  const table = JSON.parse(await readFile(tablePath, 'utf8')) as { [name: string]: { [field: string]: unknown } }
  const files = (await readdir(folder)).toSorted()
  return Promise.all(files.map(name => importShape(join(folder, name), table)))
}

async function importShape(file: string, table: { [name: string]: { [field: string]: unknown } }): Promise<Shape> {
  const text = await readFile(file, 'utf8')
  const value = parse(text) as { model_list: readonly Entry[] }
  const options = { prices: tablePath, localFree: true, expand: true, secretsAt: './secrets' }
  const imported = await importConfig(file, 'litellm', options)
  if (!imported.ok) throw new Error(`${file}: ${JSON.stringify(imported.findings)}`)
  const source = /^# The shape of ([\w.-]+\/[\w.-]+):/.exec(text)?.[1] ?? ''
  const priced = value.model_list.filter(entry => isPricedOrLocal(entry, table))
  return { source, file, text, value, entries: value.model_list.length, pricedOrLocal: priced.length, imported }
}

/** Determined without the importer: from the line itself, and from the names in the table. */
function isPricedOrLocal(entry: Entry, table: { [name: string]: { [field: string]: unknown } }): boolean {
  const { litellm_params: params, model_info: info = {} } = entry
  const { model, api_base: base = '' } = params as { readonly model: string; readonly api_base?: string }
  if (info['mode'] === 'moderation') return true
  if (Object.keys({ ...params, ...info }).some(key => key.includes('_cost_per_'))) return true
  if (model.endsWith(':free') || model.startsWith('ollama')) return true
  if (/\/\/(?:127\.|10\.|host\.docker\.internal|[^/]*\.local[:/])/.test(base)) return true
  if (model.endsWith('/*')) return Object.keys(table).some(name => name.startsWith(model.slice(0, -1)))
  const row =
    table[String(info['base_model'])] ?? table[model] ?? (base === '' ? table[model.replace(/^\w+\//, '')] : undefined)
  return row !== undefined && Object.entries(row).some(([key, one]) => key.includes('cost_per') && Number(one) > 0)
}

/** The table of docs/migration.md. */
export function writeShapes(shapes: readonly Shape[]): string {
  const rows = shapes.map(({ source, entries, pricedOrLocal, imported }) => {
    const { active, off } = imported.entries
    const why = off.map(one => `${one.name}: ${one.why}`).join('; ')
    return [source, entries, pricedOrLocal, active, why, imported.notes.length]
  })
  const sum = (at: number): number => rows.reduce((all, row) => all + Number(row[at]), 0)
  const all = [...rows, ['all', sum(1), sum(2), sum(3), `${sum(1) - sum(3)} inactive`, sum(5)]]
  const columns = ['source', 'entries', 'priced or local', 'active', 'inactive, with the reason', 'notes']
  const head = [`| ${columns.join(' | ')} |`, '|---|---|---|---|---|---|']
  const cell = (one: unknown): string => String(one).replaceAll('|', String.raw`\|`).replaceAll('*', String.raw`\*`)
  return [...head, ...all.map(row => `| ${row.map(cell).join(' | ')} |`)].join('\n')
}

export const marks = ['<!-- shapes: written by test/harness/import-shapes.ts -->\n', '\n<!-- /shapes -->'] as const

if (import.meta.main) {
  const page = await readFile(migrationPage, 'utf8')
  const [before = '', rest = ''] = page.split(marks[0])
  const after = rest.slice(rest.indexOf(marks[1]))
  await writeFile(migrationPage, before + marks[0] + writeShapes(await importShapes()) + after)
}
