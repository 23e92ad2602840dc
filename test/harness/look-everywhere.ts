import type { Browser } from 'playwright-core'
import type { Test } from 'tap'
import { lookAt, showAs, variants } from './look-at.ts'

/** Checks a page in both languages, light and dark, on a phone and a desktop. */
export async function lookEverywhere(t: Test, browser: Browser, address: string): Promise<void> {
  // Reduced motion: colours must not be checked during the transition between themes.
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
