import type { VNode } from 'preact'
import { LocationProvider, Route, Router, useLocation } from 'preact-iso'
import { useEffect, useRef } from 'preact/hooks'
import { askSession, sessionState } from './api/session.ts'
import { queryText } from './api/call.ts'
import type { Duty } from './api/shapes.ts'
import { SignInFrame } from './frame/sign-in-frame.tsx'
import { Frame } from './frame/frame.tsx'
import { FaultPage } from './frame/fault-page.tsx'
import { Shell } from './frame/shell.tsx'
import { Empty } from './kit/empty.tsx'
import { later } from './kit/later.tsx'
import { Page } from './kit/page.tsx'
import { Problem } from './kit/problem.tsx'
import { Toasts } from './kit/toast.tsx'
import { safeNext } from './next.ts'
import { Costs } from './pages/costs.tsx'
import { Login, SignInAgain } from './pages/login.tsx'
import { t } from './words/index.ts'

// The usual first page is in the console's bundle; every other page is fetched when it is opened.
const Account = later(async () => (await import('./pages/account.tsx')).Account)
const Alerts = later(async () => (await import('./pages/alerts.tsx')).Alerts)
const Audit = later(async () => (await import('./pages/audit.tsx')).Audit)
const Budgets = later(async () => (await import('./pages/budgets.tsx')).Budgets)
const SignInReturn = later(async () => (await import('./pages/sign-in-return.tsx')).SignInReturn)
const Config = later(async () => (await import('./pages/config.tsx')).Config)
const Invite = later(async () => (await import('./pages/invite.tsx')).Invite)
const Latency = later(async () => (await import('./pages/latency.tsx')).Latency)
const Logs = later(async () => (await import('./pages/logs.tsx')).Logs)
const Models = later(async () => (await import('./pages/models.tsx')).Models)
const Playground = later(async () => (await import('./pages/playground.tsx')).Playground)
const Sessions = later(async () => (await import('./pages/sessions.tsx')).Sessions)
const Setup = later(async () => (await import('./pages/setup.tsx')).Setup)
const Statements = later(async () => (await import('./pages/statements.tsx')).Statements)
const System = later(async () => (await import('./pages/system.tsx')).System)
const Tokens = later(async () => (await import('./pages/tokens.tsx')).Tokens)
const Users = later(async () => (await import('./pages/users.tsx')).Users)

export function App() {
  return (
    <FaultPage>
      <LocationProvider scope="/console">
        <Doorway />
      </LocationProvider>
      <Toasts />
    </FaultPage>
  )
}

/** Shows pages to signed-in users. All others get the sign-in page, and return to their page afterwards. */
function Doorway() {
  const { path, url, query, route } = useLocation()
  const shown = useRef(path)
  const state = sessionState.value
  const issuer = /^\/console\/sign-in\/([a-z0-9-]+)$/.exec(path)?.[1]
  const outside = path in outsidePages
  useEffect(() => {
    // A user who returns from an issuer is not signed in before that.
    if (issuer === undefined) void askSession()
  }, [])
  useEffect(() => {
    if (issuer !== undefined) return
    if (state.kind === 'out' && !outside)
      route(state.setupNeeded ? '/console/setup' : `/console/login${queryText({ next: url })}`, true)
    if (state.kind === 'in' && outside) route(safeNext(query['next']), true)
  }, [state, outside])
  if (issuer !== undefined)
    return (
      <SignInFrame>
        <SignInReturn issuer={issuer} onDone={next => route(safeNext(next), true)} />
      </SignInFrame>
    )
  if (state.kind === 'failed')
    return (
      <SignInFrame>
        <Problem error={state.error} onRetry={() => void askSession()} />
      </SignInFrame>
    )
  if (state.kind === 'asking' || (state.kind === 'in') === outside) return outside ? <SignInFrame /> : <Shell />
  if (state.kind === 'out') return <SignInFrame>{outsidePages[path] ?? <Login />}</SignInFrame>
  // The router scrolls to the top of each new address, but a drawer opens over its list.
  const place = path !== shown.current && pageOf(path) === pageOf(shown.current) ? scrollY : undefined
  const keepPlace = () => {
    if (place !== undefined) scrollTo(0, place)
    shown.current = path
  }
  const routes = otherRoutes.flatMap(([duty, route]) => (state.session.may.includes(duty) ? [route] : []))
  return (
    <>
      <Frame key={state.session.user.name} session={state.session}>
        <FaultPage at={path}>
          <Router onRouteChange={keepPlace}>
            <Route path="/console" component={Costs} />
            <Route path="/console/budgets" component={Budgets} />
            <Route path="/console/statements" component={Statements} />
            <Route path="/console/tokens/:id?" component={Tokens} />
            <Route path="/console/logs/:id?" component={Logs} />
            <Route path="/console/latency" component={Latency} />
            <Route path="/console/models" component={Models} />
            <Route path="/console/account" component={Account} />
            {routes}
            <Route default component={Nowhere} />
          </Router>
        </FaultPage>
      </Frame>
      {state.hasEnded && <SignInAgain />}
    </>
  )
}

/** The page of an address: `/console/logs` of `/console/logs/req_1`. */
function pageOf(path: string): string {
  return path.split('/', 3).join('/')
}

/** Pages for users who are not signed in. */
const outsidePages: { readonly [path: string]: VNode } = {
  '/console/login': <Login />,
  '/console/setup': <Setup />,
  '/console/invite': <Invite />,
}

const otherRoutes: readonly (readonly [Duty, VNode])[] = [
  ['keys', <Route key="playground" path="/console/playground" component={Playground} />],
  ['readers', <Route key="users" path="/console/users" component={Users} />],
  ['operators', <Route key="config" path="/console/config" component={Config} />],
  ['readers', <Route key="audit" path="/console/audit" component={Audit} />],
  ['readers', <Route key="alerts" path="/console/alerts" component={Alerts} />],
  ['operators', <Route key="sessions" path="/console/sessions" component={Sessions} />],
  ['operators', <Route key="system" path="/console/system" component={System} />],
]

function Nowhere() {
  return (
    <Page title={t('nowhere')}>
      <Empty title={t('nowhere.text')}>
        <a href="/console">{t('nav.costs')}</a>
      </Empty>
    </Page>
  )
}
