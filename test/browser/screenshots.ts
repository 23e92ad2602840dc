import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import t from 'tap'
import { browse, type Look } from '../harness/browser.ts'
import { emptyScenes, furnish, type Scene, visit } from '../harness/furnish.ts'
import { smallPng } from '../harness/small-png.ts'
import { enterAsAdmin } from '../harness/visitor.ts'

// `npm run screenshots`: every page of the console, the page of prices and the reference as pictures.

const folder = resolve(import.meta.dirname, '../../docs/screenshots')
const looks = [
  { language: 'zh', theme: 'light', width: 1280, height: 900 },
  { language: 'en', theme: 'dark', width: 1280, height: 900 },
  { language: 'zh', theme: 'light', width: 390, height: 844 },
] as const satisfies readonly Look[]
/** Pages may be long; what matters of them stands at the top. */
const heightMax = 2400
/** How high a page is, or the dialog that lies over it, with the room that is left around one. */
const longest = `document.querySelector('dialog[open]')
  ? 40 + document.querySelector('dialog[open]').scrollHeight
  : document.body.scrollHeight`
/** What was done on a page may have scrolled it. */
const toTop = `scrollTo(0, 0); document.querySelector('dialog[open]')?.scrollTo(0, 0)`

t.setTimeout(1_200_000)

t.test('pictures of every page', async t => {
  const browsing = await browse(t, { file: 'gateway.yaml' })
  const { url, faults } = browsing
  const admin = await enterAsAdmin(browsing)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const shoot = async (scenes: readonly Scene[]) => {
    for (const look of looks) {
      const inside = await browsing.newPage({ ...look, as: admin })
      const outside = await browsing.newPage(look)
      for (const scene of scenes) {
        const page = scene.inside ? inside : outside
        await page.setViewportSize({ width: look.width, height: look.height })
        await visit(page, url, scene)
        const long = Number(await page.evaluate(longest))
        await page.setViewportSize({ width: look.width, height: Math.min(Math.max(long, look.height), heightMax) })
        await page.evaluate(toTop)
        const name = `${scene.name}-${look.language}-${look.theme}-${look.width}.png`
        await writeFile(join(folder, name), smallPng(await page.screenshot()))
      }
      await inside.context().close()
      await outside.context().close()
    }
  }
  await shoot(emptyScenes)
  const scenes = await furnish(browsing, admin)
  await shoot(scenes)
  await writeFile(join(folder, 'README.md'), describe([...emptyScenes, ...scenes]))
  let bytes = 0
  for (const name of await readdir(folder)) bytes += (await stat(join(folder, name))).size
  t.comment(`${bytes} bytes`)
  t.strictSame(faults, [])
})

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
