import { rollingDays } from '../../../domain/budget-period.ts'
import { type Adoption, covers, type Limits, mayServe } from '../../../domain/index.ts'
import { formatMoney, hashSecret } from '../../../util/index.ts'
import { type TrackedRow, TrackedTable, type ForeignBook } from '../new-api/foreign-book.ts'
import { isName, writeMap, writeScalar } from '../yaml-words.ts'
import { type BudgetRead, readBudget, type TakenBudget } from './budgets.ts'
import { limitIn, momentIn, textsIn } from './cells.ts'
import { NotImported } from './not-imported.ts'

type AdoptedUser = Adoption['users'][number]
type AdoptedKey = AdoptedUser['keys'][number]
type OpenedGroup = NonNullable<Adoption['groups']>[number]

/** Tables of LiteLLM whose rows are read; rows of all other tables are counted. */
export const litellmTables: ReadonlySet<string> = new Set([
  'LiteLLM_VerificationToken',
  'LiteLLM_TeamTable',
  'LiteLLM_UserTable',
  'LiteLLM_BudgetTable',
])

export type LitellmPeople = {
  readonly adoption: Adoption
  /** Lines below `groups:`, in addition to the group `default`. */
  readonly groups: readonly string[]
}

type Around = {
  /** Names of the models that are active here. */
  readonly models: readonly string[]
  readonly note: (text: string) => void
  /** A note on a budget or a guardrail that is not in effect here. */
  readonly lose: (text: string) => void
  /** Unix milliseconds: spending of a period that is over by then no longer counts. */
  readonly now: number
}

type Team = {
  readonly group: string
  /** Undefined for all models. */
  readonly models: readonly string[] | undefined
  readonly off: string | undefined
}

type Person = {
  readonly name: string
  readonly group: string
  readonly models: readonly string[] | undefined
  readonly hasBudget: boolean
  /** Their keys that belong to a team. */
  readonly ofTeams: string[]
}

/** Names in a model list that mean all models. */
const allOf = new Set(['all-proxy-models', 'all-team-models', '*'])
/** The owner of keys that have no user in LiteLLM. */
const nobody = 'litellm'

/**
 * Converts teams to groups and LiteLLM users to users; keys stay valid by their hashes. Undefined if the database is
 * not one of LiteLLM.
 */
export function readLitellmPeople(book: ForeignBook, around: Around): LitellmPeople | undefined {
  if (!book.tables.has('LiteLLM_VerificationToken')) return undefined
  const { note, lose } = around
  const table = (name: string): TrackedTable => new TrackedTable(name, book.tables.get(name))
  const [tokens, teamRows, userRows, budgetRows] = [
    table('LiteLLM_VerificationToken'),
    table('LiteLLM_TeamTable'),
    table('LiteLLM_UserTable'),
    table('LiteLLM_BudgetTable'),
  ]
  const budgets = new Map(budgetRows.rows.map(row => [row.text('budget_id') ?? '', row]))
  const spent = new SpentBefore(note)
  const notImported = new NotImported(budgets, note, lose)
  const { teams, groups, opened } = readTeams(teamRows, around, spent, notImported)
  const { people, users, left } = readUsers(userRows, teams, around, spent)
  for (const row of tokens.rows) {
    const key = readKey(row, { teams, people, left, budgets, spent, notImported, ...around })
    if (key) ownerOf(row, { teams, people, users }).keys.push(key)
  }
  for (const { name, hasBudget, ofTeams } of people.values())
    if (hasBudget && ofTeams.length > 0)
      note(
        `user ${name}: their budget also applies to their keys of teams here; in LiteLLM it does not: ${ofTeams.join(', ')}`,
      )
  spent.report()
  notImported.report()
  for (const one of [tokens, teamRows, userRows, budgetRows]) reportColumns(one, around)
  const rows = [...book.counted].filter(([, count]) => count > 0).map(([name, count]) => `${name} (${count})`)
  if (rows.length > 0) note(`tables that are not imported: ${rows.join(', ')}`)
  return { adoption: { users: [...users.values()], groups: opened }, groups }
}

type GrowingUser = Omit<AdoptedUser, 'keys'> & { readonly keys: AdoptedKey[] }

