import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { loadConfig } from '../../src/index.ts'
import { type Editor, type Position, startEditor } from '../harness/language-server.ts'
import { editShipped, layProject } from '../harness/project.ts'

const env = { TOLLGATE_STORAGE: 'sqlite::memory:' }
const schema = new URL('../../schemas/gateway.schema.json', import.meta.url)

/** An editor on a project whose gateway.yaml names its schema in its modeline, as the shipped one does. */
async function openEditor(t: Test): Promise<{ readonly editor: Editor; readonly config: string }> {
  const { folder, config } = await layProject(t.testdir())
  await mkdir(join(folder, 'schemas'))
  await copyFile(schema, join(folder, 'schemas/gateway.schema.json'))
  return { editor: await startEditor(t, folder), config }
}

/** The position of the mark `▮` in a text, and the text without it. */
function cursor(marked: string): { readonly text: string; readonly position: Position } {
  const before = marked.slice(0, marked.indexOf('▮')).split('\n')
  return {
    text: marked.replace('▮', ''),
    position: { line: before.length - 1, character: before.at(-1)?.length ?? 0 },
  }
}

t.test('an editor reports nothing in the shipped configuration', async t => {
  const { editor, config } = await openEditor(t)
  t.strictSame(await editor.show(config, await editShipped([])), [])
})

t.test('an editor reports what `tollgate check` finds, at the same line and column', async t => {
  const { editor, config } = await openEditor(t)
  const faults: readonly (readonly [find: string, put: string])[] = [
    ['rpm: 60,', 'rpmm: 60,'],
    ['rpm: 60,', 'rpm: sixty,'],
    ['rpm: 60,', 'rpm: 0,'],
    ['connect: 5s', 'connect: 5'],
    ['total: 15m', 'total: 15min'],
    ['body_max: 32MiB', 'body_max: 32MB'],
    ['currency: USD', 'currency: usd'],
    ['currency: USD', 'currency: USD\ncurrency: EUR'],
    ['version: 1', 'version: 2'],
    ['1K: "0.02"', '1K: 0.02'],
    ['n_max: 128', 'n_max: 0.5'],
    ['streams: [image.generate, image.edit]', 'streams: image.generate'],
    ['tier_from: [output]', 'tier_from: [outptu]'],
    ['rule: ratio', 'rule: ratios'],
    ['stream: never', 'stream: nevr'],
    ['[auth, ratelimit', '[auth, { ratelimit: { on_store_failure: lcal } }'],
    ['[auth, ratelimit', '[auth, { ratelimit: { on_store_failures: local } }'],
  ]
  for (const [find, put] of faults) {
    const text = await editShipped([[find, put]])
    await writeFile(config, text)
    const loaded = await loadConfig(config, env)
    const findings = loaded.ok ? [] : loaded.findings.filter(({ severity }) => severity === 'error')
    const found = new Set(findings.map(({ line, col }) => `${line}:${col}`))
    const underlined = new Set(
      (await editor.show(config, text)).map(({ range: { start } }) => `${start.line + 1}:${start.character + 1}`),
    )
    t.ok(found.size > 0, put)
    t.strictSame(underlined, found, put)
  }
})

t.test('an editor offers keys, values and names of plugins where they belong', async t => {
  const { editor, config } = await openEditor(t)
  const offers: readonly (readonly [find: string, put: string, ...offered: string[]])[] = [
    ['\nserver:\n', '\nserver:\n  ▮\n', 'drain', 'drain_wait', 'memory_max'],
    ['\n  beta:\n', '\n  beta:\n    ▮\n', 'concurrency', 'cooldown', 'headers'],
    ['\n  beta-image:\n', '\n  beta-image:\n    ▮\n', 'n_max', 'streams', 'token-usage'],
    ['\n      render:', '\n      ▮\n      render:', 'answers', 'over_return'],
    ['rule: snap', 'rule: ▮', 'ratio', 'snap'],
    ['pipeline: [auth', 'pipeline: [▮, auth', 'auth', 'ratelimit', 'size-normalize'],
  ]
  for (const [find, put, ...offered] of offers) {
    const { text, position } = cursor(await editShipped([[find, put]]))
    await editor.show(config, text)
    const labels = await editor.complete(config, position)
    for (const label of offered) t.ok(labels.includes(label), `${label} among ${labels.join(' ')}`)
  }
})

t.test("an editor shows the schema's description of a key", async t => {
  const { editor, config } = await openEditor(t)
  const { properties } = parse(await readFile(schema, 'utf8')) as {
    properties: { [key: string]: { description: string; properties?: { [key: string]: { description: string } } } }
  }
  const shipped = await editShipped([])
  await editor.show(config, shipped)
  const plain = (text: string): string => text.replaceAll(/[\\`]|&\w+;/g, '').replaceAll(/\s+/g, ' ')
  const hovered = async (mark: string) =>
    plain(await editor.hover(config, cursor(shipped.replace(mark, `▮${mark}`)).position))
  for (const [mark, description] of [
    ['currency:', properties['currency']?.description],
    ['heartbeat:', properties['server']?.properties?.['heartbeat']?.description],
    ['upstreams:\n', properties['upstreams']?.description],
  ] as const) {
    t.ok(description, mark)
    t.match(await hovered(mark), plain(description ?? ''), mark)
  }
  t.match(await hovered('tier_from:'), /output.*request|pixels/, 'a key of a plugin’s section')
})

t.test('the schema is draft-07, which editors read', async t => {
  const { $schema } = JSON.parse(await readFile(schema, 'utf8')) as { $schema: string }
  t.equal($schema, 'http://json-schema.org/draft-07/schema#')
})
