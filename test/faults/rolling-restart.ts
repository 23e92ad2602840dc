import { mkdtemp, rm } from 'node:fs/promises'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { openDatabase } from '../harness/database.ts'
import { type ChildGateway, prepareSite } from '../harness/child.ts'
import { freePort } from '../harness/free-port.ts'
import { startFront } from '../harness/nginx.ts'
import { picture } from '../harness/pictures.ts'
import { startPostgres } from '../harness/postgres.ts'
import { startRedis } from '../harness/redis.ts'
import { startUpstream } from '../harness/upstream.ts'
import { post } from './reload-under-load.ts'

export type RollingFigures = {
  readonly restarts: number
  readonly requests: number
  /** Clients' results other than a complete answer of 200, with their number. */
  readonly errors: { readonly [kind: string]: number }
  /** Exits other than 0, of gateways that received the signal to stop. */
  readonly exits: readonly string[]
  /** Number of charges in the books, and the problems of the books. */
  readonly charges: number
  readonly problems: readonly string[]
  readonly p99Ms: number
  /** Lines in the proxy's log about missing answers. */
  readonly said: readonly string[]
}

const replicas = 3
const upstreamMs = 150

/**
 * Three gateways on PostgreSQL and Redis are restarted one after the other, with nginx in front as in `deploy/compose`,
 * while clients request images at a steady rate: no client may notice.
 */
export async function rollingRestart(
  t: Pick<Test, 'teardown'>,
  {
    cycles,
    rps,
    drainWait,
    idle,
  }: {
    readonly cycles: number
    readonly rps: number
    readonly drainWait: string
    /** nginx's keep-alive time for idle connections, which has to be shorter; as shipped when absent. */
    readonly idle?: string
  },
): Promise<RollingFigures> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-rolling-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  upstream.answer(async res => {
    await sleep(upstreamMs)
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: [picture(1024, 1024)] }))
  })
  const postgres = await startPostgres()
  t.teardown(() => postgres.close())
  const storage = await postgres.createDatabase()
  const redis = await startRedis(t)
  const running: ChildGateway[] = []
  t.teardown(() => Promise.all(running.map(gateway => gateway.kill())))

  const site = await prepareSite(folder, {
    upstreams: { alpha: upstream.url },
    storage,
    edit: [
      ['\nserver:\n', `\nserver:\n  drain_wait: ${drainWait}\n`],
      [/default: \{ rpm: 60,[^}]*\}/, 'default: { rpm: 1000000 }'],
    ],
    env: { TOLLGATE_COUNTERS: redis.url },
  })
  const listens: string[] = []
  for (let i = 0; i < replicas; i++) listens.push(`127.0.0.1:${await freePort()}`)
  for (const listen of listens) running.push(site.start({ TOLLGATE_LISTEN: listen }))
  const urls = await Promise.all(running.map(gateway => gateway.ready))
  const front = await startFront(t, urls, idle)

  const agent = new Agent({ keepAlive: true })
  const errors: { [kind: string]: number } = {}
  const times: number[] = []
  const over = new AbortController()
  const asking = (async () => {
    const pending: Promise<void>[] = []
    const from = performance.now()
    for (let i = 0; !over.signal.aborted; i++) {
      // They start at a fixed rate, whether earlier ones have been answered or not.
      await sleep(Math.max(0, from + (i * 1_000) / rps - performance.now()))
      pending.push(ask())
    }
    await Promise.all(pending)
  })()
  async function ask(): Promise<void> {
    const at = performance.now()
    const body = { model: 'alpha-image-2', prompt: 'a' }
    const answer = await post(`${front.url}/v1/images/generations`, site.key, agent, body)
    times.push(performance.now() - at)
    if (answer.status === 200 && answer.whole) return
    const kind = `${answer.status} ${/"code":"(\w+)"/.exec(answer.text)?.[1] ?? answer.text.slice(0, 40)}`
    errors[kind] = (errors[kind] ?? 0) + 1
  }

  const exits: string[] = []
  for (let i = 0; i < cycles * replicas; i++) {
    const at = i % replicas
    const old = running[at] as ChildGateway
    await old.stop()
    const exit = await old.gone
    if (exit !== 0) exits.push(String(exit))
    const next = site.start({ TOLLGATE_LISTEN: listens[at] })
    running[at] = next
    await next.ready
  }
  over.abort()
  await asking
  agent.destroy()
  for (const gateway of running) await gateway.stop()
  const books = await openDatabase({ url: storage, role: 'tool' })
  const { charges, problems } = await books.books.verify()
  await books.close()
  const p99Ms = Math.round(times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0)
  // The proxy's log of failures, except for stopped gateways that do not answer, which are expected.
  const said = (await front.errors())
    .split('\n')
    .filter(line => /upstream/.test(line) && !/refused|no live|disabled/.test(line))
  return { restarts: cycles * replicas, requests: times.length, errors, exits, charges, problems, p99Ms, said }
}