function readTeams(rows: TrackedTable, { models, note, now }: Around, spent: SpentBefore, notImported: NotImported) {
  const teams = new Map<string, Team>()
  const groups: string[] = []
  const opened: OpenedGroup[] = []
  const taken = new Set(['default'])
  for (const row of rows.rows) {
    const id = row.text('team_id') ?? ''
    const alias = row.text('team_alias')
    const wanted = alias !== undefined && isName(alias) ? alias : id
    const place = `team ${wanted}`
    if (!isName(wanted)) {
      note(`${place}: its name is not valid in a configuration, so its keys are imported disabled`)
      teams.set(id, { group: 'default', models: [], off: 'its team was not imported' })
      continue
    }
    let group = wanted
    for (let i = 2; taken.has(group); i++) group = `${wanted}-${i}`
    if (group !== wanted) note(`${place}: another group has its name, so it is named ${group} here`)
    taken.add(group)
    const budget = readBudget(row, undefined, now)
    const fault = budget.kind === 'unreadable' ? `its ${budget.column} cannot be read` : undefined
    spent.add(place, budget)
    notImported.add(place, row, undefined)
    const bounds = limitsOf(row, undefined)
    const bad = fault ?? (typeof bounds === 'string' ? bounds : undefined)
    if (bad !== undefined) note(`${place}: ${bad}, so its keys are imported disabled`)
    const blocked = row.truth('blocked') ? 'its team is blocked' : undefined
    // The fault of a team, "its …", appears in the report of its keys as "its team's …".
    const off = bad === undefined ? blocked : `its team's ${bad.slice('its '.length)}`
    teams.set(id, { group, models: modelsIn(row, models, place, note), off })
    const { rpm, tpm, concurrency } = typeof bounds === 'object' ? bounds : {}
    const limits = writeMap([
      ['rpm', wordOf(rpm)],
      ['tpm', wordOf(tpm)],
      ['concurrency', wordOf(concurrency)],
    ])
    const fields = writeMap([
      ['budget', budget.kind === 'budget' ? writeBudget(budget.budget) : undefined],
      ['limits_in_all', limits === '{}' ? undefined : limits],
    ])
    groups.push(`  ${writeScalar(group)}: ${fields}`)
    if (budget.kind === 'budget' && budget.spent > 0)
      opened.push({ name: group, per: budget.budget.per, spentBefore: budget.spent })
  }
  return { teams, groups, opened }
}

function wordOf(limit: number | undefined): string | undefined {
  return limit === undefined ? undefined : String(limit)
}

function writeBudget({ amount, per }: TakenBudget): string {
  return writeMap([
    ['amount', JSON.stringify(formatMoney(amount))],
    ['per', per],
  ])
}

function readUsers(
  rows: TrackedTable,
  teams: ReadonlyMap<string, Team>,
  { models, note, now }: Around,
  spent: SpentBefore,
) {
  const mails = Map.groupBy(rows.rows, row => row.text('user_email') ?? '')
  const people = new Map<string, Person>()
  const users = new Map<string, GrowingUser>()
  const admins: string[] = []
  /** Ids of users that are not imported: their bounds would no longer apply to their keys. */
  const left = new Set<string>()
  for (const row of rows.rows) {
    const id = row.text('user_id') ?? ''
    const mail = row.text('user_email')
    const name = mail !== undefined && mails.get(mail)?.length === 1 && isUserName(mail) ? mail : id
    const place = `user ${name}`
    if (!isUserName(name) || users.has(name)) {
      note(`${place}: not imported: its name is not valid here`)
      left.add(id)
      continue
    }
    if (row.text('user_role')?.startsWith('proxy_admin') === true) admins.push(name)
    const budget = readBudget(row, undefined, now)
    if (budget.kind === 'unreadable') note(`${place}: its ${budget.column} cannot be read, so it is imported disabled`)
    spent.add(place, budget)
    const own = textsIn(row, 'teams') ?? []
    const [only, ...more] = own.flatMap(team => teams.get(team)?.group ?? [])
    if (more.length > 0)
      note(`${place}: has ${own.length} teams in LiteLLM; each of its keys keeps one group, and new keys get default`)
    const group = only !== undefined && more.length === 0 ? only : 'default'
    const hasBudget = budget.kind === 'budget'
    people.set(id, { name, group, models: modelsIn(row, models, place, note), hasBudget, ofTeams: [] })
    users.set(name, {
      name,
      group,
      status: budget.kind === 'unreadable' ? 'disabled' : 'active',
      balance: null,
      ...(budget.kind === 'budget' && { budget: budget.budget, spentBefore: budget.spent }),
      keys: [],
    })
  }
  if (admins.length > 0)
    note(
      `${admins.join(', ')}: administrators in LiteLLM, imported as users; restore the role with tollgate users set NAME --role admin`,
    )
  return { people, users, left }
}

