import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { glob, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { parseAllDocuments } from 'yaml'
import { isTrusted, loadConfig, parseBytes, parseDuration, type CompiledConfig } from '../../src/index.ts'
import { nginxMissing, startFront } from '../harness/nginx.ts'
import { start } from '../harness/start.ts'
import { caseName } from '../harness/case-name.ts'

const root = resolve(import.meta.dirname, '../..')
const run = promisify(execFile)
const read = (file: string) => readFile(join(root, file), 'utf8')

/** A parsed YAML file; lists and texts are cast where they are expected. */
type Tree = { readonly [name: string]: Tree }

const list = (tree: Tree | undefined): readonly Tree[] => (tree ?? []) as unknown as readonly Tree[]
const text = (tree: Tree | undefined): string => (tree ?? '') as unknown as string
const words = (tree: Tree | undefined): readonly string[] => list(tree).map(text)
const entries = (tree: Tree | undefined): readonly (readonly [string, Tree])[] => Object.entries(tree ?? {})

function parseYaml(text: string): readonly Tree[] {
  return parseAllDocuments(text, { merge: true, uniqueKeys: true }).map(document => {
    const [fault] = [...document.errors, ...document.warnings]
    if (fault) throw fault
    return document.toJS() as Tree
  })
}

const readYaml = async (file: string): Promise<Tree> => parseYaml(await read(file))[0] as Tree

/** Time for the remaining writes after the last request has ended. */
const lastMs = 10_000

/** The maximum time that a gateway takes to stop, from its own settings. */
const stopMs = ({ server }: CompiledConfig): number => server.drainWaitMs + server.drainMs + lastMs

/** The seconds that a container may take to start before Kubernetes kills it. */
const startSeconds = ({ startupProbe }: Tree): number =>
  Number(startupProbe?.['periodSeconds']) * Number(startupProbe?.['failureThreshold'])

/** Kubernetes writes sizes without the B. */
const sizeOf = (text: string): number =>
  parseBytes(text.replace(/i$/, 'iB').replace(/m$/, 'MiB').replace(/g$/, 'GiB')) ?? 0

const secretsIn = (text: string): string[] => [
  ...new Set([...text.matchAll(/\$\{file:\/run\/secrets\/(\w+)\}/g)].map(([, name]) => name as string)),
]

/** Checks a `gateway.yaml` whose secrets are in a temporary folder. */
async function check(t: Test, file: string, secrets: { readonly [name: string]: string }): Promise<CompiledConfig> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-deploy-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  for (const [name, secret] of Object.entries(secrets)) await writeFile(join(folder, name), secret)
  const config = join(folder, 'gateway.yaml')
  await writeFile(config, (await read(file)).replaceAll('/run/secrets/', `${folder}/`))
  const loaded = await loadConfig(config, {})
  if (!loaded.ok) throw new Error(`${file}: ${loaded.findings.map(({ message }) => message).join('\n')}`)
  return loaded.plan
}

t.test('every YAML file is valid, without duplicate keys', async t => {
  // Templates of the chart are not YAML until they are rendered: test/house/helm.test.ts.
  for await (const file of glob('deploy/**/*.yaml', { cwd: root, exclude: ['deploy/helm/**/templates/**'] }))
    await t.resolves(async () => parseYaml(await read(file)), file)
})

