import { type Issuer, waysIn } from '../../domain/index.ts'
import { departureAnswer, linksAnswer, signedInAnswer, signInAnswer } from '../response-schemas.ts'
import { type AdminRequest, defineRoute, Reply } from '../api.ts'
import { fail } from '../errors.ts'
import { refuse } from '../reasons.ts'
import { chosenName, passwordGuess } from '../schemas.ts'
import { writeCookie } from '../session/cookie.ts'
import { describeSession, enter } from '../session/start-session.ts'
import { needFreshSignIn } from '../session/need-fresh-sign-in.ts'
import { hashToken, isSessionOpen } from '../session/sessions.ts'
import { needRightsOver } from '../session/token-user.ts'
import { sessionUserOf } from '../session-user.ts'
import { recognize, tie } from '../sign-in/recognize.ts'
import { cookieOfIssuer } from '../sign-in/sign-out.ts'
import { finishLogin, beginLogin } from '../sign-in/login-state.ts'
import { toMoment } from '../to-moment.ts'

const json = 'application/json; charset=utf-8'

/** @throws Failure not_found */
function issuerOf({ parts }: AdminRequest, name: string): Issuer {
  const issuer = parts.plan().signIn?.issuers.get(name)
  if (!issuer) throw fail('not_found')
  return issuer
}

/** The public id of a link to an issuer. */
function linkId(issuer: string, subject: string): string {
  return hashToken(`${issuer}\n${subject}`).slice(0, 16)
}

export const signInRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/sign-in',
    access: 'anyone',
    summary: 'List the sign-in methods: whether passwords are allowed, and the identity providers.',
    answer: signInAnswer,
    handle({ parts }) {
      const issuers = [...(parts.plan().signIn?.issuers.values() ?? [])]
      return {
        passwords: waysIn(parts.plan()).passwords,
        issuers: issuers.map(({ name, label }) => ({ name, label })),
        at: issuers.length > 0 ? (parts.plan().server.publicUrl ?? null) : null,
      }
    },
  }),
  defineRoute({
    method: 'POST',
    url: '/api/sign-in',
    access: 'anyone',
    summary:
      'Start to sign in with an identity provider. The browser goes to `location` and must return within ten minutes.',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['issuer'],
      properties: {
        issuer: { type: 'string', maxLength: 40 },
        next: {
          type: 'string',
          maxLength: 500,
          pattern: String.raw`^/console(?:[/?#]|$)`,
          description: 'Path of the console page to open after the sign-in, such as /console/logs.',
        },
        invitation: {
          type: 'string',
          maxLength: 200,
          description: 'Token of an invitation, which the sign-in accepts.',
        },
        name: {
          ...chosenName,
          description: 'Name of the new user. Only for an invitation without a name.',
        },
        link: {
          type: 'boolean',
          default: false,
          description: 'true links the identity provider to the signed-in user, instead of a sign-in.',
        },
        password: {
          ...passwordGuess,
          description: 'For `link`: the password of the user, if the last sign-in is older than 10 minutes.',
        },
      },
    },
    answer: departureAnswer,
    async handle(request) {
      const { issuer, next, invitation, name, link, password } = request.body
      // A link is a way to sign in for good, as a password is.
      if (link) await needFreshSignIn(request, password)
      const errand = {
        next: next ?? null,
        user: link ? sessionUserOf(request).user.name : null,
        invitation: invitation === undefined ? null : hashToken(invitation),
        name: name ?? null,
      }
      const { location, cookie } = await beginLogin(request, issuerOf(request, issuer), errand)
      return new Reply(200, { 'content-type': json, 'set-cookie': cookie }, JSON.stringify({ location }))
    },
  }),
  defineRoute({
    method: 'POST',
    url: '/api/sign-in/:issuer',
    access: 'anyone',
    summary: "Complete the sign-in with the identity provider's response. The response sets the session cookie.",
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['query'],
      properties: {
        query: { type: 'string', maxLength: 8192, description: 'Query of the redirect URL: the part after `?`.' },
      },
    },
    answer: signedInAnswer,
    async handle(request) {
      const { parts, body, params, scheme, door } = request
      const issuer = issuerOf(request, params['issuer'] ?? '')
      const { errand, proof } = await finishLogin(request, issuer, body.query)
      const user = errand.user === null ? undefined : sessionUserOf(request).user
      // In the meantime another user has signed in in the same browser.
      if (user && user.name !== errand.user) throw fail('sign_in_stale')
      const vouched = await door.issuers.finish(issuer, proof, body.query, request.id)
      const arrived = { request, issuer, errand, ...vouched }
      const over = writeCookie(null, scheme, 'login')
      if (user) {
        // The session may have ended while the issuer answered.
        if (!(await isSessionOpen(request))) throw fail('not_logged_in')
        await tie(arrived, user.name)
        return finish({ session: describeSession(request, user), next: errand.next }, [over])
      }
      const { session, cookie } = await enter(request, await recognize(arrived), { issuer: issuer.name })
      parts.log.info({ request: request.id, issuer: issuer.name, user: session.user.name }, 'a user signed in')
      return finish({ session, next: errand.next }, [cookie, over, ...cookieOfIssuer(request, issuer, vouched.claims)])
    },
  }),
  defineRoute({
    method: 'GET',
    url: '/api/account/links',
    access: 'user',
    summary: 'List the identity providers that are linked to you.',
    answer: linksAnswer,
    async handle(request) {
      const links = await request.parts.storage.signIn.links(sessionUserOf(request).user.name)
      return {
        links: links.map(({ issuer, subject, createdAt }) => ({
          id: linkId(issuer, subject),
          issuer,
          created: toMoment(createdAt),
        })),
      }
    },
  }),
  defineRoute({
    method: 'DELETE',
    url: '/api/account/links/:id',
    access: 'user',
    summary: 'Unlink an identity provider. Your only sign-in method cannot be removed.',
    status: 204,
    async handle(request) {
      const { user } = sessionUserOf(request)
      const { signIn } = request.parts.storage
      const links = await signIn.links(user.name)
      const link = links.find(({ issuer, subject }) => linkId(issuer, subject) === request.params['id'])
      if (!link) throw fail('not_found')
      const how = { keepWayIn: true, ways: waysIn(request.parts.plan()) }
      if ((await signIn.unlink(user.name, link, user.name, how)) === 0) throw refuse('conflict', 'only_way_in', {})
      return null
    },
  }),
  defineRoute({
    method: 'DELETE',
    url: '/api/users/:name/links',
    access: 'admin',
    summary: 'Unlink a user from all identity providers. Their sessions end.',
    status: 204,
    async handle(request) {
      const { signIn } = request.parts.storage
      const name = request.params['name'] ?? ''
      needRightsOver(request, (await request.parts.storage.users.find(name))?.role)
      const ways = waysIn(request.parts.plan())
      if ((await signIn.unlink(name, undefined, sessionUserOf(request).user.name, { ways })) === 0)
        throw fail('not_found')
      await signIn.endSessions(name)
      return null
    },
  }),
]

function finish(answer: object, cookies: readonly string[]): Reply {
  return new Reply(200, { 'content-type': json, 'set-cookie': cookies }, JSON.stringify(answer))
}
