import { execFile } from 'node:child_process'
import { createHash, createHmac } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { createGateway, createKey, definePlugin, Failure, loadConfig, SigningError } from '../../src/index.ts'
import { addPackage, editShipped, layProject, type Project, readBlocks } from '../harness/project.ts'
import { startUpstream } from '../harness/upstream.ts'
import { type Edits, quietLog } from '../harness/start.ts'
import { caseName } from '../harness/case-name.ts'

const example = new URL('../../docs/examples/plugin-prompt-guard/', import.meta.url)
const name = 'tollgate-plugin-prompt-guard'
const env = {
  TOLLGATE_LISTEN: '127.0.0.1:0',
  TOLLGATE_OPS: 'off',
  TOLLGATE_STORAGE: 'sqlite::memory:',
}

/** The shipped configuration with a plugin as its third pipeline step, and a section in the first family. */
const guarded = (step: string, section: string): Edits => [
  ['format-bridge, multipart-rewrite', `format-bridge, multipart-rewrite, { "${step}": { mode: refuse } }`],
  ['\n  alpha-image:\n', `\n  alpha-image:\n    prompt-guard: ${section}\n`],
]
const words = '{ words: [Dragon] }'

async function ask(t: Test, { config }: Project) {
  const gateway = await createGateway(config, { env, log: quietLog() })
  t.teardown(() => gateway.close())
  const { url } = await gateway.listen()
  const { secret } = await createKey(gateway.storage, { name: 'test', user: 'local' })
  const post = (model: string, prompt: string) =>
    fetch(`${url}/v1/images/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, prompt }),
    })
  return { gateway, post }
}

for (const [how, step] of [
  ['a package', name],
  ['a path', `./node_modules/${name}/index.js`],
] as const) {
  t.test(`a third-party plugin is named as ${how}, next to the configuration`, async t => {
    const project = await layProject(t.testdir(), guarded(step, words))
    await addPackage(project, example, name)
    const { gateway, post } = await ask(t, project)
    const refused = await post('alpha-image-2', 'a DRAGON at dawn')
    t.equal(refused.status, 403)
    t.equal(refused.headers.get('x-should-retry'), 'false')
    t.match(await refused.json(), { error: { code: 'prompt_refused', param: 'prompt', message: /'Dragon'/ } })
    t.equal((await post('alpha-image-2', 'a boat at dawn')).status, 200)
    t.equal((await post('beta-imagine-image', 'a dragon')).status, 200, 'a family without the section')
    await gateway.storage.flush()
    const charged = (await gateway.storage.journal.list({ limit: 9 })).filter(({ charge }) => charge)
    t.equal(charged.length, 2, 'a refused request has no charge')
  })
}

/** A plugin in one file, for a folder without installed packages. */
const lonely = {
  'index.js': `import { definePlugin, failures } from 'tollgate'
    import settings from 'tollgate/package.json' with { type: 'json' }
    const fail = failures({ closed: { status: 403, type: 'permission_error', text: 'Closed by {name}.' } })
    export default definePlugin({ name: 'lonely', create: () => ({ onTarget() { throw fail('closed', { name: settings.name }) } }) })`,
  'index.cjs': `const { definePlugin, failures } = require('tollgate')
    const fail = failures({ closed: { status: 403, type: 'permission_error', text: 'Closed by {name}.' } })
    module.exports = definePlugin({ name: 'lonely', create: () => ({ onTarget() { throw fail('closed', { name: 'tollgate' }) } }) })`,
  'late.js': `export default { name: 'lonely', create: () => ({
      async onTarget() {
        const { fail } = await import('./parts/fail.js')
        throw fail('closed', { name: 'tollgate' })
      },
    }) }`,
}

for (const [file, code] of Object.entries(lonely))
  for (const second of [false, true])
    t.test(
      `${file} gets the copy of tollgate that runs${second ? ', and not the one beside it' : ', where none is installed'}`,
      async t => {
        const folder = t.testdir({
          [file]: code,
          'package.json': '{ "name": "somebodys", "type": "module" }',
          'gateway.yaml': await editShipped([['ratelimit,', `ratelimit, ./${file},`]]),
          parts: {
            'fail.js': `import { failures } from 'tollgate'
            export const fail = failures({ closed: { status: 403, type: 'permission_error', text: 'Closed by {name}.' } })`,
          },
          ...(second && {
            node_modules: {
              tollgate: {
                'package.json':
                  '{ "name": "second", "exports": { ".": "./index.js", "./package.json": "./package.json" } }',
                'index.js': 'throw new Error("this is another copy")',
              },
            },
          }),
        })
        const { post } = await ask(t, { folder, config: join(folder, 'gateway.yaml') })
        const refused = await post('alpha-image-2', 'a boat')
        t.equal(refused.status, 403)
        t.match(await refused.json(), { error: { code: 'closed', message: 'Closed by tollgate.' } })
      },
    )

t.test('failures and slots of a second copy of the package are understood like those of the first', async t => {
  const load = (file: string): Promise<unknown> => import(`../../src/${file}?second`)
  const second = (await load('domain/errors.ts')) as typeof import('../../src/domain/errors.ts')
  const { SigningError: OtherSigning } = (await load(
    'plugin-api/signer.ts',
  )) as typeof import('../../src/plugin-api/signer.ts')
  const { callerSlot: other } = (await load('domain/caller.ts')) as typeof import('../../src/domain/caller.ts')
  t.not(second.Failure, Failure)
  t.ok(new OtherSigning('no') instanceof SigningError)
  t.notOk(new Error('no') instanceof SigningError)
  t.notOk(new OtherSigning('no') instanceof Failure)
  class Mine extends Failure {}
  t.notOk(second.failures({ no: { status: 400, type: 'x', text: 'No.' } })('no') instanceof Mine)
  const fail = second.failures({ closed: { status: 403, type: 'permission_error', text: 'Closed to {group}.' } })
  const plugin = definePlugin({
    name: 'second',
    needs: [other],
    create: () => ({
      onTarget(context) {
        throw fail('closed', { group: context.slots.need(other).group.name })
      },
    }),
  })
  const text = await editShipped([['ratelimit,', 'ratelimit, second,']])
  const gateway = await createGateway({ text }, { env, log: quietLog(), plugins: [plugin] })
  t.teardown(() => gateway.close())
  const { url } = await gateway.listen()
  const { secret } = await createKey(gateway.storage, { name: 'test', user: 'local' })
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-chat', messages: [{ role: 'user', content: 'hi' }] }),
  })
  t.equal(answer.status, 403)
  t.match(await answer.json(), { error: { code: 'closed', message: 'Closed to default.' } })
})

t.test('a plugin with import statements in a commonjs folder is reported with the remedy', async t => {
  const folder = t.testdir({
    'index.js': lonely['index.js'],
    'package.json': '{ "name": "somebodys", "type": "commonjs" }',
    'gateway.yaml': await editShipped([['ratelimit,', 'ratelimit, ./index.js,']]),
  })
  t.match(await loadConfig(join(folder, 'gateway.yaml'), env), {
    ok: false,
    findings: [
      {
        code: 'plugin_failed',
        message: /package\.json has "type": "commonjs": set "module" there, or let the file's name end in \.mjs/,
      },
    ],
  })
})

t.test('errors in its options or its section are reported at their line', async t => {
  const project = await layProject(t.testdir())
  await addPackage(project, example, name)
  const right = await editShipped(guarded(name, words))
  const faults: readonly (readonly [find: string, put: string, at: string, code: RegExp])[] = [
    ['{ mode: refuse }', '{ mode: refuze }', 'refuze', /not_allowed|value|enum/],
    ['{ mode: refuse }', '{ moed: refuse }', 'moed', /unknown/],
    [words, '{ wordz: [dragon] }', 'wordz', /unknown/],
    [words, '{ words: [x] }', 'x]', /value_empty/],
    [words, '{ words: [dragon], fields: [response_format] }', 'response_format', /field_not_forwarded/],
  ]
  for (const [find, put, at, code] of faults) {
    const text = right.replace(find, put)
    await writeFile(project.config, text)
    const loaded = await loadConfig(project.config, env)
    const findings = (loaded.ok ? loaded.notes : loaded.findings).filter(({ severity }) => severity === 'error')
    const before = text.slice(0, text.indexOf(at, text.indexOf(put))).split('\n')
    const place = findings.find(({ line, col }) => line === before.length && col === (before.at(-1)?.length ?? 0) + 1)
    t.ok(place, `${put}: ${JSON.stringify(findings.map(({ line, col, message }) => [line, col, message]))}`)
    t.match(place?.code, code, caseName({ find, put, at, code }))
  }
})

t.test('a missing or invalid plugin is reported at its place', async t => {
  const project = await layProject(t.testdir(), [['ratelimit,', 'ratelimit, tollgate-nowhere,']])
  t.match(await loadConfig(project.config, env), {
    ok: false,
    findings: [{ code: 'plugin_failed', message: /tollgate-nowhere/, remedy: /package or file/ }],
  })
  await writeFile(join(project.folder, 'empty.js'), 'export const plugin = 1\n')
  await writeFile(project.config, await editShipped([['ratelimit,', 'ratelimit, ./empty.js,']]))
  t.match(await loadConfig(project.config, env), {
    ok: false,
    findings: [{ code: 'plugin_failed', message: /default export is not a plugin/ }],
  })
})

t.test('the plugin of docs/plugins.md holds the end of an answer until its digest is written', async t => {
  const [code = ''] = (await readBlocks('plugins.md', 'js')).filter(block => block.includes("name: 'answer-digest'"))
  const folder = t.testdir()
  const digests = join(folder, 'digests.jsonl')
  const step = `{ "./answer-digest.js": { file: "${digests}" } }`
  const project = await layProject(folder, [['pipeline: [auth', `pipeline: [${step}, auth`]])
  await writeFile(join(folder, 'answer-digest.js'), code)
  const { post } = await ask(t, project)
  const answer = await post('alpha-image-2', 'a boat')
  const body = Buffer.from(await answer.arrayBuffer())
  const written = JSON.parse(await readFile(digests, 'utf8')) as object
  t.same(written, {
    id: answer.headers.get('x-request-id'),
    sha256: createHash('sha256').update(body).digest('hex'),
  })
})

t.test('the signing plugin of docs/plugins.md signs each request to its upstream', async t => {
  const [code = ''] = (await readBlocks('plugins.md', 'js')).filter(block => block.includes('defineSigner'))
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const folder = t.testdir()
  const project = await layProject(folder, [
    ['url: "${ALPHA_URL:-simulator:alpha}"', `url: "${upstream.url}"`],
    [/credential: \{ header: authorization, value: "Bearer \$\{ALPHA_API_KEY:-\}" \}/, signed('signed-path')],
  ])
  await writeFile(join(folder, 'signed-path.js'), code)
  const { post } = await ask(t, project)
  await post('alpha-image-2', 'a boat')
  const { 'x-time': time, 'x-signature': signature } = upstream.received[0]?.headers ?? {}
  const text = `POST /v1/images/generations ${String(time)}`
  t.equal(signature, createHmac('sha256', 'a-shared-secret').update(text).digest('hex'))

  await writeFile(join(folder, 'empty.js'), 'export default { name: "x" }\n')
  await writeFile(project.config, await editShipped([[/credential: \{ header: authorization.*/, signed('empty')]]))
  t.match(await loadConfig(project.config, env), {
    ok: false,
    findings: [{ code: 'plugin_failed', message: /default export is not a signer/ }],
  })
})

const signed = (name: string): string => `credential: { sign: ./${name}.js, with: { secret: a-shared-secret } }`

t.test('the test of docs/plugins.md passes unchanged', async t => {
  const [code = ''] = (await readBlocks('plugins.md', 'js')).filter(block => block.includes('node:assert'))
  const { folder } = await layProject(t.testdir())
  await writeFile(join(folder, 'sample.js'), code)
  await t.resolves(promisify(execFile)(process.execPath, ['sample.js'], { cwd: folder }))
})
