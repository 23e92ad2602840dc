import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { isFirefox } from './which-browser.ts'

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const layoutFaults = await readFile(new URL('layout-faults.js', import.meta.url), 'utf8')

/** What a page shows differently: the width of a phone or a desk, and its colours. */
export type Variant = { readonly width: 390 | 1280; readonly theme: 'light' | 'dark' }

export const variants: readonly Variant[] = [
  { width: 1280, theme: 'light' },
  { width: 390, theme: 'light' },
  { width: 390, theme: 'dark' },
  { width: 1280, theme: 'dark' },
]

/** Shows a page as another variant; what follows the width has followed. */
export async function showAs(page: Page, { width, theme }: Variant): Promise<void> {
  // Where the browser cannot be asked for a theme the page is, as by its own switch.
  if (isFirefox) await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`)
  else await page.emulateMedia({ colorScheme: theme })
  await page.setViewportSize({ width, height: 900 })
  await page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
}

/** What axe finds on a page, and what stands beyond its edge, is cut, or lies over something else; none when all is well. */
export async function lookAt(page: Page): Promise<readonly string[]> {
  // From outside the page, past its policy: the page itself lets no script of others in.
  if (!(await page.evaluate('Boolean(window.axe)'))) await page.evaluate(axe)
  const found = await page.evaluate<string[]>(
    `axe.run(document, { resultTypes: ['violations'] })
      .then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html)))`,
  )
  return [...found, ...(await page.evaluate<string[]>(layoutFaults))]
}

/** Whether a page has to be scrolled sideways; `undefined` where it has not. A scrollbar at its side is no part of its width. */
export async function sideways(page: Page): Promise<string | undefined> {
  const [needed, there] = await page.evaluate<[number, number]>(
    '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
  )
  return needed > there ? `${needed} px wide, of ${there}` : undefined
}
