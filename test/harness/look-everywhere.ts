import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Browser } from 'playwright-core'
import type { Test } from 'tap'

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Of a page, what stands beyond its right edge and cannot be scrolled to within itself. */
const beyond = `[...document.querySelectorAll('main *, header *')]
  .filter(one => !one.closest('pre, caption, thead') && one.getBoundingClientRect().right > innerWidth + 1)
  .map(one => one.outerHTML.slice(0, 100))`

/** Looks at a page in both languages, light and dark, on a phone and a desk: axe finds nothing, nothing is beyond the edge. */
export async function lookEverywhere(t: Test, browser: Browser, address: string): Promise<void> {
  // What the page itself forbids, scripts of others, is let in here to look at it.
  const page = await browser.newPage({ bypassCSP: true })
  for (const language of ['en', 'zh']) {
    const url = new URL(address)
    url.searchParams.set('lang', language)
    await page.goto(url.href)
    await page.addScriptTag({ content: axe })
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [390, 1280]) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: 900 })
        const found = await page.evaluate(
          `axe.run(document, { resultTypes: ['violations'] })
            .then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))`,
        )
        t.strictSame(found, [], `${language} ${colorScheme} ${width}`)
        t.strictSame(await page.evaluate(beyond), [], `${language} ${width}: nothing stands beyond the edge`)
      }
    }
  }
  await page.close()
}
