import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { type ChildGateway, prepareSite, type Site } from './child.ts'
import { picture } from './pictures.ts'
import { startRedis } from './redis.ts'
import type { Edits } from './start.ts'
import { startUpstream, type Upstream } from './upstream.ts'

/**
 * A plugin that fails on demand: its process, on a client's request; its own start, while a file `broken` exists.
 */
const trap = `import { existsSync } from 'node:fs'
export default {
  name: 'trap',
  create: () => {
    if (existsSync(new URL('./broken', import.meta.url))) throw new Error('the trap has snapped')
    return {
      onRequest: context => {
        if (context.head.headers['x-trap'] === 'throw') setImmediate(() => { throw new Error('nobody catches this') })
        if (context.head.headers['x-trap'] === 'reject') Promise.reject(new Error('nobody catches this'))
      },
    }
  },
}
`

/** A gateway of several processes, its upstream, and the plugin above in its pipeline. */
export type Works = {
  readonly site: Site
  readonly gateway: ChildGateway
  readonly url: string
  readonly upstream: Upstream
}

/** Starts this many processes with a Redis of their own for counters, in a folder of their own. */
export async function startWorks(t: Test, workers: number, edit: Edits = []): Promise<Works> {
  const folder = await makeFolder('workers')
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const upstream = await startUpstream({ created: 1, data: [picture(1024, 1024)] })
  t.teardown(() => upstream.close())
  const redis = await startRedis(t)
  await writeFile(join(folder, 'trap.mjs'), trap)
  const site = await prepareSite(folder, {
    upstreams: { alpha: upstream.url },
    edit: [
      ...(workers === 1 ? [] : ([['\nserver:\n', `\nserver:\n  workers: ${workers}\n`]] as const)),
      ['pipeline: [auth,', 'pipeline: [./trap.mjs, auth,'],
      [/default: \{ rpm: 60, tpm: (\d+), concurrency: \d+ \}/, 'default: { rpm: 100000, tpm: $1 }'],
      ...edit,
    ],
    env: { TOLLGATE_COUNTERS: redis.url },
  })
  const gateway = site.start()
  t.teardown(async () => {
    const pids = await workersOf(gateway)
    await gateway.stop()
    await until(async () => !pids.some(isAlive))
  })
  return { site, gateway, url: await gateway.ready, upstream }
}

function makeFolder(name: string): Promise<string> {
  return mkdtemp(join(tmpdir(), `tollgate-${name}-`))
}

/** The ids of the processes that a gateway has started; none after it has exited. */
export async function workersOf({ pid }: ChildGateway): Promise<readonly number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  return children.split(' ').filter(Boolean).map(Number)
}

/** One metric of a gateway's /metrics; NaN if it does not exist. */
export async function figure(gateway: ChildGateway, series: RegExp): Promise<number> {
  const text = await (await fetch(`${await gateway.ops}/metrics`)).text()
  return Number(new RegExp(`^${series.source} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
}

/** Polls a condition that has no event. */
export async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(20)
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