t.test('Docker Compose', async t => {
  const compose = await readYaml('deploy/compose/compose.yaml')
  const gateways = entries(compose['services']).filter(([name]) => name.startsWith('gateway-'))
  const folder = t.testdir()
  const secrets = await makeSecrets(folder)
  const plan = await check(t, 'deploy/compose/gateway.yaml', secrets)

  t.test('three gateways share one PostgreSQL and one Redis, whose passwords its script creates', async t => {
    t.equal(gateways.length, 3)
    t.match(plan.storage, /^postgres:\/\/tollgate:\w{48}@postgres:5432\/tollgate$/)
    t.match(plan.counters, /^redis:\/\/tollgate:\w{48}@redis:6379$/)
    t.match(plan.storage, secrets['postgres_password'])
    t.equal(secrets['redis_acl']?.split('\n').length, 3)
    t.strictSame(await makeSecrets(folder), secrets, 'a second run changes nothing')
  })

  t.test('each secret in use is mounted, and each mounted secret is declared and created', async t => {
    const declared = Object.keys(compose['secrets'] ?? {})
    t.strictSame(declared.toSorted(), Object.keys(secrets).toSorted())
    const named = secretsIn(await read('deploy/compose/gateway.yaml')).toSorted()
    for (const [name, gateway] of gateways) t.strictSame(words(gateway['secrets']).toSorted(), named, name)
    const ignored = await read('.gitignore')
    t.match(ignored, /^deploy\/compose\/secrets\/$/m)
  })

  t.test('nginx has each gateway at its fixed address and port', async t => {
    const conf = await read('deploy/compose/nginx.conf')
    const addresses = gateways.map(([, gateway]) => gateway['networks']?.['inside']?.['ipv4_address'])
    const own = compose['services']?.['nginx']?.['networks']?.['inside']?.['ipv4_address']
    t.strictSame(plan.server.trustedProxies, [own], 'and is believed, alone')
    t.strictSame(plan.server.agentsAccepting102, [])
    const servers = [...conf.matchAll(/^ +server ([\d.]+):(\d+) /gm)]
    t.strictSame(
      servers.map(([, address]) => address),
      addresses,
    )
    for (const [, , port] of servers) t.equal(Number(port), plan.server.listen.port, caseName({ port }))
    // An idle connection that outlives this wait could close during a request.
    const idleMs = parseDuration(/keepalive 128;\s+keepalive_timeout (\w+);/.exec(conf)?.[1] ?? '') ?? Infinity
    t.ok(idleMs < plan.server.drainWaitMs)
  })

  t.test('a gateway has enough time to stop and enough room for its spool', t => {
    for (const [name, gateway] of gateways) {
      t.ok((parseDuration(text(gateway['stop_grace_period'])) ?? 0) >= stopMs(plan), name)
      const size = /^\/tmp:size=(\w+),/.exec(words(gateway['tmpfs'])[0] ?? '')?.[1] ?? ''
      t.ok(sizeOf(size) > (parseBytes('1GiB') ?? 0), name)
      t.ok(sizeOf(text(gateway['deploy']?.['resources']?.['limits']?.['memory'])) > sizeOf(size), name)
    }
    t.end()
  })

  t.test('no container has more rights or resources than it needs', t => {
    for (const [name, service] of entries(compose['services'])) {
      t.equal(service['read_only'], true, name)
      t.strictSame(service['cap_drop'], ['ALL'], name)
      t.strictSame(service['security_opt'], ['no-new-privileges:true'], name)
      t.match(service['deploy'], { resources: { limits: { cpus: /\d/, memory: /\d/, pids: Number } } }, name)
      t.notMatch(JSON.stringify(service), /docker\.sock|privileged":true/, name)
      if (!name.startsWith('gateway-')) t.ok(service['healthcheck'], name)
      if (name !== 'nginx') t.equal(service['ports'], undefined, `${name} is not reached from outside`)
    }
    t.end()
  })
})

t.test('Kubernetes', async t => {
  const folder = 'deploy/kubernetes'
  const { resources, configMapGenerator } = await readYaml(`${folder}/kustomization.yaml`)
  const all = new Map<string, Tree>()
  for await (const file of glob(`${folder}/*.yaml`, { cwd: root }))
    for (const one of parseYaml(await read(file)))
      if (one['kind']) all.set(`${text(one['kind'])} ${text(one['metadata']?.['name'])}`, one)
  const of = (name: string): Tree => {
    const found = all.get(name)
    if (!found) throw new Error(`there is no ${name}`)
    return found
  }
  const example = of('Secret tollgate')['stringData'] as unknown as { readonly [name: string]: string }
  const plan = await check(t, `${folder}/gateway.yaml`, example)
  const pods = of('Deployment tollgate')['spec'] as Tree
  const pod = pods['template']?.['spec'] as Tree
  const [gateway = {}] = list(pod['containers'])

  t.test('the kustomization names existing files, and the configuration that the pods mount', async t => {
    for (const file of words(resources)) await t.resolves(read(`${folder}/${file}`), file)
    t.strictSame(configMapGenerator, [{ name: 'tollgate-config', files: ['gateway.yaml'] }])
    t.match(pod['volumes'], [{ configMap: { name: 'tollgate-config' } }, { secret: { secretName: 'tollgate' } }])
    t.strictSame(Object.keys(example).toSorted(), secretsIn(await read(`${folder}/gateway.yaml`)).toSorted())
  })

  t.test("ports are those of the configuration, and probes use the operators' listener", t => {
    const ports = Object.fromEntries(list(gateway['ports']).map(port => [text(port['name']), port['containerPort']]))
    t.strictSame(ports, { http: plan.server.listen.port, ops: plan.server.ops?.port })
    t.match(gateway, {
      startupProbe: { httpGet: { path: '/readyz', port: 'ops' } },
      livenessProbe: { httpGet: { path: '/healthz', port: 'ops' } },
      readinessProbe: { httpGet: { path: '/readyz', port: 'ops' } },
    })
    t.ok(startSeconds(gateway) >= 300, 'a start has time for a migration')
    t.match(of('Service tollgate')['spec'], { ports: [{ port: ports['http'], targetPort: 'http' }] })
    t.match(of('Service tollgate-ops')['spec'], { ports: [{ port: ports['ops'], targetPort: 'ops' }] })
    t.match(of('ServiceMonitor tollgate')['spec'], { endpoints: [{ port: 'ops', path: '/metrics' }] })
    t.end()
  })

  t.test('proxies of private networks are trusted, and no client gets a 102', t => {
    const { trustedProxies = [], agentsAccepting102 } = plan.server
    for (const address of ['10.42.0.7', '172.16.0.7', '192.168.1.7', '100.64.0.7', 'fd12::7'])
      t.ok(isTrusted(address, trustedProxies), address)
    for (const address of ['203.0.113.7', '2001:db8::7', '172.32.0.1'])
      t.notOk(isTrusted(address, trustedProxies), address)
    t.strictSame(agentsAccepting102, [])
    t.end()
  })

  t.test('every selector of pods selects these', t => {
    const labels = pods['template']?.['metadata']?.['labels']
    t.match(labels, { 'app.kubernetes.io/name': 'tollgate' })
    t.strictSame(pods['selector']?.['matchLabels'], labels)
    t.strictSame(list(pod['topologySpreadConstraints'])[0]?.['labelSelector']?.['matchLabels'], labels)
    for (const name of ['Service tollgate', 'Service tollgate-ops'])
      t.strictSame(of(name)['spec']?.['selector'], labels, name)
    t.strictSame(of('PodDisruptionBudget tollgate')['spec']?.['selector']?.['matchLabels'], labels)
    t.strictSame(of('NetworkPolicy tollgate')['spec']?.['podSelector']?.['matchLabels'], labels)
    t.match(of('HorizontalPodAutoscaler tollgate')['spec'], {
      scaleTargetRef: { kind: 'Deployment', name: 'tollgate' },
      minReplicas: 3,
    })
    const monitored = of('ServiceMonitor tollgate')['spec']?.['selector']?.['matchLabels']
    t.match(of('Service tollgate-ops')['metadata']?.['labels'], monitored)
    t.end()
  })

  t.test('a pod has enough time to stop and enough room for its spool', t => {
    t.ok(Number(pod['terminationGracePeriodSeconds']) * 1000 >= stopMs(plan))
    t.ok(plan.server.drainWaitMs > 0, 'it gets the signal before the service has removed it')
    const spool = list(pod['volumes']).find(volume => text(volume['name']) === 'spool')?.['emptyDir']?.['sizeLimit']
    t.ok(sizeOf(text(spool)) > (parseBytes('1GiB') ?? 0))
    t.end()
  })

  t.test('a pod runs as an unprivileged user on a read-only root', t => {
    t.match(pod['securityContext'], {
      runAsNonRoot: true,
      runAsUser: 10001,
      seccompProfile: { type: 'RuntimeDefault' },
    })
    t.match(gateway['securityContext'], {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    t.equal(pod['automountServiceAccountToken'], false)
    t.end()
  })
})

t.test('a sidecar listens only on loopback, and has enough time to stop', async t => {
  const pod = (await readYaml('deploy/sidecar/pod.yaml'))['spec'] as Tree
  const plan = await check(t, 'deploy/sidecar/gateway.yaml', {
    storage_url: 'postgres://tollgate:x@postgres/tollgate',
    counters_url: 'redis://redis:6379',
    text_api_key: 'x',
  })
  t.strictSame([plan.server.listen.host, plan.server.ops?.host], ['127.0.0.1', '127.0.0.1'])
  t.ok(Number(pod['terminationGracePeriodSeconds']) * 1000 >= stopMs(plan))
  const [gateway = {}] = list(pod['initContainers'])
  t.match(gateway, { restartPolicy: 'Always', securityContext: { readOnlyRootFilesystem: true } })
  t.ok(startSeconds(gateway) >= 300, 'a start has time for a migration')
  const [program, , script] = words(gateway['startupProbe']?.['exec']?.['command'])
  t.equal(program, 'node')
  t.match(script, `127.0.0.1:${plan.server.ops?.port}/readyz`)
})

t.test('the systemd unit uses only known settings and lets a gateway drain', async t => {
  const unit = await read('deploy/systemd/tollgate.service')
  const lines = unit.split('\n').filter(line => line !== '' && !line.startsWith('#'))
  for (const line of lines) t.match(line, /^(?:\[(?:Unit|Service|Install)\]|[A-Z]\w+=.*)$/, caseName({ line }))
  const secondsOf = (name: string) => Number(new RegExp(`^${name}=(\\d+)$`, 'm').exec(unit)?.[1])
  const compose = await check(t, 'deploy/compose/gateway.yaml', await makeSecrets(t.testdir()))
  t.ok(secondsOf('TimeoutStopSec') * 1000 >= stopMs(compose), 'as long as the longest drain that is shipped')
  t.match(unit, /^ExecReload=\/bin\/kill -HUP \$MAINPID$/m)
  if (spawnSync('systemd-analyze', ['--version']).error) return t.comment('systemd-analyze is not here to read it')
  const here = join(t.testdir(), 'tollgate.service')
  await writeFile(here, unit.replace('ExecStart=/usr/bin/tollgate', `ExecStart=${process.execPath}`))
  const { stderr } = await run('systemd-analyze', ['verify', here])
  t.equal(stderr, '')
})

t.test('the Dockerfile', async t => {
  const file = await read('Dockerfile')
  const ignored = await read('.dockerignore')

  t.test('runs the pinned Node as a user that owns only its data', async t => {
    const { devDependencies } = JSON.parse(await read('package.json')) as { devDependencies: { node: string } }
    t.match(file, `ARG NODE=${devDependencies.node}\n`)
    t.match(file, /^USER 10001:10001$/m)
    t.match(file, /^STOPSIGNAL SIGTERM$/m)
    t.match(file, /^RUN npm ci --ignore-scripts$/m)
    t.notMatch(file, /COPY --chown/)
  })

  t.test('copies what .dockerignore allows', async t => {
    const admitted: readonly string[] = ignored.match(/(?<=^!)\S+/gm) ?? []
    const copied = [...file.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names]) => names?.split(' ') ?? [])
    const kept = [...file.matchAll(/\/build\/([\w./-]+)/g)].map(([, name]) => name as string)
    for (const name of [...copied, ...kept].filter(name => !['.', 'node_modules', 'dist'].includes(name)))
      t.ok(admitted.includes(name), name)
    const { include } = JSON.parse(await read('tsconfig.build.json')) as { include: readonly string[] }
    for (const path of include) t.ok(admitted.includes(path.split('/')[0] ?? ''), path)
  })

  t.test(
    "has the package's content: init uses the shipped configuration, and commands read the served one",
    async t => {
      t.match(file, /^COPY --from=build \/build\/gateway\.yaml \.\/gateway\.yaml$/m)
      const [, served = ''] = /^CMD \["serve", "-c", "(.+)\/gateway\.yaml"\]$/m.exec(file) ?? []
      t.equal([...file.matchAll(/^WORKDIR (.+)$/gm)].at(-1)?.[1], served)
    },
  )

  t.test("its health check uses the operators' listener", async t => {
    const [, port] = /TOLLGATE_OPS=0\.0\.0\.0:(\d+)/.exec(file) ?? []
    const [, command] = /HEALTHCHECK[^]*?CMD (\[.*\])/.exec(file) ?? []
    const { opsUrl } = await start(t, { simulated: true })
    const [program, script, ...args] = JSON.parse(command ?? '[]') as string[]
    t.equal(program, 'node')
    t.match(script, /^\/app\/dist\/src\/cli\//)
    const ask = (host: string) =>
      run(process.execPath, ['src/cli/bin.ts', ...args.map(word => word.replace(`127.0.0.1:${port}`, host))])
    await t.resolves(ask(new URL(opsUrl).host))
    await t.rejects(ask(new URL(await closedAddress()).host))
  })
})

t.test('nginx in front', { skip: nginxMissing() }, async t => {
  const chat = { model: 'sim-chat', messages: [{ role: 'user', content: 'hello' }] }
  const answer = { choices: [{ message: { content: 'hi' } }], usage: { prompt_tokens: 1, completion_tokens: 1 } }

  t.test('skips a gateway that refuses connections, unnoticed by clients', async t => {
    const { url, key, upstream } = await start(t, { upstreams: ['text'] })
    upstream.answer(answer)
    const front = await startFront(t, [await closedAddress(), url, await closedAddress()])
    const statuses = new Set<number>()
    for (let i = 0; i < 9; i++) statuses.add((await post(front.url, key, chat)).status)
    t.strictSame([...statuses], [200])
    t.equal(upstream.received.length, 9)
    t.match(await front.errors(), /connect\(\) failed/)
  })

  t.test('never repeats a POST that was sent', async t => {
    let received = 0
    const breaking = createServer((req, res) => {
      received++
      req.resume().on('end', () => res.destroy())
    }).listen(0, '127.0.0.1')
    await once(breaking, 'listening')
    t.teardown(() => void breaking.close())
    const address = `http://127.0.0.1:${(breaking.address() as AddressInfo).port}`
    const front = await startFront(t, [address, address])
    received = 0
    const { status } = await post(front.url, 'sk-any', chat)
    t.equal(status, 502)
    t.equal(received, 1)
  })

  t.test('passes each event of a stream to the client before the next one is made', async t => {
    const { url, key, upstream } = await start(t, { upstreams: ['text'] })
    const seen = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    upstream.answer(async res => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const [i, { promise }] of seen.entries()) {
        res.write(`data: {"choices":[{"delta":{"content":"${i}"}}]}\n\n`)
        await promise
      }
      res.end('data: [DONE]\n\n')
    })
    const front = await startFront(t, [url])
    const { status, body } = await post(front.url, key, { ...chat, stream: true })
    t.equal(status, 200)
    let text = ''
    for await (const chunk of body ?? []) {
      text += Buffer.from(chunk).toString()
      for (const [i, { resolve }] of seen.entries()) if (text.includes(`"${i}"`)) resolve()
    }
    t.match(text, /"0"[^]*"1"[^]*\[DONE\]/)
  })

  t.test("the gateway itself refuses bodies that are too large, in the client's format", async t => {
    const { url, key, upstream } = await start(t, { upstreams: ['text'] })
    const front = await startFront(t, [url])
    const { status, text } = await announce(front.url, key, 32 * 1_048_576 + 1)
    t.equal(status, 413)
    t.match(JSON.parse(text), { error: { code: 'body_too_large' } })
    t.equal(upstream.received.length, 0)
  })
})

/** Runs the script as an operator does, with secrets by name. */
async function makeSecrets(folder: string): Promise<{ readonly [name: string]: string }> {
  await run('sh', [join(root, 'deploy/compose/make-secrets.sh'), folder])
  const secrets: { [name: string]: string } = {}
  for await (const name of glob('*', { cwd: folder })) secrets[name] = await readFile(join(folder, name), 'utf8')
  return secrets
}

function post(url: string, key: string, body: object): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

/** Announces a body of this many bytes, and waits for the answer before sending it. */
async function announce(url: string, key: string, bytes: number): Promise<{ status: number; text: string }> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': bytes }
  const req = request(`${url}/v1/chat/completions`, { method: 'POST', agent: false, headers })
  req.on('error', () => undefined)
  req.flushHeaders()
  const [res] = (await once(req, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of res) text += String(chunk)
  req.destroy()
  return { status: res.statusCode ?? 0, text }
}

/** An address without a listener. */
async function closedAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `http://127.0.0.1:${port}`
}
