import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Pool as UndiciPool } from 'undici'
import { Transport } from '../src/engine/transport.ts'
import type { Upstream } from '../src/domain/index.ts'
import { systemClock } from '../src/util/index.ts'
import { chatRequest } from './bodies.ts'
import { median } from './measure.ts'

// CPU of this process for a request to an upstream: the gateway's own HTTP client next to undici's dispatcher, in rounds that
// take turns. `node bench/upstream-client.ts [rounds]`. Decision 18 and the table of decision 14 have the figures.

type Ask = () => Promise<number>
type Load = { readonly name: string; readonly path: string; readonly requests: number; readonly atOnce: number }

const loads: readonly Load[] = [
  { name: 'chat', path: '/v1/chat/completions', requests: 4_000, atOnce: 64 },
  { name: 'image answer', path: '/v1/images/generations', requests: 40, atOnce: 4 },
]
const body = Buffer.from(chatRequest('bench', false))
const headers = ['content-type', 'application/json', 'authorization', 'Bearer of-the-bench']

function askOurs(transport: Transport, upstream: Upstream, path: string): Ask {
  return async () => {
    const call = transport.send({
      upstream,
      method: 'POST',
      path,
      headers,
      reuse: true,
      body: { kind: 'composed', contentType: '', bytes: body.length, whole: body, open: neverOpened },
    })
    await call.head
    let bytes = 0
    await new Promise<void>((resolve, reject) => {
      call.start({ data: chunk => (bytes += chunk.length), end: resolve, cut: reject })
    })
    return bytes
  }
}

function neverOpened(): never {
  throw new Error('a body that is there whole was opened as a stream')
}

function askUndici(pool: UndiciPool, path: string): Ask {
  return async () => {
    let bytes = 0
    await new Promise<void>((resolve, reject) => {
      pool.dispatch(
        { method: 'POST', path, headers: [...headers, 'content-length', String(body.length)], body },
        {
          onRequestStart: () => undefined,
          onResponseStart: () => undefined,
          onResponseData: (_controller, chunk) => (bytes += chunk.length),
          onResponseEnd: () => resolve(),
          onResponseError: (_controller, error) => reject(error),
        },
      )
    })
    return bytes
  }
}

/** Microseconds of CPU for a request. */
async function measure({ requests, atOnce }: Load, ask: Ask): Promise<number> {
  const before = process.cpuUsage()
  let begun = 0
  const caller = async (): Promise<void> => {
    while (begun++ < requests) if ((await ask()) === 0) throw new Error('an answer without a body')
  }
  await Promise.all(Array.from({ length: atOnce }, caller))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / requests
}

const rounds = Number(process.argv[2] ?? 9)
const child = spawn(process.execPath, [new URL('upstream.ts', import.meta.url).pathname], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const [line] = (await once(child.stdout, 'data')) as [Buffer]
const origin = `http://127.0.0.1:${line.toString().trim()}`
const transport = new Transport(url => url, systemClock)
const pool = new UndiciPool(origin, { connections: 64, pipelining: 1 })
const upstream: Upstream = {
  name: 'bench',
  url: origin,
  credential: [],
  headers: {},
  query: {},
  timeouts: { connectMs: 5_000, firstByteMs: 60_000, idleMs: 60_000, totalMs: 60_000, afterLeaveMs: 0 },
  answerBytesMax: 1_000_000_000,
  reuse: true,
  cooldown: { failures: 1, forMs: 1 },
}
try {
  for (const load of loads) {
    const ours: number[] = []
    const theirs: number[] = []
    for (let round = 0; round <= rounds; round++) {
      const a = await measure(load, askOurs(transport, upstream, load.path))
      const b = await measure(load, askUndici(pool, load.path))
      // The first round warms up.
      if (round === 0) continue
      ours.push(a)
      theirs.push(b)
    }
    const [our, their] = [median(ours), median(theirs)]
    process.stdout.write(
      `${load.name}: ours ${our.toFixed(1)} µs, undici ${their.toFixed(1)} µs, difference ${(their - our).toFixed(1)} µs a request\n`,
    )
  }
} finally {
  await transport.close()
  await pool.destroy()
  child.kill()
}
