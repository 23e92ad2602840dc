import { createKey as makeKey, formatMoney, type Key, parseMoney } from '../../index.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { actor, withStorage } from '../open-books.ts'
import { formatTable } from '../table.ts'

type CreateOptions = {
  readonly name: string
  readonly user: string
  readonly group?: string
  readonly budget?: string
  readonly models?: string
  readonly config: string
  readonly format: string
}

export async function createKey(options: CreateOptions): Promise<void> {
  const budget = options.budget === undefined ? null : parseMoney(options.budget)
  if (budget === undefined)
    throw new Exit(exitCodes.usage, `--budget ${options.budget}: an amount such as 25.00 is needed`)
  await withStorage(options.config, async (storage, plan) => {
    if (options.group !== undefined && !plan.groups.has(options.group))
      throw new Exit(
        exitCodes.usage,
        `--group ${options.group}: the configuration has ${[...plan.groups.keys()].join(', ')}`,
      )
    const models = options.models?.split(',').map(name => name.trim()) ?? null
    const unknown = models?.find(name => !plan.models.has(name))
    if (unknown !== undefined)
      throw new Exit(
        exitCodes.usage,
        `--models ${unknown}: the configuration has ${[...plan.models.keys()].join(', ')}`,
      )
    const users = await storage.users.list()
    if (!users.some(user => user.name === options.user))
      throw new Exit(
        exitCodes.usage,
        `--user ${options.user}: there are ${users.map(user => user.name).join(', ')} (tollgate users create)`,
      )
    const { key, secret } = await makeKey(storage, {
      name: options.name,
      user: options.user,
      group: options.group ?? null,
      budget,
      models,
    })
    if (options.format === 'json') return print(JSON.stringify({ id: key.id, key: secret, ...keyRecord(key) }))
    print(secret)
    say(`Key ${key.id} '${key.name}' of ${key.user}. This is the only time that it is shown.`)
  })
}

export async function listKeys(options: { readonly config: string; readonly format: string }): Promise<void> {
  await withStorage(options.config, async (storage, plan) => {
    const keys = await storage.keys.list()
    if (options.format === 'json') for (const key of keys) print(JSON.stringify({ id: key.id, ...keyRecord(key) }))
    else
      print(
        formatTable(
          ['id', 'name', 'user', 'group', 'key', 'status', `spent (${plan.currency})`, 'budget'],
          keys.map(key => [
            key.id,
            key.name,
            key.user,
            key.group ?? key.userGroup,
            key.hint,
            key.status,
            formatMoney(key.spent),
            key.budget === null ? '-' : formatMoney(key.budget),
          ]),
        ),
      )
  })
}

export async function revokeKey(id: string, options: { readonly config: string }): Promise<void> {
  await withStorage(options.config, async storage => {
    if (!(await storage.keys.revoke(id, actor)))
      throw new Exit(exitCodes.failure, `there is no key '${id}' (tollgate keys list)`)
    say(`Key ${id} is revoked.`)
  })
}

function keyRecord(key: Key): object {
  return {
    name: key.name,
    user: key.user,
    group: key.group ?? key.userGroup,
    hint: key.hint,
    status: key.status,
    models: key.models,
    budget: key.budget === null ? null : formatMoney(key.budget),
    spent: formatMoney(key.spent),
    held: formatMoney(key.held),
    created: new Date(key.createdAt).toISOString(),
  }
}
