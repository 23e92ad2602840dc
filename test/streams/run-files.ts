import { spawn } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

const http = new URL('../http/', import.meta.url).pathname
const preload = new URL('plain-requests.ts', import.meta.url).href
/** The relevant part of a file's output. */
const saidMax = 4_000

/** The result of a test file whose requests were all read as streams. */
export type Ran = {
  readonly file: string
  readonly isGood: boolean
  readonly assertions: number
  readonly said: string
}

/** The test files over HTTP, in order. */
export async function httpFiles(): Promise<readonly string[]> {
  return (await readdir(http)).filter(name => name.endsWith('.test.ts')).sort()
}

/** Runs a file of `test/http` with requests that are read as streams. */
export async function runOnStreams(file: string): Promise<Ran> {
  const child = spawn(process.execPath, ['--import', preload, join(http, file)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Without tap's environment: under a parent tap process, a test file prints no summary.
    env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^_?TAP/.test(name))),
  })
  let output = ''
  for (const pipe of [child.stdout, child.stderr])
    pipe.setEncoding('utf8').on('data', (text: string) => (output += text))
  const code = await new Promise(resolve => child.once('close', resolve))
  const assertions = Number(/^# \{ total: (\d+)/m.exec(output)?.[1] ?? 0)
  return { file, isGood: code === 0 && assertions > 0, assertions, said: output.slice(-saidMax) }
}
