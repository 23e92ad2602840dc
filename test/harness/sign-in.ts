import type { Test } from 'tap'
import { type IssuerOptions, type RealIssuer, startIssuer } from './issuer.ts'
import { type Started, start, type StartOptions } from './start.ts'
import { type Answered, enterAsAdmin, newVisitor, type Visitor } from './visitor.ts'

export type SignIns = {
  readonly started: Started
  readonly issuer: RealIssuer
  readonly admin: Visitor
  /** Begins a sign-in; resolves with the issuer's address. */
  readonly leave: (visitor: Visitor, body?: object) => Promise<string>
  /** Returns from the issuer with its answer for a user. */
  readonly comeBack: (visitor: Visitor, address: URL, issuer?: string) => Promise<Answered>
  /** The complete sign-in, in a new browser if none is given. */
  readonly signIn: (
    as: string | null,
    how?: { visitor?: Visitor; body?: object },
  ) => Promise<Answered & { visitor: Visitor }>
}

export type SignInOptions = Pick<StartOptions, 'clock' | 'log' | 'edit'> & {
  /** Further settings of the issuer in the configuration. */
  readonly own?: object
  /** Further settings of `sign_in`. */
  readonly signIn?: object
  /** More issuers, and the public address if it differs from the gateway's own. */
  readonly more?: (issuer: RealIssuer) => object
  readonly publicUrl?: string
  /** A gateway that is already running. */
  readonly started?: Started
  readonly issuer?: Partial<IssuerOptions>
}

/** A gateway with an administrator, at which users sign in through a real issuer called `company`. */
export async function startSignIns(t: Test, options: SignInOptions = {}): Promise<SignIns> {
  const { own = {}, signIn: more = {}, clock, log, edit } = options
  const given = { upstreams: [], ...(clock && { clock }), ...(log && { log }), ...(edit && { edit }) }
  const started = options.started ?? (await start(t, given))
  const admin = await enterAsAdmin(started, clock as Parameters<typeof enterAsAdmin>[1])
  const redirects = ['company', 'other'].map(name => `${started.url}/console/sign-in/${name}`)
  const issuer = await startIssuer(t, { redirects, signedOut: [`${started.url}/console`], ...options.issuer })
  const company = {
    issuer: issuer.url,
    allow_http: true,
    label: 'Company account',
    client_id: 'tollgate',
    client_secret: issuer.secret,
    ...own,
  }
  const signIns = JSON.stringify({ ...more, issuers: { company, ...options.more?.(issuer) } })
  const publicUrl = options.publicUrl ?? started.url
  const reloaded = await started.reload([
    ['\nserver:\n', `\nsign_in: ${signIns}\nserver:\n  public_url: ${publicUrl}\n`],
  ])
  if (!reloaded.ok) throw new Error(JSON.stringify(reloaded))
  const leave: SignIns['leave'] = async (visitor, body = {}) => {
    const answer = await visitor.post('/api/sign-in', { issuer: 'company', ...body })
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
    return (answer.body as { location: string }).location
  }
  const comeBack: SignIns['comeBack'] = (visitor, address, name = 'company') =>
    visitor.post(`/api/sign-in/${name}`, { query: address.search })
  return {
    started,
    issuer,
    admin,
    leave,
    comeBack,
    async signIn(as, { visitor = newVisitor(started.url), body = {} } = {}) {
      issuer.as = as
      const address = await issuer.visit(await leave(visitor, body))
      return { ...(await comeBack(visitor, address)), visitor }
    },
  }
}
