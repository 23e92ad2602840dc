import { hashPassword } from '../../index.ts'
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
    if (!plan.groups.has(options.group))
      throw new Exit(
        exitCodes.usage,
        `--group ${options.group}: the configuration has ${[...plan.groups.keys()].join(', ')}`,
      )
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
