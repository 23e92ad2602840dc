import { type Invitation, invitationMs, invitationMsMax } from '../../domain/index.ts'
import { invitationAnswer, invitationsAnswer, invitedAnswer, sessionAnswer } from '../response-schemas.ts'
import { type AdminRequest, defineRoute, Reply } from '../api.ts'
import { fail } from '../errors.ts'
import { refuse } from '../reasons.ts'
import { chosenName, password, role, userName } from '../schemas.ts'
import { checkPassword } from '../session/check-password.ts'
import { enter } from '../session/start-session.ts'
import { cookieOfIssuer } from '../sign-in/sign-out.ts'
import { hashToken, newToken } from '../session/sessions.ts'
import { needRightsOver } from '../session/token-user.ts'
import { sessionUserOf } from '../session-user.ts'
import { needGroup } from '../sign-in/recognize.ts'
import { toMoment } from '../to-moment.ts'
import { checkGroup } from './keys.ts'

const token = {
  type: 'string',
  maxLength: 200,
  description: 'Token of the invitation: the part of the link after #.',
} as const
const hourMs = 3_600_000

function show({ id, name, role, group, by, createdAt, expiresAt }: Invitation) {
  return { id, name, role, group, by, created: toMoment(createdAt), expires: toMoment(expiresAt) }
}

/** Slows down attempts to guess tokens. @throws Failure slow_down, invitation_unknown */
async function needInvitation({ parts, door, remote }: AdminRequest, hash: string): Promise<Invitation> {
  const invitation = await door.guard.attempt('', remote, () => parts.storage.signIn.invitation(hash))
  if (!invitation) throw fail('invitation_unknown')
  return invitation
}

export const invitationRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/invitations',
    access: 'admin',
    summary: 'List the open invitations, newest first.',
    answer: invitationsAnswer,
    handle: async ({ parts }) => ({ invitations: (await parts.storage.signIn.invitations()).map(show) }),
  }),
  defineRoute({
    method: 'POST',
    url: '/api/invitations',
    access: 'admin',
    summary: 'Create an invitation. Its link works once and is only in this response.',
    body: {
      type: 'object',
      additionalProperties: false,
      properties: {
        name: { ...userName, description: 'Name of the new user. Absent: the invited person chooses it.' },
        role: { ...role, default: 'user' },
        group: { type: 'string', minLength: 1, maxLength: 100, default: 'default' },
        hours: {
          type: 'integer',
          minimum: 1,
          maximum: invitationMsMax / hourMs,
          default: invitationMs / hourMs,
          description: 'Hours for which the invitation is valid.',
        },
      },
    },
    answer: invitedAnswer,
    status: 201,
    async handle(request) {
      const { parts, body, scheme, host } = request
      needRightsOver(request, body.role)
      checkGroup(parts.plan(), body.group)
      const secret = newToken(parts.random)
      const { name = null, role, group } = body
      const expiresAt = parts.clock.now() + body.hours * hourMs
      const made = { name, role, group, expiresAt, hash: hashToken(secret) }
      const invitation = await parts.storage.signIn.invite(made, sessionUserOf(request).user.name)
      const base = parts.plan().server.publicUrl ?? `${scheme}://${host}`
      return { invitation: show(invitation), link: `${base}/console/invite#${secret}` }
    },
  }),
  defineRoute({
    method: 'DELETE',
    url: '/api/invitations/:id',
    access: 'admin',
    summary: 'Revoke an invitation.',
    status: 204,
    async handle(request) {
      const { signIn } = request.parts.storage
      const id = request.params['id'] ?? ''
      needRightsOver(request, (await signIn.invitations()).find(one => one.id === id)?.role)
      if (!(await signIn.revokeInvitation(id, sessionUserOf(request).user.name))) throw fail('not_found')
      return null
    },
  }),
  defineRoute({
    method: 'POST',
    url: '/api/invitation',
    access: 'anyone',
    summary: 'Get the details of an invitation by its token.',
    body: { type: 'object', additionalProperties: false, required: ['token'], properties: { token } },
    answer: invitationAnswer,
    handle: async request => show(await needInvitation(request, hashToken(request.body.token))),
  }),
  defineRoute({
    method: 'POST',
    url: '/api/invitation/accept',
    access: 'anyone',
    summary: 'Accept an invitation with a password. Works once; the response sets the session cookie.',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['token', 'password'],
      properties: {
        token,
        name: { ...chosenName, description: 'Name of the new user. Only for an invitation without a name.' },
        password,
      },
    },
    answer: sessionAnswer,
    async handle(request) {
      const { parts, body, door } = request
      if (parts.plan().signIn?.passwords === false) throw fail('passwords_off')
      const hash = hashToken(body.token)
      const { name: given, role, group } = await needInvitation(request, hash)
      const name = given ?? body.name
      if (name === undefined) throw refuse('invalid', 'missing', { field: 'name' }, { param: 'name' })
      if (given !== null && body.name !== undefined && body.name !== given)
        throw refuse('invalid', 'invited_as', { name: given }, { param: 'name' })
      needGroup(request, group)
      checkPassword(body.password, name)
      const passwordHash = await door.hashes.run(() => parts.hashPassword(body.password))
      const newcomer = { user: { name, group, role, passwordHash }, identity: null, invitation: hash }
      if ((await parts.storage.signIn.admit(newcomer, name)) !== 'admitted') throw fail('invitation_unknown')
      const { session, cookie } = await enter(request, name)
      const headers = {
        'content-type': 'application/json; charset=utf-8',
        'set-cookie': [cookie, ...cookieOfIssuer(request)],
      }
      return new Reply(200, headers, JSON.stringify(session))
    },
  }),
]