function isUserName(name: string): boolean {
  return name !== '' && name !== 'local' && name.length <= 200 && !/\p{Cc}/u.test(name)
}

/** The owner of a key: its user, else a user for its team, else one for keys without an owner. */
function ownerOf(
  row: TrackedRow,
  {
    teams,
    people,
    users,
  }: {
    readonly teams: ReadonlyMap<string, Team>
    readonly people: ReadonlyMap<string, Person>
    readonly users: Map<string, GrowingUser>
  },
): GrowingUser {
  const known = people.get(row.text('user_id') ?? '')?.name
  const group = teams.get(row.text('team_id') ?? '')?.group ?? 'default'
  const name = known ?? (group === 'default' ? nobody : `team ${group}`)
  const there = users.get(name)
  if (there) return there
  const made: GrowingUser = { name, group, status: 'active', balance: null, keys: [] }
  users.set(name, made)
  return made
}

type KeyAround = Around & {
  readonly teams: ReadonlyMap<string, Team>
  readonly people: ReadonlyMap<string, Person>
  readonly left: ReadonlySet<string>
  readonly budgets: ReadonlyMap<string, TrackedRow>
  readonly spent: SpentBefore
  readonly notImported: NotImported
}

function readKey(row: TrackedRow, around: KeyAround): AdoptedKey | undefined {
  const { note, teams, people, left, budgets, spent, notImported, now } = around
  const token = row.text('token') ?? ''
  const hint = row.text('key_name') ?? '…'
  const name = nameOf(row.text('key_alias')) ?? `key ${hint}`
  const place = `${name === `key ${hint}` ? '' : 'key '}${name}`
  const hash = /^[0-9a-f]{64}$/.test(token) ? token : token.startsWith('sk-') ? hashSecret(token) : undefined
  if (hash === undefined) {
    note(`${place}: not imported: its stored value is not a key hash`)
    return undefined
  }
  const why: string[] = []
  const [team, user] = [row.text('team_id'), row.text('user_id')]
  const ofTeam = team === undefined ? undefined : teams.get(team)
  const person = people.get(user ?? '')
  if (team !== undefined && !ofTeam) why.push(`its team ${team} does not exist`)
  if (ofTeam?.off !== undefined) why.push(ofTeam.off)
  if (user !== undefined && left.has(user)) why.push(`its user ${user} is not imported`)
  else if (user !== undefined && !person) note(`${place}: its user ${user} does not exist; it has another owner here`)
  if (ofTeam) person?.ofTeams.push(place)
  if (row.truth('blocked')) why.push('it is blocked')
  const shared = budgets.get(row.text('budget_id') ?? '')
  if (row.text('budget_id') !== undefined && !shared) why.push('its budget does not exist')
  const budget = readBudget(row, shared, now)
  if (budget.kind === 'unreadable') why.push(`its ${budget.column} cannot be read`)
  spent.add(place, budget)
  notImported.add(place, row, shared)
  // A key of a team is limited to the team's models, a key without a team to those of its user.
  const outer = ofTeam ? ofTeam.models : person?.models
  const own = modelsIn(row, around.models, place, note)
  const models = own === undefined ? outer : outer === undefined ? own : commonOf(own, outer)
  if (models?.length === 0) why.push('it may use no existing model')
  const routes = textsIn(row, 'allowed_routes') ?? []
  if (routes.length > 0 && !routes.includes('llm_api_routes')) why.push(`it is restricted to ${routes.join(', ')}`)
  const ends = row.text('expires')
  const expiresAt = ends === undefined ? null : (momentIn(row, 'expires') ?? 0)
  const limits = limitsOf(row, shared)
  if (typeof limits === 'string') why.push(limits)
  if (why.length > 0) note(`${place}: imported disabled: ${why.join('; ')}`)
  return {
    name,
    // A key without a team does not count against the budget of its user's team.
    group: ofTeam?.group ?? (person === undefined || person.group === 'default' ? null : 'default'),
    hash,
    hint,
    status: why.length > 0 ? 'disabled' : 'active',
    expiresAt,
    models: models ?? null,
    budget: budget.kind === 'budget' ? budget.budget.amount : budget.kind === 'none' ? null : 0,
    budgetPeriod: budget.kind === 'budget' ? budget.budget.per : 'total',
    ...(budget.kind === 'budget' && { spentBefore: budget.spent }),
    ...(typeof limits === 'object' && { limits }),
  }
}

