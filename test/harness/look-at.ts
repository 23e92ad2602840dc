import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { isFirefox } from './which-browser.ts'

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const layoutFaults = await readFile(new URL('layout-faults.js', import.meta.url), 'utf8')

/** The variant of a page: the width of a phone, a tablet or a desktop, and its colours. */
export type Variant = { readonly width: 390 | 768 | 1280; readonly theme: 'light' | 'dark' }

export const variants: readonly Variant[] = [
  { width: 1280, theme: 'light' },
  { width: 390, theme: 'light' },
  { width: 390, theme: 'dark' },
  { width: 1280, theme: 'dark' },
]

/** Shows a page in another variant, and waits until the layout has followed. */
export async function showAs(page: Page, { width, theme }: Variant): Promise<void> {
  // A browser that does not support the request for a theme gets it from the page, as by the page's switch.
  if (isFirefox) await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`)
  else await page.emulateMedia({ colorScheme: theme })
  await page.setViewportSize({ width, height: 900 })
  await page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
}

/**
 * Returns axe's findings, and elements that are beyond an edge, are cut off, or overlap others; none for a good page.
 */
export async function lookAt(page: Page): Promise<readonly string[]> {
  // Injected from outside the page's policy, which allows no third-party scripts.
  if (!(await page.evaluate('Boolean(window.axe)'))) await page.evaluate(axe)
  const found = await page.evaluate<string[]>(
    `axe.run(document, { resultTypes: ['violations'] })
      .then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html)))`,
  )
  return [...found, ...(await page.evaluate<string[]>(layoutFaults))]
}

/** Whether a page scrolls sideways; `undefined` if it does not. A vertical scrollbar does not count as width. */
export async function sideways(page: Page): Promise<string | undefined> {
  const [needed, there] = await page.evaluate<[number, number]>(
    '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
  )
  return needed > there ? `${needed} px wide, of ${there}` : undefined
}
