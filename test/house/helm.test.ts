import { execFile } from 'node:child_process'
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig, parseBytes, type CompiledConfig } from '../../src/index.ts'
import { caseName } from '../harness/case-name.ts'
import { renderChart } from '../harness/helm.ts'

const root = resolve(import.meta.dirname, '../..')
const chart = join(root, 'deploy/helm/tollgate')
const run = promisify(execFile)
const read = (file: string) => readFile(join(chart, file), 'utf8')

type Tree = { readonly [name: string]: Tree }
const list = (tree: Tree | undefined): readonly Tree[] => (tree ?? []) as unknown as readonly Tree[]
const text = (tree: Tree | undefined): string => (tree ?? '') as unknown as string

const fleet = parse(await read('values-fleet.yaml')) as object
const everything = {
  ...fleet,
  ingress: { enabled: true, tlsSecret: 'tollgate-tls' },
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  env: [{ name: 'TEXT_URL', value: 'https://api.example.com' }],
  imagePullSecrets: [{ name: 'registry' }],
  image: { digest: `sha256:${'0'.repeat(64)}` },
  podAnnotations: { team: 'images' },
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'images', operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
  service: { annotations: { a: 'b' } },
}

type Rendered = { readonly of: (name: string) => Tree; readonly kinds: readonly string[] }

/** A chart's rendered objects for these values, by kind and name. */
async function render(values: object = {}, release = 'tollgate'): Promise<Rendered> {
  const all = new Map<string, Tree>()
  for (const [file, rendered] of await renderChart(chart, values, release)) {
    if (file === 'NOTES.txt') continue
    for (const document of parseAllDocuments(rendered, { uniqueKeys: true })) {
      const [fault] = [...document.errors, ...document.warnings]
      if (fault) throw new Error(`${file}: ${fault.message}\n${rendered}`)
      const one = document.toJS() as Tree | null
      if (one) all.set(`${text(one['kind'])} ${text(one['metadata']?.['name'])}`, one)
    }
  }
  return {
    kinds: [...all.keys()].toSorted(),
    of(name) {
      const found = all.get(name)
      if (!found) throw new Error(`there is no ${name} in ${[...all.keys()].join(', ')}`)
      return found
    },
  }
}

const podOf = ({ of }: Rendered, name = 'tollgate'): Tree =>
  of(`Deployment ${name}`)['spec']?.['template']?.['spec'] as Tree

/** Writes a pod's configuration into a folder as it is mounted, and checks it as `tollgate check` does. */
async function check(
  t: Test,
  { of }: Rendered,
  secrets: { readonly [name: string]: string } = {},
): Promise<{ readonly plan: CompiledConfig; readonly said: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-helm-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await mkdir(join(folder, 'secrets'))
  for (const [name, secret] of Object.entries(secrets)) await writeFile(join(folder, 'secrets', name), secret)
  const files = of('ConfigMap tollgate')['data'] as unknown as { readonly [name: string]: string }
  for (const [name, content] of Object.entries(files))
    await writeFile(join(folder, name), content.replaceAll('/run/secrets/', `${folder}/secrets/`))
  const config = join(folder, 'gateway.yaml')
  const { stderr } = await run(process.execPath, [join(root, 'src/cli/tollgate.cjs'), 'check', config])
  const loaded = await loadConfig(config, {})
  if (!loaded.ok) throw new Error(loaded.findings.map(({ message }) => message).join('\n'))
  return { plan: loaded.plan, said: stderr }
}

const addresses = { storage_url: 'postgres://tollgate:x@postgres/tollgate', counters_url: 'redis://redis:6379' }

t.test('by default: one pod on SQLite with its own volume, and nothing else', async t => {
  const rendered = await render()
  t.strictSame(rendered.kinds, [
    'ConfigMap tollgate',
    'Deployment tollgate',
    'NetworkPolicy tollgate',
    'PersistentVolumeClaim tollgate',
    'Service tollgate',
    'Service tollgate-ops',
  ])
  const { plan, said } = await check(t, rendered)
  t.match(said, /gateway\.yaml is valid/)
  t.equal(plan.storage, 'sqlite:/data/tollgate.db')
  t.match(rendered.of('Deployment tollgate')['spec'], { replicas: 1, strategy: { type: 'Recreate' } })
  t.match(podOf(rendered)['volumes'], [{ name: 'config' }, { name: 'spool' }, { name: 'data' }])
  t.match(rendered.of('PersistentVolumeClaim tollgate'), {
    metadata: { annotations: { 'helm.sh/resource-policy': 'keep' } },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Gi' } } },
  })
  const taken = await render({ storage: { sqlite: { existingClaim: 'kept' } } })
  t.notOk(taken.kinds.includes('PersistentVolumeClaim tollgate'))
  t.match(list(podOf(taken)['volumes']).at(-1), { persistentVolumeClaim: { claimName: 'kept' } })
})

