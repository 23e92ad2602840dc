import type { Duty } from '../api/shapes.ts'
import type { IconName } from '../kit/icon.tsx'
import type { Word } from '../words/index.ts'

/** `letter`: opens the page after `g`. `duty`: who sees the page; everyone if absent. */
export type NavigationItem = readonly [href: string, word: Word, icon: IconName, letter: string, duty?: Duty]

export const userNavigation: readonly NavigationItem[] = [
  ['/console', 'nav.costs', 'costs', 'c'],
  ['/console/budgets', 'nav.budgets', 'budgets', 'b'],
  ['/console/statements', 'nav.statements', 'statements', 's'],
  ['/console/tokens', 'nav.tokens', 'tokens', 't'],
  ['/console/logs', 'nav.logs', 'logs', 'l'],
  ['/console/playground', 'nav.playground', 'playground', 'p', 'keys'],
  ['/console/models', 'nav.models', 'models', 'm'],
]
export const adminNavigation: readonly NavigationItem[] = [
  ['/console/users', 'nav.users', 'users', 'u', 'readers'],
  ['/console/config', 'nav.config', 'config', 'f', 'operators'],
  ['/console/audit', 'nav.audit', 'audit', 'a', 'readers'],
  ['/console/sessions', 'nav.sessions', 'sessions', 'e', 'operators'],
  ['/console/system', 'nav.system', 'system', 'y', 'operators'],
  ['/console/alerts', 'nav.alerts', 'warn', 'w', 'readers'],
]
export const publicNavigation: readonly NavigationItem[] = [
  ['/pricing', 'nav.pricing', 'price', 'r'],
  ['/docs', 'nav.docs', 'docs', 'd'],
]
export const accountItem: NavigationItem = ['/console/account', 'nav.account', 'account', 'i']
