import { createInterface } from 'node:readline/promises'
import type { Storage } from '../../index.ts'
import { countOf } from '../count-of.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { actor, withStorage } from '../with-storage.ts'
import { formatTable } from '../table.ts'

type Traces = NonNullable<Awaited<ReturnType<Storage['users']['traces']>>>

type Options = {
  readonly dryRun: boolean
  readonly yes: boolean
  readonly endUser: boolean
  readonly config: string
  readonly format: string
}

/** Erases a user after the name was typed or with --yes; with --dry-run counts the rows that would be erased. */
export async function eraseUser(name: string, { dryRun, yes, config, format, endUser }: Options): Promise<void> {
  if (endUser) return eraseEndUser(name, { dryRun, yes, config, format })
  await withStorage(config, async storage => {
    const traces = await storage.users.traces(name)
    if (dryRun) {
      if (!traces) throw unknownUser(name)
      if (name === 'local')
        throw new Exit(
          exitCodes.failure,
          "'local' is not a person: it owns the keys without another owner. Revoke those keys instead (tollgate keys revoke)",
        )
      if (format === 'json') return print(JSON.stringify({ name, ...traces }))
      print(formatRows(traces.tables))
      say(describeKept(traces.kept))
      if (traces.running > 0)
        say(`${countOf(traces.running, 'request or job')} of theirs still running: erasing is refused until they end.`)
      return
    }
    // An erased user may have rows left in the log: the erasing process may have been killed.
    if (traces && !yes) await needConsent(name)
    const erasure = await storage.users.erase(name, actor)
    if (!erasure) throw unknownUser(name)
    if (format === 'json') return print(JSON.stringify(erasure))
    print(formatRows(erasure.tables))
    say(`The user is now called ${erasure.pseudonym}.`)
    if (erasure.kept) say(describeKept(erasure.kept))
  })
}

/** Erases an end user: charges and log rows have only an id, and a single row has the name. */
async function eraseEndUser(name: string, { dryRun, yes, config, format }: Omit<Options, 'endUser'>): Promise<void> {
  await withStorage(config, async storage => {
    if (dryRun) {
      const found = await storage.journal.list({ endUser: name, limit: 1 })
      if (format === 'json') return print(JSON.stringify({ end_user: name, logged: found.length > 0 }))
      return print(
        found.length > 0 ? 'The log has requests for this end user.' : 'The log has no request for this end user.',
      )
    }
    if (!yes) await needConsent(name)
    if (!(await storage.labels.erase('end_user', name, actor)))
      throw new Exit(exitCodes.failure, `there is no end user '${name}' (tollgate usage --by end_user)`)
    if (format === 'json') return print(JSON.stringify({ end_user: name, erased: true }))
    print('The name is erased. Charges and log rows keep an id without a name.')
  })
}

function describeKept({ charges, topups, openings }: Traces['kept']): string {
  const entries = [countOf(charges, 'charge'), countOf(topups, 'payment')]
  if (openings > 0) entries.push(`${countOf(openings, 'sum')} spent elsewhere before`)
  return `The name remains in ledger entries that are covered by hashes: ${entries.join(', ')}.`
}

function formatRows(tables: Traces['tables']): string {
  return formatTable(
    ['TABLE', 'ROWS', 'ARE'],
    tables.map(({ table, rows, how }) => [table, String(rows), how]),
  )
}

/** @throws Exit 2 when the name is not typed */
async function needConsent(name: string): Promise<void> {
  const text = `This permanently erases ${name} (--dry-run counts the rows).`
  if (!process.stdin.isTTY) throw new Exit(exitCodes.usage, `${text} Use --yes to confirm.`)
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await lines.question(`${text} Type the name to continue: `)
    if (answer.trim() !== name) throw new Exit(exitCodes.usage, 'nothing was erased')
  } finally {
    lines.close()
  }
}

const unknownUser = (name: string): Exit =>
  new Exit(exitCodes.failure, `there is no user '${name}' (tollgate users list)`)