t.test('a fleet: many pods on PostgreSQL and Redis, whose addresses are files of an existing Secret', async t => {
  const rendered = await render(everything)
  t.strictSame(rendered.kinds, [
    'ConfigMap tollgate',
    'Deployment tollgate',
    'HorizontalPodAutoscaler tollgate',
    'Ingress tollgate',
    'NetworkPolicy tollgate',
    'PodDisruptionBudget tollgate',
    'Service tollgate',
    'Service tollgate-ops',
    'ServiceMonitor tollgate',
  ])
  const { plan } = await check(t, rendered, addresses)
  t.equal(plan.storage, addresses.storage_url)
  t.equal(plan.counters, addresses.counters_url)
  const pod = podOf(rendered)
  const [gateway] = list(pod['containers'])
  // A folder mount, because Kubernetes never updates files that are mounted by subPath.
  t.match(
    list(gateway?.['volumeMounts']).find(({ name }) => text(name) === 'secrets'),
    { mountPath: '/run/secrets', readOnly: true },
  )
  t.notMatch(JSON.stringify(pod), /subPath|secretKeyRef/)
  t.match(
    list(pod['volumes']).find(({ name }) => text(name) === 'secrets'),
    { projected: { sources: [{ secret: { name: 'tollgate' } }] } },
  )
  t.equal(rendered.of('Deployment tollgate')['spec']?.['replicas'], undefined, 'how many is the autoscaler’s word')
  t.match(gateway, { image: `tollgate@sha256:${'0'.repeat(64)}`, env: [{ name: 'TEXT_URL' }] })
})

t.test('ports, probes, selectors and times are those of the configuration', async t => {
  for (const [name, values] of Object.entries({ tollgate: {}, other: everything })) {
    const rendered = await render(values, name)
    const { of } = rendered
    const pod = podOf(rendered, name)
    const [gateway = {}] = list(pod['containers'])
    const platform = parse(text(of(`ConfigMap ${name}`)['data']?.['platform.yaml'])) as {
      server: { listen: string; ops: string; spool_max: string; drain: string; drain_wait: string }
    }
    const { server } = platform
    const ports = Object.fromEntries(list(gateway['ports']).map(port => [text(port['name']), port['containerPort']]))
    t.strictSame([server.listen, server.ops], [`0.0.0.0:${text(ports['http'])}`, `0.0.0.0:${text(ports['ops'])}`], name)
    const seconds = Number.parseInt(server.drain) + Number.parseInt(server.drain_wait)
    t.ok(Number.parseInt(server.drain_wait) > 0, `${name}: it is told that it goes before the service has looked away`)
    t.ok(Number(pod['terminationGracePeriodSeconds']) >= seconds + 20, name)
    const spool = list(pod['volumes']).find(one => text(one['name']) === 'spool')?.['emptyDir']?.['sizeLimit']
    t.ok((parseBytes(text(spool).replace(/i$/, 'iB')) ?? 0) > (parseBytes(server.spool_max) ?? Infinity), name)
    for (const [probe, path] of [
      ['startupProbe', '/readyz'],
      ['livenessProbe', '/healthz'],
      ['readinessProbe', '/readyz'],
    ] as const)
      t.match(gateway[probe], { httpGet: { path, port: 'ops' } }, caseName({ name, probe }))
    t.match(of(`Service ${name}`)['spec'], { ports: [{ targetPort: 'http' }] }, name)
    t.match(of(`Service ${name}-ops`)['spec'], { ports: [{ port: ports['ops'], targetPort: 'ops' }] }, name)

    const labels = of(`Deployment ${name}`)['spec']?.['template']?.['metadata']?.['labels']
    const selector = of(`Deployment ${name}`)['spec']?.['selector']?.['matchLabels']
    t.strictSame(selector, { 'app.kubernetes.io/name': 'tollgate', 'app.kubernetes.io/instance': name }, name)
    t.match(labels, selector, name)
    const selected = {
      [`Service ${name}`]: of(`Service ${name}`)['spec']?.['selector'],
      [`Service ${name}-ops`]: of(`Service ${name}-ops`)['spec']?.['selector'],
      NetworkPolicy: of(`NetworkPolicy ${name}`)['spec']?.['podSelector']?.['matchLabels'],
      ...(values === everything && {
        PodDisruptionBudget: of(`PodDisruptionBudget ${name}`)['spec']?.['selector']?.['matchLabels'],
        spread: list(pod['topologySpreadConstraints'])[0]?.['labelSelector']?.['matchLabels'],
      }),
    }
    for (const [which, found] of Object.entries(selected)) t.strictSame(found, selector, caseName({ name, which }))
    if (values !== everything) continue
    t.match(of(`HorizontalPodAutoscaler ${name}`)['spec'], { scaleTargetRef: { kind: 'Deployment', name } }, name)
    const monitored = of(`ServiceMonitor ${name}`)['spec']?.['selector']?.['matchLabels']
    t.match(of(`Service ${name}-ops`)['metadata']?.['labels'], monitored, name)
    t.match(
      of(`Ingress ${name}`)['spec'],
      {
        tls: [{ secretName: 'tollgate-tls' }],
        rules: [{ http: { paths: [{ backend: { service: { name, port: { name: 'http' } } } }] } }],
      },
      name,
    )
  }
})

