import { importConfig } from '../../index.ts'
import { Exit, exitCodes, print } from '../exit.ts'
import {
  type ImportFlags,
  needUsable,
  placeOfSecrets,
  reportOf,
  reportImported,
  writeImported,
} from '../import-files.ts'
import { importPeople, recordOfPeople, reportPeople } from '../import-people.ts'
import { needSources } from '../need-file.ts'
import { withProgress } from '../progress.ts'
import { showFindings } from '../show-findings.ts'

const gateways = ['litellm', 'new-api', 'one-api'] as const
type Gateway = (typeof gateways)[number]

/** Converts another gateway's configuration, and imports its users and keys if it has a database. */
export async function importFrom(
  first: string,
  second: string | undefined,
  options: ImportFlags & { readonly from: Gateway },
): Promise<void> {
  const named = gateways.find(name => name === first)
  if (second !== undefined && !named)
    throw new Exit(exitCodes.usage, `${first}: unknown gateway; expected one of ${gateways.join(', ')}`)
  const [from, source] = named && second !== undefined ? [named, second] : [options.from, first]
  if (from !== 'litellm' && options.database !== undefined)
    throw new Exit(exitCodes.usage, `--database is only for litellm; for ${from} the source is the database`)
  if (from !== 'litellm') return (await import('./import-book.ts')).importFromBook(source, from, options)
  const { secrets, out, database, dryRun } = options
  if (database !== undefined && !dryRun && out === undefined)
    throw new Exit(
      exitCodes.usage,
      'use --out for a gateway.yaml whose storage receives the keys; --dry-run reports what would happen',
    )
  await needSources(source, options.prices, database)
  const secretsAt = secrets === undefined ? undefined : placeOfSecrets(secrets, out)
  const imported = await withProgress(`reading ${source}`, () => importConfig(source, from, { ...options, secretsAt }))
  if (!imported.ok) throw new Exit(exitCodes.configInvalid, await showFindings(imported.findings))
  const { adoption } = imported
  if (!dryRun && !options.usersOnly) await writeImported(imported, options)
  const made = adoption && out !== undefined && !dryRun ? await importPeople(adoption, from, out) : undefined
  if (options.format === 'json')
    print(JSON.stringify({ ...reportOf(imported, options), ...(adoption && recordOfPeople(adoption, made)) }))
  else {
    if (out === undefined && !dryRun) process.stdout.write(imported.text)
    reportImported(source, imported, options)
    if (adoption) reportPeople(adoption, made)
  }
  needUsable(source, imported, options)
}
