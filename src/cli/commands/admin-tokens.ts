import {
  type AdminScope,
  adminScopes,
  type AdminToken,
  adminTokenRoles,
  createAdminSecret,
  hashSecret,
  hintOfSecret,
} from '../../index.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { readAddresses, readMoment } from '../key-settings.ts'
import { actor, withStorage } from '../with-storage.ts'
import { formatTable } from '../table.ts'

type Place = { readonly config: string }
type CreateOptions = Place & {
  readonly name: string
  readonly role: string
  readonly scopes?: string
  readonly expires?: string
  readonly ips?: string
  readonly format: string
}

/** Prints the secret of a new admin token. It is shown only once. */
export async function createAdminToken(options: CreateOptions): Promise<void> {
  const { name } = options
  const role = adminTokenRoles.find(one => one === options.role)
  if (role === undefined)
    throw new Exit(exitCodes.usage, `--role ${options.role}: expected one of ${adminTokenRoles.join(', ')}`)
  if (!/^[^\p{Cc}\p{Cf}]{1,100}$/u.test(name))
    throw new Exit(exitCodes.usage, `--name ${name}: expected at most 100 characters without line breaks`)
  const scopes = readScopes(options.scopes)
  const ips = options.ips === undefined ? null : readAddresses(options.ips)
  const expiresAt = options.expires === undefined ? null : readMoment(options.expires, Date.now())
  await withStorage(options.config, async storage => {
    if ((await storage.adminTokens.list()).some(token => token.name === name))
      throw new Exit(exitCodes.failure, `an admin token named '${name}' exists already (tollgate admin-tokens list)`)
    const secret = createAdminSecret()
    const made = { name, role, scopes, ips, expiresAt, hash: hashSecret(secret), hint: hintOfSecret(secret) }
    const { id, ...rest } = show(await storage.adminTokens.create(made, actor))
    if (options.format === 'json') return print(JSON.stringify({ id, token: secret, ...rest }))
    print(secret)
    say(`Admin token ${id} '${name}' (${role}; ${scopes.join(', ')}). The secret is shown only now.`)
    if (expiresAt === null) say('It does not expire. Set --expires 90d to limit its life.')
  })
}

export async function listAdminTokens(options: Place & { readonly format: string }): Promise<void> {
  await withStorage(options.config, async storage => {
    const tokens = (await storage.adminTokens.list()).map(show)
    if (options.format === 'json') for (const one of tokens) print(JSON.stringify(one))
    else
      print(
        formatTable(
          ['id', 'name', 'role', 'scopes', 'token', 'addresses', 'by', 'expires', 'last used'],
          tokens.map(({ id, name, role, scopes, hint, ips, by, expires, last_used }) => [
            id,
            name,
            role,
            scopes.join(','),
            hint,
            ips?.join(',') ?? '-',
            by,
            expires ?? '-',
            last_used ?? '-',
          ]),
        ),
      )
  })
}

export async function revokeAdminToken(idOrName: string, options: Place): Promise<void> {
  await withStorage(options.config, async storage => {
    const revoked = await storage.adminTokens.revoke(idOrName, actor)
    if (!revoked)
      throw new Exit(exitCodes.failure, `there is no admin token '${idOrName}' (tollgate admin-tokens list)`)
    say(`Revoked admin token ${revoked.id} '${revoked.name}'.`)
  })
}

/** @throws Exit 2 */
function readScopes(text: string | undefined): readonly AdminScope[] {
  if (text === undefined) return adminScopes
  return text.split(',').map(word => {
    const scope = adminScopes.find(one => one === word.trim())
    if (scope === undefined)
      throw new Exit(exitCodes.usage, `--scopes ${text}: expected some of ${adminScopes.join(', ')}`)
    return scope
  })
}

function show({ id, name, role, scopes, ips, hint, by, createdAt, expiresAt, lastUsedAt }: AdminToken) {
  const moment = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())
  const times = { created: moment(createdAt), expires: moment(expiresAt), last_used: moment(lastUsedAt) }
  return { id, name, role, scopes, ips, hint, by, ...times }
}