t.test('a pod runs as an unprivileged user on a read-only root', async t => {
  const pod = podOf(await render())
  t.match(pod['securityContext'], {
    runAsNonRoot: true,
    runAsUser: 10001,
    fsGroup: 10001,
    seccompProfile: { type: 'RuntimeDefault' },
  })
  t.match(list(pod['containers'])[0]?.['securityContext'], {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
  t.equal(pod['automountServiceAccountToken'], false)
})

t.test('the ingress does not buffer and waits for images, like the one without Helm', async t => {
  const { annotations } = (parse(await readFile(join(root, 'deploy/kubernetes/ingress.yaml'), 'utf8')) as Tree)[
    'metadata'
  ] as Tree
  t.strictSame((await render(everything)).of('Ingress tollgate')['metadata']?.['annotations'], annotations)
})

t.test('serves a custom configuration unchanged, and optionally restarts pods', async t => {
  const own = (await read('gateway.yaml'))
    .replace('rpm: 60,', 'rpm: 61,')
    .replace(
      'alpha: { url: "simulator:alpha" }',
      'alpha: { url: "https://a.example", credential: { header: authorization, value: "Bearer ${file:/run/secrets/alpha_api_key}" } }',
    )
  const rendered = await render({ gateway: own, secrets: ['vendors'] })
  t.equal(text(rendered.of('ConfigMap tollgate')['data']?.['gateway.yaml']).trim(), own.trim())
  await check(t, rendered, { alpha_api_key: 'x' })
  const notes = async (values: object) =>
    (await render(values)).of('Deployment tollgate')['spec']?.['template']?.['metadata']?.['annotations']
  t.strictSame(await notes({ gateway: own }), await notes({}), 'it is taken over while pods run')
  t.notSame(await notes({ gateway: own, onChange: 'restart' }), await notes({ onChange: 'restart' }))
  t.notSame(await notes({ drain: { seconds: 60 } }), await notes({}), 'what is opened once takes a restart')
})

t.test('refuses values that cannot work', async t => {
  for (const [values, message] of [
    [{ replicas: 2 }, /a database of SQLite is one pod's/],
    [{ autoscaling: { enabled: true } }, /a database of SQLite is one pod's/],
    [{ replicas: 2, storage: { kind: 'postgres' }, secrets: ['a'] }, /a limit of 60 would be one of 60 a pod/],
    [{ storage: { kind: 'postgres' } }, /name it in secrets/],
  ] as const)
    await t.rejects(render(values), { message: message }, caseName(values))
})

t.test(
  'the chart is of this version, its files are files, and its values are those that its templates read',
  async t => {
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
    t.match(parse(await read('Chart.yaml')), { name: 'tollgate', version, appVersion: version })
    for (const name of await readdir(chart)) t.notOk((await lstat(join(chart, name))).isSymbolicLink(), name)
    const templates = await Promise.all(
      (await readdir(join(chart, 'templates'))).map(name => read(`templates/${name}`)),
    )
    const values = parse(await read('values.yaml')) as Tree
    const paths = [...new Set(templates.flatMap(one => one.match(/(?<=\.Values\.)[\w.]+/g) ?? []))]
    const known = (path: string): boolean =>
      path
        .split('.')
        .reduce<Tree | undefined>((at, key) => (at && Object.hasOwn(at, key) ? at[key] : undefined), values) !==
      undefined
    t.strictSame(
      paths.filter(path => !known(path)),
      [],
      'templates read what values.yaml has',
    )
    const leaves = (tree: Tree, at: string): string[] =>
      Object.entries(tree).flatMap(([key, below]) => {
        const path = `${at}${key}`
        if (paths.includes(path)) return []
        return typeof below === 'object' && below !== null && !Array.isArray(below) ? leaves(below, `${path}.`) : [path]
      })
    t.strictSame(leaves(values, ''), [], 'and values.yaml has nothing that none reads')
  },
)
