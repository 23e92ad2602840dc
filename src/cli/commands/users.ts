import {
  eachPage,
  formatMoney,
  hashPassword,
  isUserName,
  parseMoney,
  type CompiledConfig,
  type Role,
  roles,
  type User,
  type UserBounds,
  type UserChange,
  userBoundsSetBy,
} from '../../index.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { formatPeriod, readPeriod, readSettings, type SettingOptions } from '../key-settings.ts'
import { actor, withStorage } from '../with-storage.ts'
import { describeBounds } from '../describe-bounds.ts'
import { formatTable } from '../table.ts'

export async function createUser(
  name: string,
  options: { readonly group: string; readonly role: string; readonly config: string },
): Promise<void> {
  const role = readRole(options.role)
  if (!isUserName(name))
    throw new Exit(
      exitCodes.usage,
      `the user name '${name}' is invalid: use at most 64 letters, digits, _ . @ or -, and begin with a letter or digit`,
    )
  await withStorage(options.config, async (storage, plan) => {
    needGroup(plan, options.group)
    if (await storage.users.find(name)) throw new Exit(exitCodes.failure, `the user '${name}' already exists`)
    await storage.users.create({ name, group: options.group, role, passwordHash: null }, actor)
    say(`User ${name} (${role}) in group ${options.group}.`)
  })
}

const pageUsers = 1_000

export async function listUsers(options: {
  readonly config: string
  readonly format: string
  readonly search?: string
}): Promise<void> {
  await withStorage(options.config, async storage => {
    const { search } = options
    const pages = eachPage<User>(pageUsers, last =>
      storage.users.list({ limit: pageUsers, ...(last && { after: last.name }), ...(search && { search }) }),
    )
    const rows: string[][] = []
    for await (const users of pages)
      for (const user of users)
        if (options.format === 'json') print(JSON.stringify(user))
        else rows.push([user.name, user.group, user.role, user.status])
    if (options.format !== 'json') print(formatTable(['name', 'group', 'role', 'status'], rows))
  })
}

export async function setUser(
  name: string,
  options: SettingOptions & {
    readonly role?: string
    readonly status?: string
    readonly keysMax?: string
    readonly config: string
  },
): Promise<void> {
  const { group, status, keysMax } = options
  const role = options.role === undefined ? undefined : readRole(options.role)
  if (status !== undefined && status !== 'active' && status !== 'disabled')
    throw new Exit(exitCodes.usage, `--status ${status}: expected active or disabled`)
  const { config: _, ...settings } = options
  if (Object.entries(settings).every(([name, value]) => value === undefined || name === 'format'))
    throw new Exit(
      exitCodes.usage,
      'nothing to change; name at least one setting (tollgate users set --help lists them)',
    )
  await withStorage(options.config, async (storage, plan) => {
    if (group !== undefined) needGroup(plan, group)
    const change: UserChange = {
      ...(group !== undefined && { group }),
      ...(role !== undefined && { role }),
      ...(status !== undefined && { status }),
      ...(keysMax !== undefined && { keysMax: readKeysMax(keysMax) }),
    }
    const was = await storage.users.find(name)
    if (!was) throw unknownUser(name)
    const keyBounds = readBounds(options, plan, was)
    const user = await storage.users.change(name, { ...change, ...(keyBounds && { keyBounds }) }, actor)
    if (!user) throw unknownUser(name)
    say(`User ${name} (${user.role}) in group ${user.group} is ${user.status}.`)
    for (const sentence of describeBounds(user, options)) say(sentence)
  })
}

export async function setUserBudget(
  name: string,
  options: {
    readonly amount: string
    readonly per: string
    readonly resetsOn?: string
    readonly soft: boolean
    readonly config: string
  },
): Promise<void> {
  const { amount, per } = options
  const budget = amount === 'none' ? null : parseMoney(amount)
  if (budget === undefined)
    throw new Exit(exitCodes.usage, `--amount ${amount}: expected an amount such as 25.00, or none`)
  const budgetPeriod = readPeriod('--per', per, options.resetsOn)
  await withStorage(options.config, async storage => {
    const user = await storage.users.change(name, { budget, budgetPeriod, budgetSoft: options.soft }, actor)
    if (!user) throw unknownUser(name)
    say(
      budget === null
        ? `User ${name} has no budget of their own; the group's budget applies if there is one.`
        : `User ${name} may spend ${formatMoney(budget)} (${formatPeriod(budgetPeriod)}).${options.soft ? ' The budget only sends events, and refuses nothing.' : ''}`,
    )
  })
}

const unknownUser = (name: string): Exit =>
  new Exit(exitCodes.failure, `there is no user '${name}' (tollgate users list)`)

/** @throws Exit 2 */
export function readRole(text: string): Role {
  const role = roles.find(one => one === text)
  if (role === undefined) throw new Exit(exitCodes.usage, `unknown role ${text}; expected one of ${roles.join(', ')}`)
  return role
}

/** @throws Exit 2 */
function readKeysMax(text: string): number | null {
  if (text === 'none') return null
  if (/^\d{1,6}$/.test(text)) return Number(text)
  throw new Exit(exitCodes.usage, `--keys-max ${text}: expected a whole number, or none`)
}

/** The new bounds of a user; undefined when none were given. */
function readBounds(options: SettingOptions, plan: CompiledConfig, { keyBounds }: User): UserBounds | undefined {
  const { group: _ofUser, ...own } = options
  const was = {
    models: keyBounds.models?.to ?? null,
    ips: keyBounds.ips?.to ?? null,
    tags: null,
    cache: null,
    limits: keyBounds.limits?.to ?? {},
    budget: keyBounds.budget?.to.amount ?? null,
    budgetPeriod: keyBounds.budget?.to.per ?? 'total',
    budgetSoft: false,
    expiresAt: keyBounds.expiresAt?.to ?? null,
  } as const
  const given = readSettings(own, plan, Date.now(), was)
  return Object.keys(given).length === 0 ? undefined : userBoundsSetBy(actor, { ...was, ...given })
}

/** @throws Exit 2 when the configuration has no such group */
export function needGroup(plan: CompiledConfig, group: string): void {
  if (!plan.groups.has(group))
    throw new Exit(exitCodes.usage, `--group ${group}: the configuration has ${[...plan.groups.keys()].join(', ')}`)
}

/** Reads the new password from standard input: an argument would be in the process list and the shell's history. */
export async function setPassword(name: string, options: { readonly config: string }): Promise<void> {
  if (process.stdin.isTTY) say('Type the new password and press Enter.')
  let text = ''
  for await (const chunk of process.stdin) {
    text += String(chunk)
    if (text.includes('\n')) break
  }
  const password = text.split(/\r?\n/, 1)[0] ?? ''
  if (password.length < 12 || password.length > 128)
    throw new Exit(exitCodes.usage, 'use a password of 12 to 128 characters')
  const hash = await hashPassword(password)
  await withStorage(options.config, async storage => {
    if (!(await storage.users.setPassword(name, hash, actor)))
      throw new Exit(exitCodes.failure, `there is no user '${name}'`)
    say(`Set the password of ${name}.`)
  })
}
