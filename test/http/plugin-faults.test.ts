import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  type AnyPlugin,
  callerSlot,
  chargeSlot,
  checkConfig,
  createGateway,
  definePlugin,
  defineSlot,
  type EndedCharge,
  type Finding,
} from '../../src/index.ts'
import { until } from '../harness/edits.ts'
import { layProject, type Project } from '../harness/project.ts'
import { quietLog, start } from '../harness/start.ts'
import { caseName } from '../harness/case-name.ts'

const env = { TOLLGATE_LISTEN: '127.0.0.1:0', TOLLGATE_OPS: 'off', TOLLGATE_STORAGE: 'sqlite::memory:' }

type Mine = Project & { readonly line: number; readonly step: string }

/** A process loads code only once, so each plugin has a file of its own. */
let files = 0

/** A project whose pipeline begins with a plugin, on a line of its own; returns the line's number too. */
async function lay(t: Test, code: string, options = ''): Promise<Mine> {
  const step = `./mine-${++files}.js`
  const put = options === '' ? step : `{ ${step}: ${options} }`
  const project = await layProject(t.testdir(), [['pipeline: [auth', `pipeline: [\n  ${put},\n  auth`]])
  await writeFile(join(project.folder, step), `import { definePlugin } from 'tollgate'\n${code}\n`)
  const before = (await readFile(project.config, 'utf8')).split('\n')
  return { ...project, step, line: before.findIndex(text => text.includes(step)) + 1 }
}

async function check({ config }: Project): Promise<readonly Finding[]> {
  const checked = await checkConfig(config, env)
  return checked.ok ? checked.notes : checked.findings
}

t.test("[8.1] check reports a create() that throws, with the plugin's name and its line", async t => {
  const project = await lay(
    t,
    `export default definePlugin({ name: 'mine', create() { throw new Error('no model file') } })`,
  )
  t.match(await check(project), [
    {
      severity: 'error',
      code: 'plugin_failed',
      message: `the plugin '${project.step}' cannot be created: no model file`,
      file: project.config,
      line: project.line,
    },
  ])
  const starting = createGateway(project.config, { env, log: quietLog() })
  await t.rejects(starting, {
    name: 'ConfigError',
    message: new RegExp(`gateway.yaml:${project.line}:.*no model file`),
  })
})

t.test('[8.1] check creates a plugin on an empty storage, and closes it again', async t => {
  const project = await lay(
    t,
    `import { appendFileSync } from 'node:fs'
    const told = text => appendFileSync(new URL('told.txt', import.meta.url), text)
    export default definePlugin({
      name: 'mine',
      create(_options, { stores, keep }) {
        told(stores.ledger.healthy() + ' ' + keep('n', () => 1) + ' ')
        return { close: () => told('closed') }
      },
    })`,
  )
  t.same(await check(project), [])
  t.equal(await readFile(join(project.folder, 'told.txt'), 'utf8'), 'true 1 closed')
})

t.test('[8.1] check reports meaningless options at their own place', async t => {
  const schema = `{ type: 'object', properties: { mode: { type: 'string', description: 'How.' } } }`
  const slip = await lay(
    t,
    `export default definePlugin({ name: 'mine', options: ${schema}, create: () => ({}) })`,
    '{ mde: x }',
  )
  t.match(await check(slip), [
    {
      severity: 'note',
      code: 'option_unread',
      line: slip.line,
      message: /'mine'.*'mde'/,
      remedy: "did you mean 'mode'?",
    },
  ])
  const senseless = await lay(
    t,
    `export default definePlugin({
      name: 'mine',
      options: ${schema},
      inspectOptions: ({ mode }) => [{ severity: 'error', code: 'mode_vain', message: mode + ' does nothing', path: ['mode'] }],
      create: () => ({}),
    })`,
    '{ mode: x }',
  )
  t.match(await check(senseless), [
    {
      code: 'mode_vain',
      message: 'x does nothing',
      line: senseless.line,
      path: `pipeline[0]["${senseless.step}"].mode`,
    },
  ])
})

t.test("[8.1] an unknown hook is refused with a suggestion; a plugin's own helpers are not", async t => {
  const hooks: readonly (readonly [hooks: string, found: object | undefined])[] = [
    ['{ onSetle() {} }', { code: 'hook_unknown', message: /'onSetle'/, remedy: "did you mean 'onSettle'?" }],
    ['{ onResponse() {} }', { code: 'hook_unknown', message: /'onResponse'/, remedy: /known here: onRequest, / }],
    ['new (class { onreply() {} })()', { code: 'hook_unknown', remedy: "did you mean 'onReply'?" }],
    ['{ onSettle() {}, helper() {}, clone() {}, once: 1 }', undefined],
  ]
  for (const [written, found] of hooks) {
    const project = await lay(t, `export default definePlugin({ name: 'mine', create: () => (${written}) })`)
    const findings = await check(project)
    t.match(findings, found ? [{ ...found, line: project.line }] : [], written)
    t.equal(findings.length, found ? 1 : 0, caseName({ written, found }))
  }
  const misspelt = await lay(t, `export default definePlugin({ name: 'mine', qote() {}, create: () => ({}) })`)
  t.match(await check(misspelt), [{ code: 'hook_unknown', line: misspelt.line, remedy: "did you mean 'quote'?" }])
  const misplaced = await lay(t, `export default definePlugin({ name: 'mine', onSettle() {}, create: () => ({}) })`)
  t.match(await check(misplaced), [{ code: 'hook_unknown', remedy: 'hooks are returned by create()' }])
})

