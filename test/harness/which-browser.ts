import { registerHooks } from 'node:module'
import type { Browser } from 'playwright-core'
import { findChromium } from './chromium.ts'
import { findProgram } from './find-program.ts'

/** The browser of the tests of pages, from `TEST_BROWSER`. */
const name = process.env['TEST_BROWSER'] ?? 'chromium'
if (name !== 'chromium' && name !== 'firefox') throw new Error(`TEST_BROWSER=${name}: chromium or firefox`)

/**
 * An unmodified Firefox release, controlled over WebDriver BiDi: the build that Playwright patches is in no registry.
 */
export const isFirefox = name === 'firefox'

const given = process.env['TEST_BROWSER_PATH']
const path = given ?? (isFirefox ? findProgram('firefox-esr', 'firefox') : await findChromium())

/** Why no test of a page runs; `after` fails on it under CI=true. */
export const browserMissing: string | false = path === undefined && `no ${name} runs here: install ${name}`

/** The factor by which a browser over BiDi is slower. */
export const slowness = isFirefox ? 4 : 1

/**
 * The reason that a test reports for a part that it leaves out, because Firefox has no command for it, or because the
 * test cannot read the result. In Firefox, themes are selected as on the page itself (`showAs`), and reduced motion is
 * a preference of the whole browser.
 */
export const leftOut = 'left out: Firefox cannot be asked for this over BiDi'

const preferences = {
  'ui.prefersReducedMotion': 1,
  // Disables its own network traffic and experiments.
  'app.normandy.enabled': false,
  'nimbus.rollouts.enabled': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  // Allows reading what a page has copied.
  'dom.events.testing.asyncClipboard': true,
  // Allows a page to take the focus back from the browser's own buttons (`pressTab`).
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
 * Playwright sets `prefers-color-scheme` for each page that it opens, by a command that Firefox 153 does not have; if
 * the command fails, it opens no page. It also misses a download without a navigation, to which Firefox gives no name.
 * This loads Playwright's source with both faults fixed.
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
