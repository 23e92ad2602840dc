import { createHash, randomBytes } from 'node:crypto'
import { type Invitation, invitationMsMax, isUserName, parseDuration, type CompiledConfig } from '../../index.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { actor, withStorage } from '../with-storage.ts'
import { formatTable } from '../table.ts'
import { needGroup, readRole } from './users.ts'

type InviteOptions = {
  readonly name?: string
  readonly role: string
  readonly group: string
  readonly for: string
  readonly config: string
  readonly format: string
}

/** Prints a link that creates one user, once. The link is shown only here. */
export async function invite(options: InviteOptions): Promise<void> {
  const role = readRole(options.role)
  const validMs = readSpan(options.for)
  const { name = null, group } = options
  if (name !== null && !isUserName(name))
    throw new Exit(exitCodes.usage, `--name ${name}: expected at most 64 letters, digits, _ . @ or -`)
  await withStorage(options.config, async (storage, plan) => {
    needGroup(plan, group)
    if (name !== null && (await storage.users.find(name)))
      throw new Exit(exitCodes.failure, `the user '${name}' already exists`)
    const token = randomBytes(32).toString('base64url')
    const hash = createHash('sha256').update(token).digest('hex')
    const made = await storage.signIn.invite({ hash, name, role, group, expiresAt: Date.now() + validMs }, actor)
    const link = `${consoleUrl(plan)}/console/invite#${token}`
    if (options.format === 'json') return print(JSON.stringify({ ...show(made), link }))
    print(link)
    say(`Valid for one sign-up of ${name ?? 'any person'} as ${role} in group ${group}, until ${show(made).expires}.`)
  })
}

export async function listInvitations(options: { readonly config: string; readonly format: string }): Promise<void> {
  await withStorage(options.config, async storage => {
    const invitations = (await storage.signIn.invitations()).map(show)
    if (options.format === 'json') for (const one of invitations) print(JSON.stringify(one))
    else
      print(
        formatTable(
          ['id', 'name', 'role', 'group', 'by', 'expires'],
          invitations.map(({ id, name, role, group, by, expires }) => [id, name ?? '-', role, group, by, expires]),
        ),
      )
  })
}

export async function revokeInvitation(id: string, options: { readonly config: string }): Promise<void> {
  await withStorage(options.config, async storage => {
    if (!(await storage.signIn.revokeInvitation(id, actor)))
      throw new Exit(exitCodes.failure, `there is no invitation '${id}' (tollgate users invitations)`)
    say(`Revoked invitation ${id}.`)
  })
}

function show({ id, name, role, group, by, createdAt, expiresAt }: Invitation) {
  const [created, expires] = [createdAt, expiresAt].map(at => new Date(at).toISOString()) as [string, string]
  return { id, name, role, group, by, created, expires }
}

/** @throws Exit 2 */
function readSpan(text: string): number {
  const span = parseDuration(text)
  if (span === undefined || span <= 0 || span > invitationMsMax)
    throw new Exit(exitCodes.usage, `--for ${text}: expected a duration such as 12h or 7d, at most 90d`)
  return span
}

/** The console's address for browsers, if the configuration has it. */
function consoleUrl({ server }: CompiledConfig): string {
  if (server.publicUrl !== undefined) return server.publicUrl
  const { host, port } = server.listen
  const named = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `${server.tls ? 'https' : 'http'}://${named}:${port}`
}
