import { readFile } from 'node:fs/promises'
import t from 'tap'
import { describeChanges, loadConfig } from '../../src/index.ts'
import { caseName } from '../harness/case-name.ts'

const shipped = await readFile(new URL('../../gateway.yaml', import.meta.url), 'utf8')

async function load(edit: (text: string) => string = text => text, env: NodeJS.ProcessEnv = {}) {
  const loaded = await loadConfig({ file: 'gateway.yaml', text: edit(shipped) }, env)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings))
  return loaded
}

const under = (more: string) => (text: string) => `${text}\n${more}\n`

t.test('every setting of the compiled config has a key in the file', async t => {
  const { plan, trace } = await load()
  const traced = trace().map(({ path }) => path)
  const steps = plan.pipeline.map(({ plugin }) => plugin)
  // A route has several spellings, and two API formats may share a path.
  const routes = plan.routes.toSorted((a, b) => a.origin.line - b.origin.line)
  const own = new Map(
    routes.map(({ method, upstreamPath, operation }) => [
      `${method} ${upstreamPath} ${operation}`,
      `${method} ${upstreamPath}`,
    ]),
  )
  const matches = [...own.values()]
  /**
   * Steps and routes have a position in a list: what they call or match names them. Several routes may share a path.
   */
  const inFile = (path: string): readonly string[] => {
    const rest = /^routes\["([^"]*)"\](.*)$/.exec(path)
    if (rest) return matches.flatMap((match, i) => (match === rest[1] ? [`routes[${i}]${rest[2]}`] : []))
    const step = steps.findIndex(plugin => path.startsWith(`pipeline.${plugin}.`))
    if (step >= 0) return [`pipeline[${step}]${path.slice('pipeline'.length)}`]
    return [path.replace(/^(models.*)\.upstreams$/, '$1.upstream')]
  }
  const paths = Object.keys(plan.settings)
  t.ok(paths.length > 200)
  const isTraced = (path: string) => traced.some(one => one === path || one.startsWith(`${path}[`))
  t.strictSame(
    paths.filter(path => !inFile(path).some(isTraced)),
    [],
  )
})

t.test('the compiled config normalises sizes, times and prices', async t => {
  const same = (text: string): string =>
    text
      .replace('body_max: 32MiB', 'body_max: 32768KiB')
      .replace('heartbeat: 15s', 'heartbeat: 15000ms')
      .replace(/(sim-chat: .*)"0\.50"/, '$1"0.5"')
  const [one, other] = [await load(), await load(same)]
  t.strictSame(other.plan.settings, one.plan.settings)
  t.equal(other.plan.revision, one.plan.revision)
  t.match(one.plan.settings, {
    'server.body_max': '32MiB',
    'server.heartbeat': '15s',
    'models.sim-chat.prices.input': '0.50',
  })
})

t.test('settings contain no secret, and a changed telemetry secret is no reported change', async t => {
  const env = { ALPHA_API_KEY: 'k-alpha-secret' }
  const otlp = (value: string) =>
    under(`observability: { otlp: { endpoint: http://h:1, headers: { x-a: "${value}" } } }`)
  const [before, after] = [await load(otlp('hidden-word'), env), await load(otlp('other-word'), env)]
  for (const { plan } of [before, after])
    t.notMatch(JSON.stringify(plan.settings), /hidden-word|other-word|k-alpha-secret/, caseName({ plan }))
  t.equal(after.plan.settings['observability.otlp.headers.x-a'], '***')
  t.strictSame(await describeChanges(before.plan, after.plan), [])
})

t.test('a model that loses its prices is reported as free, and vice versa', async t => {
  const free = (text: string) => text.replace(/(sim-rerank: .*)prices: \{ search_unit: "0\.002" \}/, '$1price: free')
  const [paid, gratis] = [(await load()).plan, (await load(free)).plan]
  t.strictSame(await describeChanges(paid, gratis), [
    'price of sim-rerank search_unit: 0.002 USD → none',
    'price of sim-rerank: now free',
  ])
  t.strictSame(await describeChanges(gratis, paid), [
    'price of sim-rerank search_unit: none → 0.002 USD',
    'price of sim-rerank: no longer free',
  ])
})

t.test('a value that is secret in one of two files is not shown from the other', async t => {
  const { plan } = await load()
  const secret = { ...plan, settings: { ...plan.settings, 'upstreams.alpha.url': '***' } }
  t.strictSame(await describeChanges(plan, secret), ['upstreams.alpha.url: changed'])
  t.strictSame(await describeChanges(secret, plan), ['upstreams.alpha.url: changed'])
})
