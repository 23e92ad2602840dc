import type { PriceConditions, TableRow } from '../../domain/index.ts'
import type { Finding } from '../finding.ts'
import { readYaml } from '../load.ts'
import { Report } from '../report.ts'
import { reportSchemaErrors } from '../report-schema-errors.ts'
import { gatherSecrets } from '../secrets.ts'
import { Source } from '../source.ts'
import { type Entry, entryOf, type MapTree, toValue, type Tree } from '../tree.ts'
import { createValidator } from '../validator.ts'
import { tableSchema } from './table-schema.ts'

/** A row with its table and line. */
export type ReadRow = TableRow & {
  readonly place: { readonly file: string; readonly line: number }
  /** The source and date of the row, or of the table. */
  readonly source?: string
  readonly asOf?: string
}

/** A row with the entries for a model, its prices first. They have their places in the table. */
export type PlacedRow = ReadRow & { readonly cost: Entry; readonly rest: readonly Entry[] }

/** The result of reading a file of prices without a configuration. */
export type PriceTableFile =
  | { readonly ok: true; readonly currency: string; readonly rows: readonly ReadRow[] }
  | { readonly ok: false; readonly findings: readonly Finding[] }

/** Validates a table by its schema and reports errors. */
export function checkTable(table: Tree, source: Source, report: Report): void {
  reportSchemaErrors(createValidator(tableSchema)(toValue(table)), table, source, report)
}

/** The rows of a validated table. */
export function rowsOf(table: Tree, source: Source): readonly PlacedRow[] {
  const models = entryOf(table, 'models')?.value
  const about = { source: textOf(table, 'source'), asOf: textOf(table, 'as_of') }
  return models?.kind === 'map' ? models.entries.flatMap(entry => rowOf(entry, source, about)) : []
}

/** Reads a file of prices, with or without a configuration. Never throws for its content. */
export function readPriceTable(file: string, text: string): PriceTableFile {
  const source = new Source(file, text.replace(/^\uFEFF/, ''))
  const report = new Report(source)
  const { root, diagnostics } = readYaml(source.text)
  for (const one of diagnostics) report.add(one)
  if (root) {
    report.follow(root)
    checkTable(root, source, report)
  }
  if (!root || report.failed) return { ok: false, findings: report.findings(gatherSecrets(undefined, source.text, [])) }
  const rows = rowsOf(root, source).map(({ cost: _cost, rest: _rest, ...row }) => row)
  return { ok: true, currency: textOf(root, 'currency') ?? '', rows }
}

/** The form in a file: prices next to the condition. */
type Override = { readonly if: PriceConditions } & { readonly [label: string]: string }
/** The keys, in addition to the price, that a model takes from its row unless it has them itself. */
const takenOver = ['overrides', 'times', 'ends']

function rowOf(
  { key: id, keySpan, value }: Entry,
  source: Source,
  about: { readonly source: string | undefined; readonly asOf: string | undefined },
): readonly PlacedRow[] {
  const cost = entryOf(value, 'prices') ?? entryOf(value, 'price')
  if (!cost) return []
  const {
    prices = {},
    overrides,
    times,
    unmapped,
    mode,
    provider,
    ends,
  } = toValue(value) as Omit<Partial<TableRow>, 'overrides'> & { overrides?: readonly Override[] }
  const from = textOf(value, 'source') ?? about.source
  const asOf = textOf(value, 'as_of') ?? about.asOf
  return [
    {
      id,
      prices,
      ...(overrides !== undefined && {
        overrides: overrides.map(({ if: conditions, ...own }) => ({ if: conditions, prices: own })),
      }),
      ...(times !== undefined && { times }),
      // A row with prices and `price` costs its prices.
      ...(cost.key === 'price' && { free: true }),
      ...(mode !== undefined && { mode }),
      ...(provider !== undefined && { provider }),
      ...(unmapped !== undefined && { unmapped }),
      ...(ends !== undefined && { ends }),
      ...(from !== undefined && { source: from }),
      ...(asOf !== undefined && { asOf }),
      cost,
      rest: takenOver.flatMap(key => entryOf(value, key) ?? []),
      place: source.locate(keySpan.start),
    },
  ]
}

function textOf(tree: Tree | MapTree, key: string): string | undefined {
  const value = entryOf(tree, key)?.value
  return value?.kind === 'scalar' && typeof value.value === 'string' ? value.value : undefined
}
