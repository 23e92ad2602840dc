import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { browse, type Browsing, type Look } from '../harness/browser.ts'
import { chargedBy, layCallFee, loadCallFee } from '../harness/call-fee.ts'
import { emptyScenes, furnish, type Scene, visit } from '../harness/furnish.ts'
import { smallPng } from '../harness/small-png.ts'
import { enterAsAdmin, type Visitor } from '../harness/visitor.ts'

// `npm run screenshots`: takes pictures of every page of the console, of the page of prices and of the reference.

const folder = resolve(import.meta.dirname, '../../docs/screenshots')
const looks = [
  { language: 'zh', theme: 'light', width: 1280, height: 900 },
  { language: 'en', theme: 'dark', width: 1280, height: 900 },
  { language: 'zh', theme: 'light', width: 390, height: 844 },
] as const satisfies readonly Look[]
/** Limits long pages: the important content is at the top. */
const heightMax = 2400
/** Margin above and below a part of a page. */
const edgePx = 24
/** The height of a page, or of the dialog over it including the dialog's margin. */
const longest = `document.querySelector('dialog[open]')
  ? 40 + document.querySelector('dialog[open]').scrollHeight
  : document.body.scrollHeight`
/** Earlier actions may have scrolled the page. */
const toTop = `scrollTo(0, 0); document.querySelector('dialog[open]')?.scrollTo(0, 0)`

t.setTimeout(1_200_000)

t.test('pictures of every page', async t => {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const scenes = [...(await shootAll(t)), ...(await shootPlugin(t))]
  await writeFile(join(folder, 'README.md'), describe(scenes))
  let bytes = 0
  for (const name of await readdir(folder)) bytes += (await stat(join(folder, name))).size
  t.comment(`${bytes} bytes`)
})

/** Every page of a gateway after a typical day. */
async function shootAll(t: Test): Promise<readonly Scene[]> {
  const browsing = await browse(t, { file: 'gateway.yaml' })
  const admin = await enterAsAdmin(browsing)
  await shoot(browsing, admin, emptyScenes)
  const scenes = await furnish(browsing, admin)
  await shoot(browsing, admin, scenes)
  t.strictSame(browsing.faults, [])
  return [...emptyScenes, ...scenes]
}

/**
 * What the billing plugin of the examples shows without changes to the gateway: its price, and why a charge has its
 * amount.
 */
async function shootPlugin(t: Test): Promise<readonly Scene[]> {
  const plugin = await loadCallFee(await layCallFee(t.testdir()))
  const browsing = await browse(t, { edit: chargedBy(plugin.name), plugins: [plugin], file: 'gateway.yaml' })
  const admin = await enterAsAdmin(browsing)
  const body = { model: 'sim-rerank', query: 'a boat', documents: ['a ship', 'a tree'] }
  const answer = await browsing.post('/v1/rerank', body)
  await answer.arrayBuffer()
  await browsing.settled()
  const id = answer.headers.get('x-request-id') ?? ''
  const details = { path: `/console/logs/${id}`, ready: 'dialog[open] .sum-text', inside: true }
  const scenes: readonly Scene[] = [
    { name: 'plugin-pricing', path: '/pricing', part: 'section[aria-labelledby=use]' },
    { name: 'plugin-details', ...details },
  ]
  await shoot(browsing, admin, scenes)
  t.strictSame(browsing.faults, [])
  return scenes
}

async function shoot(browsing: Browsing, admin: Visitor, scenes: readonly Scene[]): Promise<void> {
  for (const look of looks) {
    const inside = await browsing.newPage({ ...look, as: admin })
    const outside = await browsing.newPage(look)
    for (const scene of scenes) {
      const page = scene.inside ? inside : outside
      await page.setViewportSize({ width: look.width, height: look.height })
      await visit(page, browsing.url, scene)
      const name = `${scene.name}-${look.language}-${look.theme}-${look.width}.png`
      await writeFile(join(folder, name), smallPng(await photograph(page, look, scene)))
    }
    await inside.context().close()
    await outside.context().close()
  }
}

async function photograph(page: Page, { width, height }: (typeof looks)[number], { part }: Scene): Promise<Buffer> {
  const box = part === undefined ? null : await page.locator(part).boundingBox()
  if (box) {
    const clip = { x: 0, y: box.y - edgePx, width, height: box.height + 2 * edgePx }
    return page.screenshot({ fullPage: true, clip })
  }
  const long = Number(await page.evaluate(longest))
  await page.setViewportSize({ width, height: Math.min(Math.max(long, height), heightMax) })
  await page.evaluate(toTop)
  return page.screenshot()
}

function describe(scenes: readonly Scene[]): string {
  const heads = looks.map(({ language, theme, width }) => `${language}, ${theme}, ${width} px`)
  const rows = scenes.map(({ name, path }) => {
    const pictures = looks.map(({ language, theme, width }) => `[png](${name}-${language}-${theme}-${width}.png)`)
    return `| ${name} | \`${path.replace(/[?#].*$/, '').replace(/req_\w+|key_\w+/, ':id')}\` | ${pictures.join(' | ')} |`
  })
  return [
    '# The console in pictures',
    '',
    'Written by `npm run screenshots` from a gateway over its simulators.',
    '',
    `| page | address | ${heads.join(' | ')} |`,
    `|---|---|${'---|'.repeat(looks.length)}`,
    ...rows,
    '',
  ].join('\n')
}
