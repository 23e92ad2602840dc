import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { type Browser, type CDPSession, chromium } from 'playwright-core'
import { findChromium } from '../test/harness/chromium.ts'
import { readFirstScripts } from '../test/harness/first-scripts.ts'
import { type Started, start } from '../test/harness/start.ts'
import { enterAsAdmin, type Visitor } from '../test/harness/visitor.ts'
import { median } from './measure.ts'

// `node bench/lcp.ts [--runs 5] [--language en] [--kilobytes 50] [--latency 600] [--requests 40]`: how soon the first
// page of the console (Costs) appears on a slow connection. Chromium, with nothing cached, signed in; each request
// waits for the latency, and all share the connection.

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '5' },
    language: { type: 'string', default: 'en' },
    kilobytes: { type: 'string', default: '50' },
    latency: { type: 'string', default: '600' },
    requests: { type: 'string', default: '40' },
  },
})
const runs = Number(options.runs)
const line = { offline: false, latency: Number(options.latency) } as const
const throughput = Number(options.kilobytes) * 1000

/** Milliseconds since the page was requested. */
type Seen = {
  /** The first text or picture, and the largest at first sight (web.dev/lcp). */
  readonly fcp: number
  readonly lcp: number
  /** The total spend, and its chart. */
  readonly sum: number
  readonly bars: number
  /** The layout shift, as browsers compute it (web.dev/cls). */
  readonly shift: number
  /** The element of the largest paint. */
  readonly what: string
}

/** Runs in the page before its own scripts. */
const watch = `
  const seen = (window.seen = { fcp: 0, lcp: 0, sum: 0, bars: 0, shift: 0, what: '' })
  const observe = (type, take) => new PerformanceObserver(list => list.getEntries().forEach(take)).observe({ type, buffered: true })
  observe('paint', one => one.name === 'first-contentful-paint' && (seen.fcp = one.startTime))
  observe('largest-contentful-paint', one => {
    seen.lcp = one.startTime
    seen.what = one.element ? one.element.tagName.toLowerCase() + ' ' + one.element.textContent.slice(0, 60) : ''
  })
  observe('layout-shift', one => one.hadRecentInput || (seen.shift += one.value))
  new MutationObserver(() => {
    if (!seen.sum && document.querySelector('.figure.first')) seen.sum = performance.now()
    if (!seen.bars && document.querySelector('.bars svg')) seen.bars = performance.now()
  }).observe(document, { childList: true, subtree: true })`

type Run = Seen & { readonly bytes: ReadonlyMap<string, number> }

async function look(browser: Browser, url: string, admin: Visitor): Promise<Run> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    locale: options.language === 'zh' ? 'zh-CN' : 'en-GB',
  })
  const [name = '', value = ''] = admin.cookie.split('=', 2)
  await context.addCookies([{ name, value, url }])
  const page = await context.newPage()
  const wire = await context.newCDPSession(page)
  await wire.send('Network.enable')
  await wire.send('Network.setCacheDisabled', { cacheDisabled: false })
  await wire.send('Network.emulateNetworkConditions', {
    ...line,
    downloadThroughput: throughput,
    uploadThroughput: throughput,
  })
  const bytes = countBytes(wire)
  await page.addInitScript(watch)
  await page.goto(`${url}/console`, { waitUntil: 'commit' })
  await page.locator('.bars svg').waitFor()
  await page.locator('.loading').first().waitFor({ state: 'detached' })
  // The last paint is reported after it happened.
  await page.evaluate('new Promise(done => requestAnimationFrame(() => setTimeout(done, 100)))')
  const seen = await page.evaluate<Seen>('window.seen')
  await context.close()
  return { ...seen, bytes }
}

/** Transferred bytes by initiator type, including headers. */
function countBytes(wire: CDPSession): ReadonlyMap<string, number> {
  const bytes = new Map<string, number>()
  const kinds = new Map<string, string>()
  wire.on('Network.responseReceived', ({ requestId, type }) => kinds.set(requestId, type))
  wire.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const kind = kinds.get(requestId) ?? 'Other'
    bytes.set(kind, (bytes.get(kind) ?? 0) + encodedDataLength)
  })
  return bytes
}

async function fill({ post, settled, gateway }: Started, requests: number): Promise<void> {
  const sizes = ['3840x2160', '2048x1152', '1024x1024']
  for (let n = 0; n < requests; n++) {
    const model = n % 2 === 0 ? 'alpha-image-2' : 'beta-imagine-image'
    const answer = await post('/v1/images/generations', { model, prompt: 'a boat', size: sizes[n % sizes.length] })
    await answer.arrayBuffer()
  }
  await settled()
  await gateway.storage.flush()
}

async function firstScriptBytes(): Promise<number> {
  const folder = resolve(import.meta.dirname, '../dist/console')
  let bytes = 0
  for (const file of (await readFirstScripts(folder)).all) bytes += gzipSync(await readFile(join(folder, file))).length
  return bytes
}

const stops: (() => Promise<unknown>)[] = []
try {
  const executablePath = await findChromium()
  if (executablePath === undefined) throw new Error('no Chromium runs here: install chromium')
  const started = await start(
    { teardown: (stop: () => Promise<unknown>) => void stops.push(stop) },
    { simulated: true },
  )
  const admin = await enterAsAdmin(started)
  await fill(started, Number(options.requests))
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
  stops.push(() => browser.close())
  const all: Run[] = []
  for (let run = 0; run < runs; run++) all.push(await look(browser, started.url, admin))
  const of = (pick: (run: Run) => number) => median(all.map(pick))
  const row = (name: string, text: string) => process.stdout.write(`${name.padEnd(32)}${text}\n`)
  const ms = (pick: (run: Run) => number) => {
    const each = all.map(pick).map(one => Math.round(one))
    return `${Math.round(of(pick))} ms (${Math.min(...each)} to ${Math.max(...each)})`
  }
  row('line', `${options.kilobytes} KB/s, ${options.latency} ms, nothing cached, ${runs} runs, ${options.language}`)
  row(
    'first text',
    ms(({ fcp }) => fcp),
  )
  row('largest (LCP)', `${ms(({ lcp }) => lcp)}: ${all.at(-1)?.what}`)
  row(
    'the sum',
    ms(({ sum }) => sum),
  )
  row(
    'the bars',
    ms(({ bars }) => bars),
  )
  row('moved (CLS)', of(({ shift }) => shift).toFixed(4))
  for (const kind of new Set(all.flatMap(({ bytes }) => [...bytes.keys()])))
    row(`bytes: ${kind}`, String(of(({ bytes }) => bytes.get(kind) ?? 0)))
  row('bytes', String(of(({ bytes }) => [...bytes.values()].reduce((sum, one) => sum + one, 0))))
  row('scripts of the page, gzipped', String(await firstScriptBytes()))
} finally {
  for (const stop of stops.toReversed()) await stop()
}
