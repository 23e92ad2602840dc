import { registerHooks } from 'node:module'
import type { Browser } from 'playwright-core'
import { findChromium } from './chromium.ts'
import { findProgram } from './find-program.ts'

/** Of `TEST_BROWSER`: whose engine the tests of pages run in. */
const name = process.env['TEST_BROWSER'] ?? 'chromium'
if (name !== 'chromium' && name !== 'firefox') throw new Error(`TEST_BROWSER=${name}: chromium or firefox`)

/** A Firefox as its makers release it, asked over WebDriver BiDi: the one that Playwright patches is on no registry. */
export const isFirefox = name === 'firefox'

const given = process.env['TEST_BROWSER_PATH']
const path = given ?? (isFirefox ? findProgram('firefox-esr', 'firefox') : await findChromium())

/** Why no test of a page runs; `after` fails on it under CI=true. */
export const browserMissing: string | false = path === undefined && `no ${name} runs here: install ${name}`

/** What a browser that is asked over BiDi is slower by. */
export const slowness = isFirefox ? 4 : 1

/**
 * What Firefox knows no way to be told, or no test can read; a test says with it that a part of it was left out.
 * Themes are chosen as on the page itself there (`showAs`), and less motion is a preference of the whole browser.
 */
export const leftOut = 'left out: Firefox cannot be asked for this over BiDi'

const preferences = {
  'ui.prefersReducedMotion': 1,
  // It writes to nobody by itself, and asks nobody for experiments.
  'app.normandy.enabled': false,
  'nimbus.rollouts.enabled': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  // What a page copied is read back by it.
  'dom.events.testing.asyncClipboard': true,
  // A page that lost its focus to buttons of the browser's own takes it back (`pressTab`).
  'dom.disable_window_flip': false,
}

export async function launchBrowser(): Promise<Browser> {
  if (path === undefined || browserMissing) throw new Error(String(browserMissing))
  if (isFirefox) mendForFirefox()
  const { chromium, firefox } = await import('playwright-core')
  if (!isFirefox) return chromium.launch({ executablePath: path, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
  return firefox.launch({ channel: 'moz-firefox', executablePath: path, firefoxUserPrefs: preferences })
}

let isMended = false

/**
 * Playwright sets `prefers-color-scheme` for each page that it opens, by a command that Firefox 153 has not, and opens none where that
 * fails; and it does not hear of a download that no navigation began, to which Firefox gives no name. Its source is read with both mended.
 */
function mendForFirefox(): void {
  if (isMended) return
  isMended = true
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      if (!url.endsWith('/playwright-core/lib/coreBundle.js')) return loaded
      let source = Buffer.from(loaded.source as Uint8Array).toString()
      for (const [what, instead] of mends) {
        const mended = source.replaceAll(what, instead)
        if (mended === source) throw new Error(`playwright-core has no ${what} any more: leave this out`)
        source = mended
      }
      return { ...loaded, source }
    },
  })
}

const mends = [
  [/await [\w.]+\.send\("emulation\.setMediaFeaturesOverride", /g, 'void ('],
  [/if \(!event\.download && !event\.navigation\)\s+return;/g, ''],
  [/event\.download \?\? event\.navigation/g, 'event.download ?? event.navigation ?? event.url'],
] as const
