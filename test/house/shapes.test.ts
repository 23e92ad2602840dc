import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

// One file lists the members of a type. Another list of them, in the spelling of code, JSON or the database, is a copy
// that is easily forgotten.

const root = resolve(import.meta.dirname, '../..')
const { stdout } = await promisify(execFile)('git', ['ls-files', '-z', 'src', 'plugins'], { cwd: root })
// Migrations are not rewritten: each describes the tables of its time.
const files = stdout.split('\0').filter(file => /\.tsx?$/.test(file) && !file.startsWith('src/storage/migrations/'))

type Thing = {
  readonly owner: string
  /** Names that only this type has, by spelling. */
  readonly names: readonly (readonly string[])[]
  /** This many names of one spelling together count as a list of its members. */
  readonly most: number
}

const words = (text: string): readonly string[] => text.trim().split(/\s+/)

const things: { readonly [thing: string]: Thing } = {
  key: {
    owner: 'src/domain/shapes/key.ts',
    names: [
      words('hint expiresAt oldUntil ips budget budgetPeriod held lastUsedAt'),
      words('own_group hint old_secret_until group_limits ips budget budget_period budget_used last_used'),
      words('hint expires_at ips budget budget_period last_used_at'),
    ],
    most: 5,
  },
  user: {
    owner: 'src/domain/shapes/user.ts',
    names: [
      words('role status hasPassword createdAt group'),
      words('role status has_password created'),
      words('role status password_hash group_name created_at'),
    ],
    most: 4,
  },
  'row of the log': {
    owner: 'src/domain/shapes/log-row.ts',
    names: [words('outcome errorCode durationMs configRevision forwarded dropped clientRequestId inputTokens')],
    most: 7,
  },
  'record of the log': {
    owner: 'src/domain/log-record.ts',
    names: [words('outcome error duration_ms config_revision forwarded dropped client_request_id billing')],
    most: 7,
  },
  'record of a charge': {
    owner: 'src/domain/billing-record.ts',
    names: [words('quality count actual_size currency refunded flags warnings delivery sum')],
    most: 7,
  },
  charge: {
    owner: 'src/domain/charge.ts',
    names: [
      words('keyId operation family upstream configRevision currency quality rule'),
      words('key_id operation family upstream config_revision currency quality rule'),
    ],
    most: 8,
  },
  use: {
    owner: 'src/domain/shapes/usage-row.ts',
    names: [
      words('day keyId requests images inputTokens outputTokens refunded'),
      words('day key_id requests images input_tokens output_tokens refunded'),
    ],
    most: 7,
  },
}

/** Comments are skipped, and so is `row.name`, which reads a member without listing any. */
function listedIn(text: string, names: readonly string[]): readonly string[] {
  const code = text
    .split('\n')
    .filter(line => !/^\s*(?:\*|\/\/|\/\*)/.test(line))
    .join('\n')
  return names.filter(name => new RegExp(String.raw`(?<![.\w-])${name}(?![\w-])`).test(code))
}

function isListed(text: string, { names, most }: Thing): boolean {
  return names.some(spelling => listedIn(text, spelling).length >= most)
}

/** Files that must name many members, with the reason; the compiler or the database reports a missing one there. */
const exceptions: { readonly [found: string]: string } = {
  'charge: src/plugin-api/charge-facts.ts': 'makes the facts of a charge from an exchange',
  'charge: src/storage/ledger/entries.ts': 'the order in which an entry vouches for them, for ever',
  'row of the log: src/engine/log-row.ts': 'makes the row from an exchange',
  'row of the log: src/domain/log-record.ts': 'names the member of the row that each member of the record shows',
  'record of the log: src/observe/log.ts': 'a line of the log: nothing that is null, and texts cut to a length',
  'key: src/tools/import/new-api/read-people.ts': 'reads the keys of somebody else’s database, by its columns',
  'user: src/admin/routes/invitations.ts': 'shows an invitation, which has a role and a group, and is no user',
  'key: src/storage/erase/tables.ts': 'says which columns an erasure clears',
  'user: src/storage/erase/erase.ts': 'copies what stays of a user who is erased',
  'user: src/storage/people/sign-in.ts': 'reads three columns of a user, and those of a tie',
  'user: src/storage/people/users.ts': 'inserts a user',
  'key: src/storage/people/admin-tokens.ts': 'reads admin tokens, which have an expiry and addresses as keys do',
  'user: src/admin/session/token-user.ts': 'makes the user that an admin token acts as',
  'user: src/storage/people/setup.ts': 'inserts the first administrator, or makes a user one',
}

t.test('the members of a key, a user, a log row and a charge are listed in one file each', async t => {
  const key = things['key'] as Thing
  t.ok(isListed('{ hint: 1, expires_at: 1, ips, budget: 2, budget_period }', key), 'a copy is found')
  t.notOk(isListed('key.hint + key.expires_at + key.ips + key.budget + key.budget_period', key), 'a use is none')
  t.ok(files.length > 300)
  const found: string[] = []
  for (const file of files) {
    const text = await readFile(join(root, file), 'utf8').catch(() => '')
    for (const [name, thing] of Object.entries(things)) if (isListed(text, thing)) found.push(`${name}: ${file}`)
  }
  t.strictSame(
    found.toSorted(),
    [...Object.entries(things).map(([name, { owner }]) => `${name}: ${owner}`), ...Object.keys(exceptions)].toSorted(),
  )
})

t.test('the console imports only types of the server', async t => {
  const taken = /^import (?!type )[^']*? from '(?:\.\.\/)+(?:admin|kit\/shapes)\//m
  t.match("import { keyView } from '../../kit/shapes/key.ts'", taken)
  t.notMatch("import type { Key } from '../../kit/shapes/key.ts'", taken)
  t.notMatch("import { h } from 'preact'\nimport type { Key } from '../../kit/shapes/key.ts'", taken)
  const own = files.filter(file => file.startsWith('src/console/'))
  t.ok(own.length > 50)
  for (const file of own) t.notMatch(await readFile(join(root, file), 'utf8'), taken, file)
})
