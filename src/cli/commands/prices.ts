import { readFile, realpath, rename, stat, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import {
  comparePrices,
  importPrices,
  type ImportedPrices,
  listPricesInUse,
  ownershipOf,
  readDate,
  type PriceDifference,
  type PriceImport,
} from '../../index.ts'
import { countOf } from '../count-of.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { needFile, needFolderOf } from '../need-file.ts'
import { showFindings } from '../show-findings.ts'
import { formatTable } from '../table.ts'
import { safeLine } from '../safe-text.ts'

/** The maximum size of a table in bytes: real ones have some megabytes. */
const bytesMax = 64 * 1024 ** 2
/** The maximum number of names that are listed for each reason. */
const namesMax = 5

type ImportFlags = {
  readonly from: PriceImport['from']
  readonly only: readonly string[]
  readonly provider: readonly string[]
  readonly allowUndercharge: boolean
  readonly source?: string
  readonly asOf?: string
  readonly out?: string
  readonly force: boolean
  readonly format: string
}

/** Creates a price file from another table, and reports the rows that are left out. */
export async function importTable(file: string, options: ImportFlags): Promise<void> {
  const { from, only, provider: providers, source, out, format, allowUndercharge } = options
  const asOf = options.asOf ?? new Date().toISOString().slice(0, 10)
  if (readDate(asOf) === undefined)
    throw new Exit(exitCodes.usage, `--as-of ${asOf}: expected a date such as 2026-11-23`)
  const text = await readTable(file)
  const name = source ?? (file === '-' ? from : `${from} ${basename(file)}`)
  const imported = await importPrices(text, { from, source: name, asOf, only, providers, allowUndercharge }).catch(
    (error: unknown) => {
      throw new Exit(exitCodes.failure, `${file}: ${messageOf(error)}`)
    },
  )
  if (imported.rows.length === 0) {
    for (const line of describeLeft(imported)) say(line)
    throw new Exit(exitCodes.failure, `${file}: ${describeCount(imported)}; nothing was written`)
  }
  if (out !== undefined) await writeTable(out, imported.text, options.force)
  if (format === 'json') print(JSON.stringify(recordOf(imported, out)))
  else {
    if (out === undefined) process.stdout.write(imported.text)
    for (const line of describeLeft(imported)) say(line)
    say(`${file}: ${describeCount(imported)}${out === undefined ? '' : `; written to ${out}`}`)
  }
}

/** @throws Exit 1 if it cannot be read */
async function readTable(file: string): Promise<string> {
  if (/^https?:/.test(file))
    throw new Exit(
      exitCodes.usage,
      `${file}: URLs are not fetched; use curl -sSf ${file} | tollgate prices import - --from …`,
    )
  const text = await (file === '-' ? readStandardInput() : readText(file))
  if (text.length > bytesMax)
    throw new Exit(exitCodes.failure, `${file} is larger than 64 MiB, the limit for price lists`)
  return text
}

/** Reads up to the maximum and a little more: standard input may be endless. */
async function readStandardInput(): Promise<string> {
  let text = ''
  for await (const piece of process.stdin.setEncoding('utf8')) if ((text += piece as string).length > bytesMax) break
  return text
}

async function readText(file: string): Promise<string> {
  await needFile(file, exitCodes.failure)
  const { size } = await stat(file)
  return size > bytesMax ? ' '.repeat(bytesMax + 1) : readFile(file, 'utf8')
}

/**
 * Replaces the file in one step: a gateway that reads it gets the old table or the new one, never a part. @throws Exit
 * 1 for a table that was written by hand
 */
async function writeTable(file: string, text: string, force: boolean): Promise<void> {
  const there = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  if (there === undefined) {
    await needFolderOf(file)
    return writeFile(file, text, { flag: 'wx' })
  }
  const whose = await ownershipOf(there)
  if (whose !== 'own' && !force)
    throw new Exit(
      exitCodes.failure,
      whose === 'changed'
        ? `${file} was edited after its import: move the edits to a table listed before it, then use --force`
        : `${file} was not written by an import; use --force to overwrite it`,
    )
  const path = await realpath(file)
  const temporary = `${path}.${process.pid}.tmp`
  const { mode } = await stat(path)
  await writeFile(temporary, text, { mode })
  await rename(temporary, path)
}

function describeCount({ rows, left, unasked }: ImportedPrices): string {
  return `${countOf(rows.length, 'row')}, ${left.length} left out, ${unasked} not selected`
}

/** One line for each reason, the most frequent first. */
function describeLeft({ left }: ImportedPrices): readonly string[] {
  const byReason = [...Map.groupBy(left, one => one.why)].toSorted(([, a], [, b]) => b.length - a.length)
  return byReason.map(([why, all]) => {
    const names = all.slice(0, namesMax).map(one => safeLine(one.id))
    const more = all.length > names.length ? ` and ${all.length - names.length} more` : ''
    return `left out ${all.length}: ${safeLine(why)}: ${names.join(', ')}${more}`
  })
}

function recordOf({ text, rows, left, unasked }: ImportedPrices, out: string | undefined) {
  return { rows: rows.length, left, unasked, written: out ?? null, ...(out === undefined && { text }) }
}

type DiffFlags = {
  readonly config: string
  readonly only: readonly string[]
  readonly fromTables: boolean
  readonly format: string
}

/** Prints the changes in a newer table. Exits like `diff`: 0 for no changes, 1 for changes, 2 or 3 for errors. */
export async function diffTables(first: string, second: string | undefined, options: DiffFlags): Promise<void> {
  const [before, after] = second === undefined ? [undefined, first] : [first, second]
  const { config, only, fromTables } = options
  for (const file of before === undefined ? [after] : [before, after]) await needFile(file, exitCodes.usage)
  const compared = await comparePrices({ before, after, config, only, fromTables }).catch((error: unknown) => {
    throw new Exit(exitCodes.usage, messageOf(error))
  })
  if (!compared.ok) throw new Exit(exitCodes.configInvalid, await showFindings(compared.findings))
  const { differences, notes, currency } = compared
  if (options.format === 'json') for (const one of differences) print(JSON.stringify({ ...one, currency }))
  else if (differences.length > 0) print(formatTable(headings, differences.map(rowOf)))
  for (const note of notes) say(`note: ${safeLine(note)}`)
  const summary = `${countOf(differences.length, 'difference')} in ${countOf(compared.compared, 'model')}`
  if (differences.length > 0) throw new Exit(exitCodes.failure, summary)
  say(summary)
}

const headings = ['MODEL', 'UNIT', 'BEFORE', 'AFTER', '%', 'FROM', 'NOW']

function rowOf({ model, unit, before, after, percent, where }: PriceDifference): readonly string[] {
  const change = percent === null ? '' : `${percent > 0 ? '+' : ''}${percent.toFixed(1)}`
  return [model, unit, before ?? 'none', after ?? 'none', change, where.before ?? '', where.after ?? ''].map(safeLine)
}

/** Prints the prices of all models of a configuration, with the place of each price. */
export async function listTable({
  config,
  format,
}: {
  readonly config: string
  readonly format: string
}): Promise<void> {
  const listed = await listPricesInUse(config)
  if (!listed.ok) throw new Exit(exitCodes.configInvalid, await showFindings(listed.findings))
  const { prices, currency } = listed
  if (format === 'json') for (const { asked: _asked, ...one } of prices) print(JSON.stringify({ ...one, currency }))
  else
    print(
      formatTable(
        ['MODEL', 'UNIT', 'PRICE', 'CURRENCY', 'PER', 'FROM', 'ROW', 'AS OF'],
        prices.map(one =>
          [
            one.model,
            one.unit,
            one.price,
            currency,
            String(one.per ?? ''),
            `${one.file}:${one.line}`,
            one.row ?? '',
            one.asOf ?? '',
          ].map(safeLine),
        ),
      ),
    )
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
