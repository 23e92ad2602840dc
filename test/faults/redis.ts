import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { createKey } from '../../src/index.ts'
import { openDatabase } from '../harness/database.ts'
import { askOnce } from '../harness/ask.ts'
import { prepareSite } from '../harness/child.ts'
import { type RedisServer, startRedis } from '../harness/redis.ts'
import { startUpstream } from '../harness/upstream.ts'
import { isAlive, until, workersOf } from '../harness/works.ts'
import { runScript } from './run-script.ts'

const processes = 4
const limit = 100
/** Each phase uses a new key, so that no test waits for a minute to pass. */
const chat = { model: 'sim-chat', messages: [{ role: 'user', content: 'Say hello.' }] }

export type RedisFigures = {
  /** Number admitted under a limit of 100, by the fault of Redis. */
  readonly admitted: { readonly [phase: string]: number }
  /** Number of answers of Redis that were lost on their way. */
  readonly repliesLost: number
  readonly violations: readonly string[]
}

/**
 * Four processes of one gateway share a limit of 100 while their Redis is flushed, restarted, loses answers, is
 * killed and frozen. With `refuse` nothing is admitted beyond the grants of Redis; with `local` each process grants at
 * most the limit.
 */
export async function troubleRedis(
  t: Pick<Test, 'teardown'>,
  { requests }: { readonly requests: number },
): Promise<RedisFigures> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-redis-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const upstream = await startUpstream({ choices: [] })
  t.teardown(() => upstream.close())
  const redis = await startRedis(t)
  const wire = await openWire(t, redis)
  const site = await prepareSite(folder, {
    upstreams: { text: upstream.url },
    edit: [
      ['\nserver:\n', `\nserver:\n  workers: ${processes}\n`],
      [/default: \{ rpm: 60,[^}]*\}/, `default: { rpm: ${limit} }`],
      ['[auth, ratelimit,', '[auth, { ratelimit: { on_store_failure: refuse } },'],
    ],
    env: { TOLLGATE_COUNTERS: wire.url },
  })
  const gateway = site.start()
  t.teardown(async () => {
    const pids = await workersOf(gateway)
    await gateway.stop()
    await until(() => Promise.resolve(!pids.some(isAlive)))
  })
  const url = await gateway.ready
  const admitted: { [phase: string]: number } = {}
  const violations: string[] = []

  async function newKey(): Promise<string> {
    const storage = await openDatabase({ url: `sqlite:${site.database}`, role: 'tool' })
    const { secret } = await createKey(storage, { name: 'crowd', user: 'local' })
    await storage.close()
    return secret
  }

  /** Sends this many concurrently. @returns how many were admitted */
  async function ask(key: string, times: number): Promise<number> {
    const pending = Array.from({ length: times }, () => askOnce(url, chat, { key, path: '/v1/chat/completions' }))
    const answers = await Promise.all(pending)
    for (const { status, text } of answers)
      if (status !== 200 && status !== 429 && !text.includes('"counters_unavailable"'))
        violations.push(`${status} ${text.slice(0, 200)}`)
    return answers.filter(({ status }) => status === 200).length
  }

  /** One key, a fault in the middle of its requests, and the number of them that may be admitted. */
  async function phase(name: string, most: number, trouble: () => unknown): Promise<void> {
    const key = await newKey()
    const before = upstream.received.length
    let own = await ask(key, requests / 4)
    const pending = ask(key, requests / 4)
    await trouble()
    own += (await pending) + (await ask(key, requests / 2))
    admitted[name] = own
    if (own > most) violations.push(`${name}: ${own} were admitted, ${most} may be`)
    if (upstream.received.length - before !== own) violations.push(`${name}: the upstream was asked more than that`)
  }

  /** Waits until Redis is used again. */
  async function answersAgain(): Promise<void> {
    const key = await newKey()
    await until(async () => {
      const pending = Array.from({ length: 2 * processes }, () =>
        askOnce(url, chat, { key, path: '/v1/chat/completions' }),
      )
      return (await Promise.all(pending)).every(({ status }) => status !== 503)
    })
  }

  await phase('quiet', limit, () => undefined)
  await phase('flushed', 2 * limit, () => redis.command('FLUSHALL'))
  wire.cuts = true
  await phase('replies lost', limit, () => void (wire.cuts = false))
  if (wire.lost === 0) violations.push('no answer of Redis was lost')
  await answersAgain()
  await phase('restarted', 2 * limit, async () => {
    await redis.kill()
    await redis.start()
  })
  await answersAgain()
  const from = gateway.said().length
  const text = await readFile(site.config, 'utf8')
  await writeFile(site.config, text.replace('on_store_failure: refuse', 'on_store_failure: local'))
  gateway.signal('SIGHUP')
  await gateway.hears(/^reloaded: /m, from)
  await phase('killed', processes * limit, () => redis.kill())
  await redis.start()
  await phase('frozen', processes * limit, () => redis.freeze())
  redis.thaw()
  await phase('thawed', processes * limit, () => undefined)
  return { admitted, repliesLost: wire.lost, violations }
}

/** Relays between gateways and Redis; while `cuts` is set it drops every third answer, with its connection. */
async function openWire(t: Pick<Test, 'teardown'>, redis: RedisServer) {
  const wire = { url: '', cuts: false, lost: 0 }
  let answers = 0
  const sockets = new Set<Socket>()
  const server = createServer(inner => {
    const outer = connect(Number(new URL(redis.url).port), '127.0.0.1')
    for (const socket of [inner, outer]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        inner.destroy()
        outer.destroy()
      })
    }
    inner.pipe(outer)
    outer.on('data', chunk => {
      if (wire.cuts && ++answers % 3 === 0) {
        wire.lost++
        inner.destroy()
      } else inner.write(chunk)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  wire.url = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`
  return wire
}

// `node test/faults/redis.ts [REQUESTS]`: one JSON object to standard output; a broken promise is
// exit 1.
if (import.meta.main) {
  const [requests = 2_000] = process.argv.slice(2).map(Number)
  await runScript(t => troubleRedis(t, { requests }))
}
