import type { Browser } from 'playwright-core'
import type { Test } from 'tap'
import { lookAt, showAs, variants } from './look-at.ts'

/** Looks at a page in both languages, light and dark, on a phone and a desk: nothing is wrong with it. */
export async function lookEverywhere(t: Test, browser: Browser, address: string): Promise<void> {
  // Colours that are on their way from one theme to the other are not looked at.
  const page = await browser.newPage({ reducedMotion: 'reduce' })
  for (const language of ['en', 'zh']) {
    const url = new URL(address)
    url.searchParams.set('lang', language)
    await page.goto(url.href)
    for (const variant of variants) {
      await showAs(page, variant)
      t.strictSame(await lookAt(page), [], `${language} ${variant.theme} ${variant.width}`)
    }
  }
  await page.close()
}
