import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { picture } from '../harness/pictures.ts'
import { start } from '../harness/start.ts'
import { keyedEdit } from '../harness/vendor-keys.ts'
import { caseName } from '../harness/case-name.ts'

const run = promisify(execFile)
/** Metrics that exist only with several processes, or with telemetry. */
const ofSome = [
  'tollgate_workers',
  'tollgate_worker_restarts_total',
  'tollgate_otlp_spans_total',
  'tollgate_otlp_spans_dropped_total',
  'tollgate_otlp_failures_total',
]
const figure = /\b(?:tollgate|process|nodejs)_[a-z_]+\b/g
const read = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), 'utf8')
const unique = (names: Iterable<string>): readonly string[] => [...new Set(names)].sort()

type Families = ReadonlyMap<string, ReadonlySet<string>>

/** The families of an exposition, with their labels. */
function familiesOf(text: string): Families {
  const families = new Map<string, Set<string>>()
  for (const [, name = ''] of text.matchAll(/^# TYPE (\S+)/gm)) families.set(name, new Set())
  for (const [, series = '', labels = ''] of text.matchAll(/^(\w+)(?:\{([^}]*)\})? /gm)) {
    const own = families.get(series) ?? families.get(series.replace(/_(?:bucket|sum|count)$/, ''))
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) if (label !== 'le') own?.add(label)
  }
  return families
}

/** Scrapes a gateway after events for every metric. */
async function scrapeAll(test: Test): Promise<Families> {
  const receiver = `{ url: "http://127.0.0.1:9", secret: "\${HOOK_SECRET}", kinds: [user.erased], allow_private: true }`
  const more = 'observability: { metrics: { by: [model, group] } }'
  const { gateway, opsUrl, upstreams, post, settled } = await start(test, {
    edit: [
      keyedEdit(),
      ['retention: { log: 90d }', `retention: { log: 90d }\nevents: { webhooks: { nobody: ${receiver} } }\n${more}\n#`],
    ],
    env: { HOOK_SECRET: `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}` },
  })
  while ((await gateway.storage.events.webhooks.list()).length === 0)
    await new Promise(resolve => setTimeout(resolve, 20))
  upstreams['alpha']?.answer({ data: [picture(1672, 941), { b64_json: 'bm90aGluZyBsaWtlIGFuIGltYWdl' }] })
  await post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a', size: '3840x2160', n: 2 })
  upstreams['text']?.answer({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } })
  await post('/v1/chat/completions', { model: 'sim-chat', messages: [{ role: 'user', content: 'a' }] })
  await post('/v1/chat/completions', { model: 'none', messages: [] })
  await settled()
  return familiesOf(await (await fetch(`${opsUrl}/metrics`)).text())
}

t.test('the documented metrics are those of a running gateway', async t => {
  const families = await scrapeAll(t)
  const base = (name: string): string => (families.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, ''))

  await t.test('the page lists exactly the existing metrics and their labels', async t => {
    const rows = [...(await read('docs/observability.md')).matchAll(/^\| `(\w+)` \| ([^|]*)\|/gm)]
    const listed = rows.map(([, name = '']) => name)
    t.same(unique(listed), unique([...families.keys(), ...ofSome]))
    for (const [, name = '', labels = ''] of rows) {
      const found = families.get(name)
      if (found && found.size > 0) t.same(unique([...labels.matchAll(/\w+/g)].map(String)), unique(found), name)
    }
  })

  await t.test('the dashboard queries existing metrics', async t => {
    const { panels } = JSON.parse(await read('deploy/grafana/tollgate.json')) as {
      panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[]
    }
    t.ok(panels.length > 20)
    for (const { title, targets = [] } of panels)
      for (const { expr } of targets) {
        const names = expr.match(figure) ?? []
        t.ok(names.length > 0, title)
        for (const name of names) t.ok(families.has(base(name)), `${title}: ${name}`)
      }
  })

  await t.test('the alerts query existing metrics, each with a severity and a summary', async t => {
    const { groups } = parse(await read('deploy/prometheus/alerts.yaml')) as {
      groups: readonly {
        readonly rules: readonly {
          readonly alert: string
          readonly expr: string
          readonly labels: object
          readonly annotations: object
        }[]
      }[]
    }
    const rules = groups.flatMap(group => group.rules)
    t.ok(rules.length > 10)
    for (const { alert, expr, labels, annotations } of rules) {
      t.match(
        { labels, annotations },
        { labels: { severity: /^(?:page|ticket)$/ }, annotations: { summary: /./ } },
        caseName({ alert, expr, labels, annotations }),
      )
      for (const name of expr.match(figure) ?? []) t.ok(families.has(base(name)), `${alert}: ${name}`)
    }
    const named = (await read('deploy/prometheus/alerts.yaml')).match(/\btollgate_[a-z_]+\b/g) ?? []
    for (const name of named) t.ok(families.has(base(name)), name)
  })

  await t.test('promtool accepts them', async t => {
    const isThere = await run('promtool', ['--version']).then(
      () => true,
      () => false,
    )
    if (!isThere) return t.comment('promtool is not installed: the rules were read, but not checked by it')
    const cwd = new URL('../../deploy/prometheus', import.meta.url).pathname
    await t.resolves(run('promtool', ['check', 'rules', 'alerts.yaml'], { cwd }))
    await t.resolves(run('promtool', ['check', 'config', 'prometheus.yml'], { cwd }))
  })
})