t.test("[8.1] a plugin may not use another plugin's kind of charge rule", async t => {
  const project = await lay(t, `export default definePlugin({ name: 'mine', rule: 'usage', create: () => ({}) })`)
  t.match(await check(project), [{ code: 'rule_taken', line: project.line, message: /'token-usage'/ }])
})

t.test(
  '[8.1] a reload reports that a changed plugin, or a file that it imports, is not loaded until the next start',
  async t => {
    const project = await lay(
      t,
      `import './part.js'\nexport default definePlugin({ name: 'mine', create: () => ({}) })`,
    )
    await writeFile(join(project.folder, 'part.js'), 'export const part = 1\n')
    const gateway = await createGateway(project.config, { env, log: quietLog() })
    t.teardown(() => gateway.close())
    t.match(await gateway.reload(), { ok: true, changes: [] })
    await writeFile(join(project.folder, 'part.js'), 'export const part = 2\n')
    t.strictSame(((await gateway.reload()) as { changes?: unknown }).changes, [
      `pipeline.${project.step}: its code has changed and is loaded at the next start`,
    ])
    await writeFile(join(project.folder, 'part.js'), 'export const part = 1\n')
    t.match(await gateway.reload(), { ok: true, changes: [] }, 'a restored file is not a change')
  },
)

const image = { model: 'alpha-image-2', prompt: 'a boat' }
const chat = { model: 'sim-chat', messages: [{ role: 'user', content: 'hello' }] }

t.test('[8.1] a plugin placed first that settles after charges sees them settled', async t => {
  const seen: { [name: string]: string | undefined } = {}
  const watching = (name: string, more: object): AnyPlugin =>
    definePlugin({
      name,
      ...more,
      create: (_options, { stores }) => ({
        async onSettle(context) {
          seen[name] = (await stores.ledger.find(context.id))?.state
        },
      }),
    })
  const { post, settled } = await start(t, {
    plugins: [watching('early', {}), watching('webhook', { settlesAfter: [chargeSlot] })],
    edit: [['pipeline: [auth', 'pipeline: [early, webhook, auth']],
    simulated: true,
  })
  const answer = await post('/v1/chat/completions', chat)
  t.equal(answer.status, 200, await answer.text())
  await settled()
  t.equal(seen['early'], undefined, 'without `after` it is called before the charge is written')
  t.equal(seen['webhook'], 'settled')
})

t.test('[8.1] plugins that settle after one another are refused', async t => {
  const [one, two] = [defineSlot('one'), defineSlot('two')]
  const circle = [
    definePlugin({ name: 'first', gives: [one], settlesAfter: [two], create: () => ({}) }),
    definePlugin({ name: 'second', gives: [two], settlesAfter: [one], create: () => ({}) }),
  ]
  const starting = start(t, { plugins: circle, edit: [['pipeline: [auth', 'pipeline: [first, second, auth']] })
  await t.rejects(starting, /each require to settle after the other/)
})

t.test('[8.1] a subscribed plugin gets every charge that ends, whoever made it', async t => {
  const ended: EndedCharge[] = []
  const subscriber = definePlugin({
    name: 'subscriber',
    needs: [callerSlot],
    create: () => ({
      onCharge(charge) {
        ended.push(charge)
        throw new Error('nobody waits for this')
      },
    }),
  })
  const { post, settled, charges } = await start(t, {
    plugins: [subscriber],
    edit: [['pipeline: [auth', 'pipeline: [auth, subscriber']],
    simulated: true,
  })
  const images = await post('/v1/images/generations', image)
  await images.arrayBuffer()
  const words = await post('/v1/chat/completions', chat)
  t.same([images.status, words.status], [200, 200], 'its exception changes no answer')
  await settled()
  await until(() => ended.length === 2)
  // For its client, an answer with a length is complete before its charge has ended.
  const byModel = ended.toSorted((a, b) => a.model.localeCompare(b.model))
  t.match(byModel, [
    {
      id: images.headers.get('x-request-id'),
      state: 'settled',
      model: 'alpha-image-2',
      rule: { kind: 'tiers' },
      user: 'local',
    },
    { id: words.headers.get('x-request-id'), state: 'settled', model: 'sim-chat', rule: { kind: 'usage' } },
  ])
  t.equal((await charges()).length, 2)
})
