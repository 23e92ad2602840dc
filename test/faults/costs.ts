import { once } from 'node:events'
import { Agent } from 'node:http'
import { connect, type Socket } from 'node:net'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Test } from 'tap'
import { fillLogs } from '../../bench/fill.ts'
import { imageAnswer } from '../../bench/bodies.ts'
import { type ChildGateway, prepareSite, type Site } from '../harness/child.ts'
import { picture } from '../harness/pictures.ts'
import type { Edits } from '../harness/start.ts'
import { startUpstream, type Upstream } from '../harness/upstream.ts'
import { figure } from '../harness/works.ts'
import { post } from './reload-under-load.ts'
import { runScript } from './run-script.ts'

type Stops = Pick<Test, 'teardown'>
type Place = { readonly site: Site; readonly upstream: Upstream }
type Running = Place & { readonly gateway: ChildGateway; readonly url: string }

const alpha = { model: 'alpha-image-2', prompt: 'a boat' }
const unlimited: Edits = [
  [/default: \{ rpm: 60,[^}]*\}/, 'default: {}'],
  [', limits: { rpm: 300 } }', ' }'],
]

async function prepare(t: Stops, edit: Edits): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-costs-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const upstream = await startUpstream({ data: [picture(1024, 1024)] })
  t.teardown(() => upstream.close())
  return { site: await prepareSite(folder, { upstreams: { alpha: upstream.url }, edit }), upstream }
}

async function begin(t: Stops, place: Place): Promise<Running> {
  const gateway = place.site.start()
  t.teardown(() => gateway.kill())
  return { ...place, gateway, url: await gateway.ready }
}

/** The cost of a refusal by a limit: CPU time, upstream calls, charges (R12). */
export async function measureRefusals(t: Stops, requests: number) {
  const { site, gateway, url, upstream } = await begin(t, await prepare(t, [['{ rpm: 60, tpm', '{ rpm: 10, tpm']]))
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const statuses = new Map<number | undefined, number>()
  const ask = async (times: number): Promise<void> => {
    let left = times
    const caller = async (): Promise<void> => {
      while (left-- > 0) {
        const { status } = await post(`${url}/v1/images/generations`, site.key, agent, alpha)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }
    await Promise.all(Array.from({ length: 8 }, caller))
  }
  const cpu = () => figure(gateway, /process_cpu_seconds_total/)
  // Code that is not compiled yet costs more.
  await ask(Math.ceil(requests / 4))
  const before = await cpu()
  await ask(requests)
  const cpuMs = ((await cpu()) - before) * 1_000
  const admitted = statuses.get(200) ?? 0
  agent.destroy()
  await gateway.stop()
  const db = new DatabaseSync(site.database, { readOnly: true })
  const charges = Number(db.prepare('SELECT count(*) AS n FROM charge').get()?.['n'])
  db.close()
  return {
    refused: statuses.get(429) ?? 0,
    admitted,
    calls: upstream.received.length,
    charges,
    cpuMsEach: round(cpuMs / requests, 3),
  }
}

/**
 * The longest time that the gateway's thread was blocked while it read this many images concurrently (O10).
 * `starvedMs`: the total time that the thread waited for a CPU; on a quiet machine next to nothing.
 */
export async function measureDelay(t: Stops, images: number) {
  const { site, gateway, url, upstream } = await begin(t, await prepare(t, unlimited))
  const agent = new Agent({ keepAlive: true })
  upstream.answer((res, _received, req) => {
    req.resume()
    res.writeHead(200, { 'content-type': 'application/json' }).end(imageAnswer(1, 2 * 1024 * 1024))
  })
  const ask = () => post(`${url}/v1/images/generations`, site.key, agent, alpha)
  await Promise.all(Array.from({ length: 4 }, ask))
  const longest = () => figure(gateway, /tollgate_event_loop_delay_seconds\{quantile="1"\}/)
  // Each reading starts a new interval.
  await longest()
  const waited = await waitedMs(gateway)
  const answers = await Promise.all(Array.from({ length: images }, ask))
  const starvedMs = Math.round((await waitedMs(gateway)) - waited)
  const delayMs = round((await longest()) * 1_000, 1)
  agent.destroy()
  await gateway.stop()
  return { answered: answers.filter(({ status, whole }) => status === 200 && whole).length, delayMs, starvedMs }
}

/** The total time that a process was ready to run but did not. Available only on Linux. */
async function waitedMs({ pid }: ChildGateway): Promise<number> {
  const text = await readFile(`/proc/${pid}/schedstat`, 'utf8').catch(() => '0 0 0')
  return Number(text.split(' ')[1]) / 1e6
}

/** From its start to its first readiness, with this many rows of the log (O15). */
export async function measureStart(t: Stops, rows: number) {
  const place = await prepare(t, unlimited)
  await fillLogs(`sqlite:${place.site.database}`, rows)
  // The first run fills the cache of compiled code.
  await (await begin(t, place)).gateway.stop()
  const at = performance.now()
  const { gateway } = await begin(t, place)
  const ready = await fetch(`${await gateway.ops}/readyz`)
  const readyMs = Math.round(performance.now() - at)
  await gateway.stop()
  return { rows, isReady: ready.status === 200, readyMs }
}

/** The memory of an idle connection (O8). */
export async function measureIdle(t: Stops, connections: number) {
  const { site, gateway, url } = await begin(t, await prepare(t, unlimited))
  const { hostname, port } = new URL(url)
  const sockets: Socket[] = []
  const resident = () => figure(gateway, /process_resident_memory_bytes/)
  const open = async (): Promise<void> => {
    const socket = connect(Number(port), hostname).on('error', () => undefined)
    sockets.push(socket)
    socket.write(`GET /v1/models HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${site.key}\r\n\r\n`)
    await once(socket, 'data')
  }
  for (let i = 0; i < 100; i++) await open()
  const before = await resident()
  for (let i = 0; i < connections; i += 50) await Promise.all(Array.from({ length: 50 }, open))
  const kilobytesEach = round(((await resident()) - before) / 1_024 / connections, 1)
  const lost = sockets.filter(socket => socket.destroyed).length
  for (const socket of sockets) socket.destroy()
  await gateway.stop()
  return { connections, lost, kilobytesEach }
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}

// `node test/faults/costs.ts refusals|delay|start|idle COUNT`: one JSON object to standard output; a missed target
// is exit 1.
if (import.meta.main) {
  const what = process.argv[2]
  const count = Number(process.argv[3])
  await runScript(async t => {
    switch (what) {
      case 'refusals': {
        const found = await measureRefusals(t, count)
        const isDear = found.cpuMsEach > 0.2 || found.calls > found.admitted || found.charges > found.admitted
        return { ...found, violations: isDear ? ['a refusal takes at most 0.2 ms and reaches nobody'] : [] }
      }
      case 'delay': {
        const found = await measureDelay(t, count)
        return { ...found, violations: found.delayMs > 50 ? ['the thread is away for 50 ms at most'] : [] }
      }
      case 'start': {
        const found = await measureStart(t, count)
        return { ...found, violations: found.readyMs > 3_000 ? ['a start takes 3 s at most'] : [] }
      }
      case 'idle': {
        const found = await measureIdle(t, count)
        const isDear = found.kilobytesEach > 25 || found.lost > 0
        return { ...found, violations: isDear ? ['an idle connection stays, and takes at most 25 KB'] : [] }
      }
      default:
        throw new Error(`there is no ${what} to measure`)
    }
  })
}
