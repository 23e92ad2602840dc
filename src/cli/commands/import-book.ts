import { importBook, type ImportedBook, isPostgres } from '../../index.ts'
import { importPeople, type Made, recordOfPeople, reportPeople } from '../import-people.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { needFileOrFolder, needSources } from '../need-file.ts'
import { withProgress } from '../progress.ts'
import {
  type ImportFlags,
  needUsable,
  placeOfSecrets,
  reportOf,
  reportImported,
  writeImported,
} from '../import-files.ts'

const wanted =
  'use --out for gateway.yaml and --secrets for the folder of vendor keys; --dry-run reports what would happen'

/** Imports a database of new-api or one-api: configuration and secrets into files, users and keys into the storage. */
export async function importFromBook(source: string, from: 'new-api' | 'one-api', options: ImportFlags): Promise<void> {
  const { out, secrets, dryRun } = options
  if (!dryRun && out === undefined) throw new Exit(exitCodes.usage, wanted)
  await needFileOrFolder(source)
  await needSources(options.prices)
  const secretsAt = placeOfSecrets(secrets ?? 'secrets', out)
  const imported = await withProgress(`reading ${nameOf(source)}`, () =>
    importBook(source, from, { ...options, secretsAt, isEndless: options.withoutEnd }),
  )
  // A JSON export may have no keys, and has no users.
  if (
    !dryRun &&
    !options.usersOnly &&
    secrets === undefined &&
    (imported.secrets.length > 0 || imported.adoption.users.length > 0)
  )
    throw new Exit(exitCodes.usage, wanted)
  if (options.usersOnly && imported.adoption.users.length === 0)
    throw new Exit(exitCodes.failure, `${nameOf(source)} has no users: use the database with --users-only`)
  const made = dryRun || out === undefined ? undefined : await writeBook(imported, from, { ...options, out })
  if (options.format === 'json') print(JSON.stringify(recordOf(imported, made, options)))
  else reportBook(source, imported, made, options)
  needUsable(nameOf(source), imported, options)
}

async function writeBook(
  imported: ImportedBook,
  from: string,
  options: ImportFlags & { readonly out: string },
): Promise<Made | undefined> {
  if (!options.usersOnly) await writeImported(imported, options)
  if (imported.adoption.users.length === 0) return undefined
  return importPeople(imported.adoption, from, options.out)
}

function reportBook(source: string, imported: ImportedBook, made: Made | undefined, options: ImportFlags): void {
  reportImported(nameOf(source), imported, options)
  const { adoption, sums } = imported
  if (adoption.users.length === 0) return
  reportPeople(adoption, made)
  say(
    `balances: ${sums.there} USD in the source, ${sums.here} USD imported${sums.there === sums.here ? '' : ': they differ'}`,
  )
}

function recordOf(imported: ImportedBook, made: Made | undefined, options: ImportFlags) {
  const { adoption, sums } = imported
  return { ...reportOf(imported, options), ...recordOfPeople(adoption, made), balances: sums }
}

/** The source in messages: the database address without its password. */
function nameOf(source: string): string {
  return isPostgres(source)
    ? source
        .replace(/\/\/[^/?#]*@/, '//')
        .split('?', 1)
        .join('')
    : source
}
