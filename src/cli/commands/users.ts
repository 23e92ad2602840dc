import { hashPassword, type Plan, type UserChange } from '../../index.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { actor, withStorage } from '../open-books.ts'
import { formatTable } from '../table.ts'

export async function createUser(
  name: string,
  options: { readonly group: string; readonly role: string; readonly config: string },
): Promise<void> {
  const { role } = options
  if (role !== 'user' && role !== 'admin') throw new Exit(exitCodes.usage, `--role ${role}: user or admin`)
  await withStorage(options.config, async (storage, plan) => {
    needGroup(plan, options.group)
    const users = await storage.users.list()
    if (users.some(user => user.name === name)) throw new Exit(exitCodes.failure, `there is a user '${name}' already`)
    await storage.users.create({ name, group: options.group, role, passwordHash: null }, actor)
    say(`User ${name} (${role}) in group ${options.group}.`)
  })
}

export async function listUsers(options: { readonly config: string; readonly format: string }): Promise<void> {
  await withStorage(options.config, async storage => {
    const users = await storage.users.list()
    if (options.format === 'json') for (const user of users) print(JSON.stringify(user))
    else
      print(
        formatTable(
          ['name', 'group', 'role', 'status'],
          users.map(user => [user.name, user.group, user.role, user.status]),
        ),
      )
  })
}

export async function setUser(
  name: string,
  options: { readonly group?: string; readonly role?: string; readonly status?: string; readonly config: string },
): Promise<void> {
  const { group, role, status } = options
  if (group === undefined && role === undefined && status === undefined)
    throw new Exit(exitCodes.usage, 'nothing to change was told: --group, --role or --status')
  if (role !== undefined && role !== 'user' && role !== 'admin')
    throw new Exit(exitCodes.usage, `--role ${role}: user or admin`)
  if (status !== undefined && status !== 'active' && status !== 'disabled')
    throw new Exit(exitCodes.usage, `--status ${status}: active or disabled`)
  await withStorage(options.config, async (storage, plan) => {
    if (group !== undefined) needGroup(plan, group)
    const change: UserChange = {
      ...(group !== undefined && { group }),
      ...(role !== undefined && { role }),
      ...(status !== undefined && { status }),
    }
    const user = await storage.users.change(name, change, actor)
    if (!user) throw new Exit(exitCodes.failure, `there is no user '${name}' (tollgate users list)`)
    say(`User ${name} (${user.role}) in group ${user.group} is ${user.status}.`)
  })
}

/** @throws Exit 2 when the configuration has no such group */
function needGroup(plan: Plan, group: string): void {
  if (!plan.groups.has(group))
    throw new Exit(exitCodes.usage, `--group ${group}: the configuration has ${[...plan.groups.keys()].join(', ')}`)
}

/** Reads the new password from standard input: an argument would stand in the process list and the shell's history. */
export async function setPassword(name: string, options: { readonly config: string }): Promise<void> {
  if (process.stdin.isTTY) say('Type the new password and press Enter.')
  let text = ''
  for await (const chunk of process.stdin) {
    text += String(chunk)
    if (text.includes('\n')) break
  }
  const password = text.split(/\r?\n/, 1)[0] ?? ''
  if (password.length < 12 || password.length > 128)
    throw new Exit(exitCodes.usage, 'a password has 12 to 128 characters')
  const hash = await hashPassword(password)
  await withStorage(options.config, async storage => {
    if (!(await storage.users.setPassword(name, hash, actor)))
      throw new Exit(exitCodes.failure, `there is no user '${name}'`)
    say(`The password of ${name} is set.`)
  })
}
