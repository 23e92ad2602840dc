import { type ConfigHow, type ConfigTaken, compareConfigs, configHistoryJson } from '../../index.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { withStorage } from '../with-storage.ts'
import { formatTable } from '../table.ts'
import { safeLine } from '../safe-text.ts'

type Options = { readonly config: string; readonly format: string }

/** The origin of a configuration, for people. */
const hows: { readonly [how in ConfigHow]: string } = {
  start: 'a start',
  file: 'the saved file',
  signal: 'SIGHUP',
  command: 'tollgate reload',
  secret: 'a secret file',
  console: 'a reload in the console',
  edit: 'an edit in the console',
  program: 'a program',
}

/** Lists configurations that took effect, newest first. */
export async function listConfigHistory(options: Options & { readonly limit: number }): Promise<void> {
  await withStorage(options.config, async ({ configs }) => {
    const rows = await configs.list({ limit: options.limit })
    if (options.format === 'json') {
      for (const row of rows) print(JSON.stringify(configHistoryJson(row)))
      return
    }
    if (rows.length === 0) return say('No configuration has taken effect on this storage yet.')
    const cells = rows.map(row => [
      String(row.id),
      new Date(row.at).toISOString(),
      row.revision,
      row.by === null ? hows[row.how] : `${row.by}, ${hows[row.how]}`,
      summaryOf(row),
    ])
    print(
      formatTable(
        ['ID', 'TOOK EFFECT', 'REVISION', 'BY', 'CHANGES'],
        cells.map(row => row.map(safeLine)),
      ),
    )
  })
}

function summaryOf({ id, changes: [first], changeCount }: ConfigTaken): string {
  if (first === undefined) return id === 1 ? 'first stored version' : 'no effect: only the text changed'
  return changeCount === 1 ? first : `${first}, and ${changeCount - 1} more`
}

/** Prints the changes of a configuration since the previous one, or since another. */
export async function diffConfigHistory(id: number, other: number | undefined, options: Options): Promise<void> {
  await withStorage(options.config, async ({ configs }) => {
    const find = async (wanted: number) => {
      const found = await configs.find(wanted)
      if (found) return found
      throw new Exit(exitCodes.usage, `there is no configuration ${wanted} (tollgate config history lists them)`)
    }
    // The later one is the result of the comparison.
    const later = await find(other === undefined ? id : Math.max(id, other))
    const before = other === undefined ? await configs.find(id - 1) : await find(Math.min(id, other))
    const { changes, files } = await compareConfigs(before, later)
    if (options.format === 'json') {
      const against = before?.id ?? null
      const counted = { changes, change_count: changes.length }
      const shown = files.map(({ file, hunks, kept }) => ({ file, hunks, kept }))
      return print(JSON.stringify({ ...configHistoryJson(later), against, ...counted, files: shown }))
    }
    for (const change of changes) print(safeLine(change))
    for (const [i, { file, kept, patch }] of files.entries()) {
      const name = safeLine(file)
      if (i > 0 || changes.length > 0) print('')
      if (!kept) {
        print(`${name}: too long to store`)
        continue
      }
      print(`--- ${name}${before ? ` of ${before.id}` : ''}\n+++ ${name} of ${later.id}`)
      // Without the file's own headers, and without the end of the last line.
      for (const line of patch.split('\n').slice(2, -1)) print(safeLine(line))
    }
    if (changes.length + files.length === 0) say('No differences.')
  })
}
