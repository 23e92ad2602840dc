import { hash, randomBytes } from 'node:crypto'
import { type Clock, systemTimers } from '../../src/index.ts'
import type { Started } from './start.ts'

export const passwordOfTests = 'correct horse battery'

export type Answered = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body's JSON; undefined when it is not JSON. */
  readonly body: unknown
  /** The code of an error. */
  readonly code: string | undefined
}

/** A browser at the console: it keeps its cookie, and sends the origin of its requests. */
export type Visitor = {
  cookie: string
  readonly ask: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answered>
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Answered>
  readonly post: (path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answered>
}

/** @param by the `fetch` for its requests, such as one from another address */
export function newVisitor(url: string, by: typeof fetch = fetch): Visitor {
  const visitor: Visitor = {
    cookie: '',
    async ask(method, path, body, headers = {}) {
      const own = {
        ...(visitor.cookie !== '' && { cookie: visitor.cookie }),
        ...(method !== 'GET' && { 'x-tollgate': '1', 'sec-fetch-site': 'same-origin', origin: url }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      }
      const response = await by(url + path, {
        method,
        headers: { ...own, ...headers },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        redirect: 'manual',
      })
      const text = await response.text()
      for (const set of response.headers.getSetCookie()) visitor.cookie = putCookie(visitor.cookie, set)
      const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
      const answer: unknown = isJson ? JSON.parse(text) : undefined
      const code =
        response.status >= 400 ? (answer as { error?: { code: string } } | undefined)?.error?.code : undefined
      return { status: response.status, headers: response.headers, text, body: answer, code }
    },
    get: (path, headers) => visitor.ask('GET', path, undefined, headers),
    post: (path, body = {}, headers) => visitor.ask('POST', path, body, headers),
  }
  return visitor
}

/** The cookies that a browser sends after `Set-Cookie`; a deleted cookie stays, without a value. */
function putCookie(cookies: string, set: string): string {
  const pair = set.split(';', 1)[0] ?? ''
  const name = pair.slice(0, pair.indexOf('=') + 1)
  return [...cookies.split('; ').filter(one => one !== '' && !one.startsWith(name)), pair].join('; ')
}

/** A token that creates the first administrator. */
export async function offerToken({ gateway }: Started, validMs = 3_600_000, now = Date.now()): Promise<string> {
  const token = randomBytes(32).toString('base64url')
  await gateway.storage.users.offerSetup(hash('sha256', token, 'hex'), now + validMs)
  return token
}

/** A visitor who has become the first administrator. */
export async function enterAsAdmin(started: Started, clock?: Clock): Promise<Visitor> {
  const visitor = newVisitor(started.url)
  const token = await offerToken(started, 3_600_000, clock?.now())
  const entered = await visitor.post('/api/setup', { token, name: 'root', password: passwordOfTests })
  if (entered.status !== 200) throw new Error(`setup: ${entered.status} ${entered.text}`)
  return visitor
}

/** Another user, signed in. */
export async function enterAsUser({ url }: Started, admin: Visitor, name: string, role = 'user'): Promise<Visitor> {
  const made = await admin.post('/api/users', { name, role, password: passwordOfTests })
  if (made.status !== 201) throw new Error(`users: ${made.status} ${made.text}`)
  const visitor = newVisitor(url)
  const entered = await visitor.post('/api/session', { name, password: passwordOfTests })
  if (entered.status !== 200) throw new Error(`login: ${entered.status} ${entered.text}`)
  return visitor
}

/** A running clock that can be moved ahead. */
export function movableClock(): Clock & { forward(ms: number): void } {
  let ahead = 0
  return {
    now: () => Date.now() + ahead,
    tick: () => performance.now() + ahead,
    ...systemTimers,
    forward: ms => void (ahead += ms),
  }
}
