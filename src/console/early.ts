import { prefetch, mayPrefetch, readHeaders } from './api/prefetch.ts'
import type { Session } from './api/shapes.ts'
import { readCostsQuery } from './pages/costs/costs-query.ts'
import { remember } from './remember.ts'
import { wordAddresses } from './words/addresses.ts'
import { wantedLanguage } from './words/languages.ts'
import { zoneOf } from './zone.ts'

// This script is small and loads first: on a slow connection, answers arrive while the page's scripts are loading.

function begin(): void {
  const { pathname, search } = location
  const theme = remember.read('theme', ['light', 'dark'])
  if (theme) document.documentElement.dataset['theme'] = theme

  const read = (path: string) => prefetch(`/api${path}`, { headers: readHeaders })

  prefetch(wordAddresses[wantedLanguage()]).catch(() => undefined)
  if (/^\/console\/(?:login|setup|invite|sign-in)/.test(pathname)) {
    // The outline is that of a page for signed-in users.
    document.getElementById('app')?.replaceChildren()
  }
  if (!pathname.startsWith('/console/sign-in'))
    read('/session')
      .then(async response => {
        if (!response.ok || pathname !== '/console') return
        const { may } = (await response.json()) as Session
        const query: { readonly [name: string]: string | undefined } = Object.fromEntries(new URLSearchParams(search))
        const { costs, avoidable } = readCostsQuery(query, zoneOf(query['zone']), may.includes('readers'))
        await Promise.all([read(`/costs${costs}`), read(`/costs/avoidable${avoidable}`)])
      })
      // The next request reports the error.
      .catch(() => undefined)
}

if (mayPrefetch()) begin()
