import { X509Certificate } from 'node:crypto'
import { readFile, stat, statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import { loadPlan } from '../../config/index.ts'
import { CountersDown, type CompiledConfig } from '../../domain/index.ts'
import { diskBytesMin, systemClock, unreadableProxies } from '../../util/index.ts'
import { knownNames } from '../../gateway/known-names.ts'
import { createLog } from '../../observe/index.ts'
import { findOpsUrl } from '../../gateway/ops-url.ts'
import { pluginFinder } from '../../gateway/plugin-finder.ts'
import { upstreamProxy } from '../../gateway/upstream-proxies.ts'
import type { Status } from '../../gateway/status.ts'
import { openCounters } from '../../storage/counters/index.ts'
import { explainOpening, inspectStorage, type StorageState } from '../../storage/index.ts'
import { checkRetries } from './check-retries.ts'
import type { Checked } from './checked.ts'
import { reach, whyTaken } from './reach.ts'

const nodeLeast = [24, 14, 1] as const
const diskBytes = { fail: diskBytesMin, warn: 1_024 * 1_048_576 }
const skewMs = { warn: 1_000, fail: 30_000 }
const askMs = 2_000
const dayMs = 86_400_000
/** Automatically renewed certificates are renewed earlier than this. */
const certificateDays = 14

/**
 * Checks everything that a gateway with this configuration needs, and changes nothing. Yields each result as soon as it
 * is known. Without a valid configuration there are no further checks.
 */
export async function* examine(file: string): AsyncIterable<Checked> {
  yield checkNode()
  const loaded = await loadPlan({ file, env: process.env, ...pluginFinder(file), known: knownNames })
  if (!loaded.ok) {
    const errors = loaded.findings.filter(finding => finding.severity === 'error')
    const [first] = errors
    const text = `${errors.length} ${errors.length === 1 ? 'error' : 'errors'}; the first: ${first?.file}:${first?.line} ${first?.message}`
    yield { name: 'configuration', state: 'fail', text, remedy: `run tollgate check ${file}` }
    return
  }
  const { plan, notes } = loaded
  yield notes.length === 0
    ? ok('configuration', `${file} is valid, revision ${plan.revision}`)
    : warn('configuration', `${file} is valid, with ${notes.length} notes`, `run tollgate check ${file}`)
  const running = await askRunning(file)
  yield running
    ? ok('gateway', `process ${running.pid} runs with revision ${running.revision}`)
    : ok('gateway', 'no gateway is running with this configuration')
  if (running && running.revision !== plan.revision)
    yield warn('revision', 'the configuration of the running gateway differs from the file', 'tollgate reload')
  if (running) yield* checkKeys(running)
  if (running) yield* checkWebhooks(running)
  yield* checkStorage(plan)
  yield await checkCounters(plan)
  yield* checkUpstreams(plan)
  yield* checkRetries(plan)
  yield* checkPorts(plan, running !== undefined)
  if (plan.server.tls) yield await checkCertificate(plan.server.tls)
  yield* checkFiles(plan)
}

function checkNode(): Checked {
  const found = process.versions.node.split('.').map(Number)
  const differs = nodeLeast.findIndex((part, i) => found[i] !== part)
  const isOld = differs !== -1 && (found[differs] ?? 0) < (nodeLeast[differs] ?? 0)
  const text = `version ${process.versions.node}`
  return isOld ? fail('node', text, `install ${nodeLeast.join('.')} or newer`) : ok('node', text)
}

async function askRunning(file: string): Promise<Status | undefined> {
  const url = await findOpsUrl(file)
  if (url === undefined) return undefined
  const limit = new AbortController()
  const late = systemClock.after(askMs, () => limit.abort())
  try {
    const response = await fetch(`${url}/status`, { signal: limit.signal })
    return response.ok ? ((await response.json()) as Status) : undefined
  } catch {
    return undefined
  } finally {
    late.cancel()
  }
}

async function* checkStorage({ storage, groups }: CompiledConfig): AsyncIterable<Checked> {
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(storage)?.[1]
  if (path !== undefined && path !== ':memory:') yield await checkDisk(path)
  let state: StorageState
  try {
    state = await inspectStorage(storage)
  } catch (error) {
    const named = (error as NodeJS.ErrnoException).path ?? path
    const [fault, remedy] = (named === undefined ? undefined : explainOpening(error, named)) ?? [reasonOf(error)]
    const other =
      path === undefined
        ? 'start the database, and check the address and the credentials of `storage`'
        : 'check the file and its disk'
    yield fail('storage', fault, remedy ?? other)
    return
  }
  const { exists, schema, unwritable, encodingFault } = state
  if (exists && encodingFault !== undefined)
    yield warn('storage', encodingFault, 'copy this one into it (tollgate storage copy)')
  if (unwritable !== undefined)
    yield fail('storage', `it cannot be written: ${unwritable}`, 'give the user that runs the gateway write access')
  else if (!exists)
    yield encodingFault === undefined
      ? ok('storage', 'it does not exist yet; the first start creates it')
      : fail('storage', encodingFault, 'then change the address of `storage`')
  else if (schema.found > schema.known)
    yield fail('storage', `its schema ${schema.found} is newer than ${schema.known}`, 'use the version that created it')
  else if (schema.found < schema.known)
    yield warn(
      'storage',
      `its schema ${schema.found} is older than ${schema.known}`,
      'back it up; the next start migrates it',
    )
  else yield ok('storage', `reached, writable, schema ${schema.found}`)
  for (const held of state.groups) {
    if (groups.has(held.name)) continue
    const who = `${count(held.users, 'person', 'people')} and ${count(held.keys, 'key', 'keys')}`
    yield warn(
      `group ${held.name}`,
      `the configuration has no such group: ${who} in it are refused (group_unknown)`,
      `add groups.${held.name}, or move them with tollgate users set NAME --group GROUP, tollgate keys update ID --group GROUP`,
    )
  }
  const skew = Math.abs(state.skewMs)
  const clock = `differs from that of the database by ${skew} ms`
  if (skew > skewMs.warn)
    yield {
      name: 'clock',
      state: skew > skewMs.fail ? 'fail' : 'warn',
      text: clock,
      remedy: 'synchronize both clocks by NTP',
    }
  else yield ok('clock', clock)
}

async function checkDisk(path: string): Promise<Checked> {
  let folder = dirname(resolve(path))
  for (;;) {
    const found = await statfs(folder).catch(() => undefined)
    if (found) {
      const free = found.bavail * found.bsize
      const text = `${Math.floor(free / 1_048_576)} MiB free at ${folder}`
      if (free < diskBytes.fail)
        return fail('disk', text, 'free disk space: below 256 MiB, billable requests are refused')
      return free < diskBytes.warn
        ? warn('disk', text, 'free disk space before it falls below 256 MiB')
        : ok('disk', text)
    }
    if (dirname(folder) === folder) return fail('disk', `the folder of ${path} does not exist`, 'create it')
    folder = dirname(folder)
  }
}

async function checkCounters({ counters: url }: CompiledConfig): Promise<Checked> {
  const kind = url.slice(0, url.indexOf(':'))
  const counters = await openCounters({ url, clock: systemClock, log: createLog({ level: 'silent' }) })
  try {
    await counters.peek([{ id: 'doctor', kind: 'window', limit: 1, amount: 0, shadow: false }], 'refuse')
    return ok('counters', kind === 'memory' ? 'in memory: limits apply to one process only' : `${kind} responds`)
  } catch (error) {
    const text = error instanceof CountersDown ? `${kind} does not respond` : reasonOf(error)
    return fail('counters', text, 'start it, and check the address and the credentials of `counters`')
  } finally {
    await counters.close()
  }
}

async function* checkUpstreams({ upstreams }: CompiledConfig): AsyncIterable<Checked> {
  for (const variable of unreadableProxies(process.env))
    yield fail('proxy', `${variable} is not the address of a proxy: the gateway does not start`, 'correct or unset it')
  for (const upstream of upstreams.values()) {
    const { name, url } = upstream
    if (url.startsWith('simulator:')) {
      yield warn(`upstream ${name}`, 'simulated: requests cost nothing', 'set its real url to send real requests')
      continue
    }
    const proxy = upstreamProxy(process.env, upstream, new URL(url))
    const through = proxy ? ` through the proxy ${proxy.shown}` : ''
    const checked = await reach(url, proxy, upstream.ca).then(
      () => ok(`upstream ${name}`, `reached ${new URL(url).host}${through}`),
      (error: unknown) =>
        fail(
          `upstream ${name}`,
          `${new URL(url).host}: ${reasonOf(error)}`,
          through === ''
            ? 'check its url, DNS, the firewall and its certificate'
            : 'check `proxy` of the upstream, or HTTPS_PROXY and NO_PROXY, and the certificate of the upstream',
        ),
    )
    yield checked
  }
}

/** Keys of upstreams, in the state that the running gateway reports. */
function* checkKeys({ upstreams }: Pick<Status, 'upstreams'>): Iterable<Checked> {
  for (const { name, keys = [] } of upstreams) {
    if (keys.length === 0) continue
    const available = keys.filter(key => key.asked)
    const text = `${available.length} of ${keys.length} in use`
    if (available.length === 0)
      yield fail(`keys of ${name}`, `${text}: requests to its models are refused`, 'see tollgate upstreams list')
    for (const key of keys) {
      if (key.state !== 'suspended') continue
      const why = `${key.name} is suspended (${key.reason}) since ${key.since}: ${key.code ?? key.note ?? '-'}`
      const remedy =
        key.reason === 'operator'
          ? `tollgate upstreams resume ${name} ${key.name}`
          : `fix the key, then run tollgate upstreams test ${name} ${key.name}`
      yield warn(`keys of ${name}`, why, remedy)
    }
    if (available.length > 0 && !keys.some(({ state }) => state === 'suspended')) yield ok(`keys of ${name}`, text)
  }
}

function* checkWebhooks({ silent_webhooks: silent = [] }: Pick<Status, 'silent_webhooks'>): Iterable<Checked> {
  for (const { name, since, why } of silent)
    yield warn(
      `webhook ${name}`,
      `it has accepted no events since ${since}: ${why}`,
      `check events.webhooks.${name} in the file and its receiver; queued events are sent once it accepts them again`,
    )
}

async function* checkPorts({ server }: CompiledConfig, isRunning: boolean): AsyncIterable<Checked> {
  for (const [word, address] of [
    ['listen', server.listen],
    ['ops', server.ops],
  ] as const) {
    if (!address) continue
    const place = `${address.host}:${address.port}`
    const taken = await whyTaken(address)
    if (taken === undefined) yield ok(`server.${word}`, `${place} is free`)
    else if (taken === 'EADDRINUSE' && isRunning)
      yield ok(`server.${word}`, `${place} is in use by the running gateway`)
    else
      yield fail(
        `server.${word}`,
        `${place} cannot be opened: ${taken}`,
        'stop the program that uses it, or choose another address',
      )
  }
}

async function checkCertificate(tls: { readonly cert: string; readonly key: string }): Promise<Checked> {
  try {
    const [cert, key] = await Promise.all([readFile(tls.cert), readFile(tls.key)])
    createSecureContext({ cert, key })
    const { validTo, subjectAltName = 'no names' } = new X509Certificate(cert)
    const days = Math.floor((Date.parse(validTo) - systemClock.now()) / dayMs)
    const text = `${subjectAltName}, valid for ${days} more days`
    if (days < 0)
      return fail('certificate', `it ended on ${validTo}`, 'renew it; the gateway loads the new file automatically')
    return days < certificateDays ? warn('certificate', text, 'renew it') : ok('certificate', text)
  } catch (error) {
    return fail(
      'certificate',
      `${tls.cert}: ${reasonOf(error)}`,
      'set a certificate and its own key, both in PEM format',
    )
  }
}

/** Checks the permissions of files with secrets: only their owner and group should be able to read them. */
async function* checkFiles({ file, storage, server }: CompiledConfig): AsyncIterable<Checked> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const named = [...text.matchAll(/\$\{file:((?:(?!\$\{file:)[^}])+)\}/g)].map(([, path = '']) => path)
  const database = /^sqlite:(?:\/\/)?(.+)$/.exec(storage)?.[1]
  const paths = [
    ...new Set([...named, ...(server.tls ? [server.tls.key] : []), ...(database === undefined ? [] : [database])]),
  ]
  let open = 0
  for (const path of paths) {
    const found = await stat(path).catch(() => undefined)
    if (!found || (found.mode & 0o007) === 0) continue
    open++
    yield warn(
      'permissions',
      `${path} is readable by every user (${(found.mode & 0o777).toString(8)})`,
      `chmod o= ${path}`,
    )
  }
  if (open === 0) yield ok('permissions', 'only the owner and group can read the secrets and the database')
}

function ok(name: string, text: string): Checked {
  return { name, state: 'ok', text }
}

function warn(name: string, text: string, remedy: string): Checked {
  return { name, state: 'warn', text, remedy }
}

function fail(name: string, text: string, remedy: string): Checked {
  return { name, state: 'fail', text, remedy }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message || String((error as NodeJS.ErrnoException).code) : String(error)
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`
}
