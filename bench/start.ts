import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { median } from './measure.ts'
import { answering, freePort } from './targets.ts'

export type StartMeasured = {
  /** From the start of the process to the first accepted connection, with an existing database. */
  readonly listeningMs: number
  readonly checkMs: number
}

const bin = new URL('../src/cli/tollgate.cjs', import.meta.url).pathname
const config = new URL('gateway.yaml', import.meta.url).pathname

/** The time until the gateway listens, and the time of a configuration check. */
export async function measureStart(runs: number): Promise<StartMeasured> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-start-'))
  try {
    const env = {
      ...process.env,
      TOLLGATE_OPS: `127.0.0.1:${await freePort()}`,
      TOLLGATE_STORAGE: `sqlite:${join(folder, 'start.db')}`,
      BENCH_UPSTREAM: 'http://127.0.0.1:9',
    }
    await timeServe(env)
    const listening: number[] = []
    const check: number[] = []
    for (let run = 0; run < runs; run++) {
      listening.push(await timeServe(env))
      check.push(await timeCheck({ ...env, TOLLGATE_LISTEN: '127.0.0.1:9' }))
    }
    return { listeningMs: median(listening), checkMs: median(check) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function timeServe(env: NodeJS.ProcessEnv): Promise<number> {
  const port = await freePort()
  const began = performance.now()
  const child = spawn(process.execPath, [bin, 'serve', '-c', config], {
    env: { ...env, TOLLGATE_LISTEN: `127.0.0.1:${port}` },
    stdio: 'ignore',
  })
  const ended = new Promise(resolve => child.once('exit', resolve))
  await answering(port, 2)
  const took = performance.now() - began
  child.kill('SIGTERM')
  await ended
  return took
}

async function timeCheck(env: NodeJS.ProcessEnv): Promise<number> {
  const began = performance.now()
  const child = spawn(process.execPath, [bin, 'check', config], { env, stdio: 'ignore' })
  const code = await new Promise(resolve => child.once('exit', resolve))
  if (code !== 0) throw new Error(`check of ${config} ended with ${String(code)}`)
  return performance.now() - began
}
