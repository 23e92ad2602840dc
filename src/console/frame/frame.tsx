import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { useOpenAlerts } from '../api/alerts.ts'
import { logOut } from '../api/session.ts'
import type { Session } from '../api/shapes.ts'
import { Button } from '../kit/button.tsx'
import { Icon } from '../kit/icon.tsx'
import { fetchPages } from '../kit/later.tsx'
import { say } from '../kit/toast.tsx'
import { t } from '../words/index.ts'
import { Brand } from './brand.tsx'
import { SearchButton, Shortcuts } from './shortcuts.tsx'
import { Switches } from './switches.tsx'
import { accountItem, adminNavigation, publicNavigation, type NavigationItem, userNavigation } from './navigation.ts'
import { faultText } from '../kit/problem.tsx'

/** The time after which the first page has loaded its data. */
const restMs = 8_000

/** The frame of every page for signed-in users: links to the other pages, and the user's name. */
export function Frame({ session, children }: { readonly session: Session; readonly children?: ComponentChildren }) {
  const { path } = useLocation()
  const alerts = useOpenAlerts(session.may.includes('readers'))
  const side = useRef<HTMLElement>(null)
  useEffect(() => side.current?.hidePopover(), [path])
  useEffect(() => {
    const timer = setTimeout(() => void fetchPages(), restMs)
    return () => clearTimeout(timer)
  }, [])
  const open = ([, , , , duty]: NavigationItem) => duty === undefined || session.may.includes(duty)
  const all = useMemo(
    () => [...userNavigation, ...adminNavigation, ...publicNavigation, accountItem].filter(open),
    [session],
  )
  const leave = () => logOut().catch((error: unknown) => say(faultText(error), 'bad'))
  return (
    <div class="frame">
      <a class="skip" href="#main">
        {t('skip')}
      </a>
      <header class="top">
        <Brand />
        <Button kind="quiet" icon="menu" popovertarget="side" aria-label={t('menu')} title={t('menu')} />
      </header>
      <nav id="side" class="side" popover="auto" ref={side} aria-label={t('menu')}>
        <Brand />
        <SearchButton />
        <Navigation items={userNavigation.filter(open)} path={path} />
        {adminNavigation.some(open) && (
          <div>
            <h2>{t('nav.admin')}</h2>
            <Navigation items={adminNavigation.filter(open)} path={path} alerts={alerts} />
          </div>
        )}
        <div>
          <h2>{t('nav.public')}</h2>
          <Navigation items={publicNavigation} path={path} />
        </div>
        <div class="who">
          <a
            href={accountItem[0]}
            title={`${t(accountItem[1])}${t('colon')}${session.user.name}`}
            {...(path === accountItem[0] && { 'aria-current': 'page' as const })}
          >
            <Icon name="account" />
            <span class="theirs" title={session.user.name}>
              {session.user.name}
            </span>
          </a>
          <Switches compact />
          <Button kind="quiet" icon="leave" aria-label={t('logout')} title={t('logout')} onClick={leave} />
        </div>
      </nav>
      <Shortcuts items={all} />
      <div>
        {session.gateway.simulated.length > 0 && (
          <aside class="banner" aria-label={t('simulated.label')}>
            {t('simulated', { names: session.gateway.simulated.join(', ') })}
          </aside>
        )}
        <main id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
    </div>
  )
}

function Navigation({
  items,
  path,
  alerts = 0,
}: {
  readonly items: readonly NavigationItem[]
  readonly path: string
  readonly alerts?: number
}) {
  return (
    <ul>
      {items.map(item => (
        <NavigationLink key={item[0]} item={item} path={path} open={item[1] === 'nav.alerts' ? alerts : 0} />
      ))}
    </ul>
  )
}

/** A link to a page. `open`: the number of open items on it. */
function NavigationLink({
  item: [href, word, icon],
  path,
  open = 0,
}: {
  readonly item: NavigationItem
  readonly path: string
  readonly open?: number
}) {
  const here = path === href || (href !== '/console' && path.startsWith(`${href}/`))
  return (
    <li>
      <a href={href} {...(here && { 'aria-current': 'page' })}>
        <Icon name={icon} />
        {t(word)}
        {open > 0 && (
          <span class="tag accent" role="img" aria-label={`${open} ${t('alerts.open')}`}>
            {open}
          </span>
        )}
      </a>
    </li>
  )
}