/**
 * The row's own setting, or else that of the budget that it refers to; or why it cannot be read: 0 admits nothing in
 * LiteLLM, and is not a valid limit here.
 */
function limitsOf(row: TrackedRow, shared: TrackedRow | undefined): Limits | string {
  const limits: { rpm?: number; tpm?: number; concurrency?: number } = {}
  for (const [name, column] of limitColumns) {
    const from = row.text(column) === undefined ? shared : row
    if (from?.text(column) === undefined) continue
    const limit = limitIn(from, column)
    if (limit === undefined) return `its ${column} of ${from.text(column)} is not valid as a limit`
    limits[name] = limit
  }
  return limits
}

const limitColumns = [
  ['rpm', 'rpm_limit'],
  ['tpm', 'tpm_limit'],
  ['concurrency', 'max_parallel_requests'],
] as const

function nameOf(alias: string | undefined): string | undefined {
  const name = alias
    ?.replaceAll(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, 100)
  return name === '' ? undefined : name
}

/** The models of a list that exist here; undefined if all are allowed. An unreadable list admits none. */
function modelsIn(
  row: TrackedRow,
  known: readonly string[],
  place: string,
  note: (text: string) => void,
): readonly string[] | undefined {
  if (row.text('models') === undefined) return undefined
  const names = textsIn(row, 'models')
  if (names?.length === 0 || names?.some(name => allOf.has(name)) === true) return undefined
  const unknown = (names ?? ['its value']).filter(name => matching(name, known).length === 0)
  if (unknown.length > 0)
    note(`${place}: it may use ${unknown.join(', ')} in LiteLLM, which is not an active model here`)
  return [...new Set(names?.flatMap(name => matching(name, known)))]
}

/** The models that a name or a pattern means. A wildcard of the file also serves names without a line of their own. */
function matching(name: string, known: readonly string[]): readonly string[] {
  const exact = known.filter(one => covers(name, one))
  return known.some(one => mayServe(one, name)) ? [...exact, name] : exact
}

/** What both lists contain; of two patterns, the narrower one. */
function commonOf(own: readonly string[], outer: readonly string[]): readonly string[] {
  const within = (inner: readonly string[], list: readonly string[]): readonly string[] =>
    inner.filter(one => list.some(wide => covers(wide, one)))
  return [...new Set([...within(own, outer), ...within(outer, own)])]
}

/** Collects the spending of budgets that renew, when they renew in LiteLLM, and their lengths, for one report. */
class SpentBefore {
  readonly #note: (text: string) => void
  readonly #spent: string[] = []
  readonly #stale: string[] = []
  readonly #lengths = new Map<string, string[]>()

  constructor(note: (text: string) => void) {
    this.#note = note
  }

  add(place: string, read: BudgetRead): void {
    if (read.kind !== 'budget') return
    const { length, spent, stale, budget, renewsAt } = read
    const of = (amount: number): string => `${place} ${formatMoney(amount)} of ${formatMoney(budget.amount)}`
    const until = renewsAt === undefined ? '' : ` (until ${new Date(renewsAt).toISOString()} there)`
    const days = rollingDays(budget.per)
    if (spent > 0)
      this.#spent.push(
        `${of(spent)} ${days === undefined ? `for this ${budget.per}` : `in the last ${days} days`}${until}`,
      )
    if (stale > 0) this.#stale.push(`${of(stale)}${until}`)
    if (length === undefined) return
    const note = `a budget of ${length} in LiteLLM is imported as ${budget.per === 'total' ? 'a total of what is left of it' : `a budget per ${days === undefined ? budget.per : `${days} days`}`}`
    const places = this.#lengths.get(note)
    if (places) places.push(place)
    else this.#lengths.set(note, [place])
  }

  report(): void {
    for (const [text, places] of this.#lengths) this.#note(`${text}: ${places.join(', ')}`)
    if (this.#spent.length > 0)
      this.#note(`spent in the current period in LiteLLM, and counted as spent here: ${this.#spent.join(', ')}`)
    if (this.#stale.length > 0)
      this.#note(`spent in a past period in LiteLLM, and not counted here: ${this.#stale.join(', ')}`)
  }
}

function reportColumns(table: TrackedTable, { note, lose }: Around): void {
  const left = table.left().map(({ column, count }) => `${column} (${count})`)
  const isLoss = left.some(name => /budget|guardrail/i.test(name))
  if (left.length > 0) (isLoss ? lose : note)(`${table.name}: columns that are not imported: ${left.join(', ')}`)
}
