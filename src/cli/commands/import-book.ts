import { importBook, type ImportedBook } from '../../index.ts'
import { countOf } from '../count-of.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { withStorage } from '../open-books.ts'
import { withProgress } from '../progress.ts'
import { type ImportFlags, needActive, placeOfSecrets, reportOf, tellImported, writeImported } from '../import-files.ts'

/** Users that are written in one step, with their keys; each step is repeated without harm. */
const together = 200

/** Takes over the database of a new-api or a one-api: configuration and secrets into files, people and keys into our storage. */
export async function importFromBook(source: string, from: 'new-api' | 'one-api', options: ImportFlags): Promise<void> {
  const { out, secrets, dryRun } = options
  if (!dryRun && (out === undefined || secrets === undefined))
    throw new Exit(
      exitCodes.usage,
      'name a gateway.yaml with --out and a folder for the keys of vendors with --secrets; --dry-run tells what there would be',
    )
  const secretsAt = placeOfSecrets(secrets ?? 'secrets', out)
  const imported = await withProgress(`reading ${nameOf(source)}`, () =>
    importBook(source, from, { ...options, secretsAt, isEndless: options.withoutEnd }),
  )
  const made = dryRun || out === undefined ? undefined : await writeBook(imported, from, { ...options, out })
  if (options.format === 'json') print(JSON.stringify(recordOf(imported, made, options)))
  else tellBook(source, imported, made, options)
  needActive(nameOf(source), imported, options)
}

type Made = { readonly users: number; readonly keys: number; readonly others: readonly string[] }

async function writeBook(
  imported: ImportedBook,
  from: string,
  options: ImportFlags & { readonly out: string },
): Promise<Made> {
  if (!options.usersOnly) await writeImported(imported, options)
  const { users } = imported.adoption
  const made = { users: 0, keys: 0, others: [] as string[] }
  await withStorage(options.out, async storage => {
    for (let at = 0; at < users.length; at += together) {
      const found = await storage.keys.adopt({ users: users.slice(at, at + together) }, `import ${from}`)
      made.users += found.users
      made.keys += found.keys
      made.others.push(...found.others)
    }
  })
  return made
}

function tellBook(source: string, imported: ImportedBook, made: Made | undefined, options: ImportFlags): void {
  tellImported(nameOf(source), imported, options)
  const { adoption, sums } = imported
  const is = made ? `taken over ${made.users} and ${made.keys} of` : 'to be taken over:'
  say(
    `${is} ${countOf(adoption.users.length, 'user')}, ${countOf(keysOf(imported), 'key')}${made ? '; the rest were here' : ''}`,
  )
  if (made && made.others.length > 0)
    say(`left, with their keys and balances, as somebody else has the name here: ${made.others.join(', ')}`)
  say(`balances: ${sums.there} USD there, ${sums.here} USD here${sums.there === sums.here ? '' : ': they differ'}`)
}

function recordOf(imported: ImportedBook, made: Made | undefined, options: ImportFlags) {
  const { adoption, sums } = imported
  return {
    ...reportOf(imported, options),
    users: { all: adoption.users.length, made: made?.users ?? 0, others: made?.others ?? [] },
    keys: { all: keysOf(imported), made: made?.keys ?? 0 },
    balances: sums,
  }
}

function keysOf({ adoption }: ImportedBook): number {
  return adoption.users.reduce((sum, user) => sum + user.keys.length, 0)
}

/** A source for people: the address of a database without its password. */
function nameOf(source: string): string {
  return /^postgres(?:ql)?:/.test(source)
    ? source
        .replace(/\/\/[^/?#]*@/, '//')
        .split('?', 1)
        .join('')
    : source
}
