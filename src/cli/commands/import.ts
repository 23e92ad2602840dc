import { importConfig } from '../../index.ts'
import { Exit, exitCodes, print } from '../exit.ts'
import { type ImportFlags, needActive, placeOfSecrets, reportOf, tellImported, writeImported } from '../import-files.ts'
import { withProgress } from '../progress.ts'
import { showFindings } from '../show-findings.ts'

const gateways = ['litellm', 'new-api', 'one-api'] as const
type Gateway = (typeof gateways)[number]

/** Makes a configuration of another gateway's, and takes its users and keys over where it has a database. */
export async function importFrom(
  first: string,
  second: string | undefined,
  options: ImportFlags & { readonly from: Gateway },
): Promise<void> {
  const named = gateways.find(name => name === first)
  if (second !== undefined && !named) throw new Exit(exitCodes.usage, `${first}: there are ${gateways.join(', ')}`)
  const [from, source] = named && second !== undefined ? [named, second] : [options.from, first]
  if (from !== 'litellm') return (await import('./import-book.ts')).importFromBook(source, from, options)
  const { secrets, out } = options
  const secretsAt = secrets === undefined ? undefined : placeOfSecrets(secrets, out)
  const imported = await withProgress(`reading ${source}`, () => importConfig(source, from, { ...options, secretsAt }))
  if (!imported.ok) throw new Exit(exitCodes.configInvalid, await showFindings(imported.findings))
  if (!options.dryRun) await writeImported(imported, options)
  if (options.format === 'json') print(JSON.stringify(reportOf(imported, options)))
  else {
    if (out === undefined && !options.dryRun) process.stdout.write(imported.text)
    tellImported(source, imported, options)
  }
  needActive(source, imported, options)
}
