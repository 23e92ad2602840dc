import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

// `npm run test:faults [-- --only D6,O1 --kills 5 …]`: runs the long versions of the suite's short batteries, one after
// the other, each in its own process and with a time limit. Prints one table to standard output. Exit 1 for a broken
// promise, or a run that did not end.

const counts: { readonly [name: string]: { readonly default: string; readonly says: string } } = {
  kills: { default: '50', says: 'kill -9 of one of three gateways on PostgreSQL' },
  crashes: { default: '20', says: 'crashes of PostgreSQL under load' },
  freezes: { default: '3', says: 'gateways frozen past their lease and thawed, a minute each' },
  conflicts: { default: '500', says: 'writes that PostgreSQL refuses, one of twenty' },
  'sqlite-kills': { default: '100', says: 'kill -9 of a gateway on SQLite' },
  'job-kills': { default: '100', says: 'kill -9 of a gateway whose upstream makes pictures by jobs' },
  'event-kills': { default: '100', says: 'kill -9 of a gateway that tells a webhook of its charges' },
  'hit-kills': { default: '100', says: 'kill -9 of a gateway that charges hits of its answer cache' },
  'job-rounds': { default: '30', says: 'kills and freezes of one of two gateways on PostgreSQL that have jobs' },
  requests: { default: '10000', says: 'requests that end in every way' },
  repeats: { default: '100', says: '1,000 at once at a limit of 100' },
  crowd: { default: '2000', says: 'requests at four processes per trouble of Redis' },
  cycles: { default: '1', says: 'times around of a rolling restart' },
  rps: { default: '20', says: 'requests a second during restarts and reloads' },
  reloads: { default: '300', says: 'reloads' },
  seconds: { default: '30', says: 'that the reloads take' },
  refusals: { default: '5000', says: 'requests that a limit refuses' },
  images: { default: '64', says: 'images at once' },
  rows: { default: '1000000', says: 'rows in the log at a start' },
  connections: { default: '10000', says: 'idle connections' },
  minutes: { default: '10', says: 'that one case may take' },
}

type Case = {
  /** Its number, which titles and reports contain, and a word to select it by. */
  readonly ids: readonly string[]
  readonly file: string
  readonly args?: readonly string[]
  readonly env?: { readonly [name: string]: string }
}

const options = Object.fromEntries(
  Object.entries(counts).map(([name, count]) => [name, { type: 'string' as const, default: count.default }]),
)
const { values } = parseArgs({
  options: { ...options, only: { type: 'string' as const }, help: { type: 'boolean' as const } },
})
const given = values as { readonly [name: string]: string | boolean | undefined }
const of = (name: string): string => String(given[name])

const cases: readonly Case[] = [
  { ids: ['kill', 'B3'], file: 'faults/replicas.ts', args: ['kill', of('kills')] },
  { ids: ['freeze', 'D7'], file: 'faults/replicas.ts', args: ['freeze', of('freezes')] },
  { ids: ['crash', 'D6'], file: 'faults/replicas.ts', args: ['crash', of('crashes')] },
  { ids: ['conflict', 'D11'], file: 'faults/replicas.ts', args: ['conflict', of('conflicts')] },
  { ids: ['sqlite-kill', 'B3', 'B5'], file: 'faults/crash.ts', env: { KILLS: of('sqlite-kills') } },
  { ids: ['job-kill'], file: 'faults/job-crash.ts', env: { KILLS: of('job-kills') } },
  { ids: ['event-kill'], file: 'faults/event-crash.ts', env: { KILLS: of('event-kills'), REQUESTS: '10000' } },
  { ids: ['hit-kill'], file: 'faults/hit-crash.ts', env: { KILLS: of('hit-kills') } },
  { ids: ['job-replicas'], file: 'faults/job-replicas.ts', env: { ROUNDS: of('job-rounds') } },
  { ids: ['migration'], file: 'faults/migration-matrix.ts' },
  { ids: ['sqlite', 'D1', 'D2', 'D3', 'D5'], file: 'faults/sqlite.test.ts' },
  { ids: ['sqlite-storage', 'D1', 'D2', 'D3', 'D12'], file: 'unit/storage-faults.test.ts' },
  { ids: ['postgres', 'D6', 'D10'], file: 'faults/database.test.ts' },
  { ids: ['postgres-storage', 'D6', 'D11', 'D12'], file: 'unit/storage-postgres-faults.test.ts' },
  { ids: ['redis', 'D8', 'D9', 'R2', 'R10'], file: 'faults/redis.ts', args: [of('crowd')] },
  { ids: ['counters', 'R1', 'R3', 'R4', 'R5', 'R6', 'R7'], file: 'unit/counters-contract.test.ts', env: repeats() },
  {
    ids: ['counters-redis', 'D8', 'D9', 'R2', 'R9', 'R10', 'R11'],
    file: 'unit/counters-redis.test.ts',
    env: repeats(),
  },
  { ids: ['leak', 'R1', 'R5', 'R8'], file: 'http/limits-faults.test.ts', env: { LEAK_REQUESTS: of('requests') } },
  { ids: ['reload', 'O1'], file: 'faults/reload.ts', args: [of('reloads'), of('seconds'), of('rps')] },
  { ids: ['drain', 'O3', 'O4'], file: 'http/drain.test.ts' },
  { ids: ['workers', 'O5', 'O13'], file: 'http/workers-faults.test.ts' },
  { ids: ['rolling', 'O6'], file: 'faults/rolling.ts', args: [of('cycles'), of('rps')] },
  { ids: ['memory', 'O7'], file: 'faults/memory.ts' },
  { ids: ['refusals', 'R12'], file: 'faults/costs.ts', args: ['refusals', of('refusals')] },
  { ids: ['delay', 'O10'], file: 'faults/costs.ts', args: ['delay', of('images')] },
  { ids: ['start', 'O15'], file: 'faults/costs.ts', args: ['start', of('rows')] },
  { ids: ['idle', 'O8'], file: 'faults/costs.ts', args: ['idle', of('connections')] },
  { ids: ['shortage', 'O11', 'O12', 'O13'], file: 'faults/shortage.test.ts' },
]

function repeats(): { readonly [name: string]: string } {
  return { REPEATS: of('repeats') }
}

if (given['help'] === true) {
  const lines = Object.entries(counts).map(
    ([name, { default: usual, says }]) => `  --${name} ${usual}`.padEnd(24) + says,
  )
  const words = cases.map(({ ids }) => `  ${ids.join(' ')}`)
  process.stdout.write(`${['Counts:', ...lines, 'Cases, for --only A,B:', ...words].join('\n')}\n`)
} else {
  const only = typeof given['only'] === 'string' ? given['only'].split(',') : undefined
  const known = new Set(cases.flatMap(({ ids }) => ids))
  const unknown = only?.filter(id => !known.has(id)) ?? []
  if (unknown.length > 0) throw new Error(`there is no case ${unknown.join(', ')}; --help lists them`)
  for (const one of cases.filter(({ ids }) => !only || ids.some(id => only.includes(id)))) await run(one)
}

async function run({ ids, file, args = [], env = {} }: Case): Promise<void> {
  const minutes = Number(of('minutes'))
  const began = performance.now()
  const child = spawn(process.execPath, [fileURLToPath(new URL(`../${file}`, import.meta.url)), ...args], {
    env: { ...process.env, TAP_TIMEOUT: String(minutes * 60), TAP_COLOR: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const stop = (): void => void child.kill('SIGTERM')
  process.once('SIGINT', stop).once('SIGTERM', stop)
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    stop()
  }, minutes * 60_000)
  const [output, complained, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  clearTimeout(timer)
  process.off('SIGINT', stop).off('SIGTERM', stop)
  const verdict = isLate ? 'TOO LONG' : code === 0 ? 'ok' : 'MISSED'
  if (verdict !== 'ok') process.exitCode = 1
  const seconds = `${Math.round((performance.now() - began) / 1_000)} s`
  process.stdout.write(`${ids.join(' ').padEnd(38)} ${verdict.padEnd(8)} ${seconds.padStart(6)}  ${figureOf(output)}\n`)
  if (verdict !== 'MISSED') return
  const shown = [...output.split('\n').filter(tells).slice(0, 40), ...complained.trim().split('\n').slice(-10)]
  process.stdout.write(`${shown.join('\n')}\n`)
}

/** For a script, its measurements; for a test file, the number of assertions that passed. */
function figureOf(output: string): string {
  const [tap] = /^# \{ total.*\}$/m.exec(output) ?? []
  if (tap !== undefined) return tap.slice(2)
  const rows = output.trim().startsWith('{\n') ? [output] : output.split('\n').filter(line => line.startsWith('{'))
  return rows.map(row => brief(JSON.parse(row) as { readonly [name: string]: unknown })).join(' | ')
}

/** Without zeros, except figures that must be zero. */
function brief(figures: { readonly [name: string]: unknown }): string {
  const zeros = new Set(['unbilled', 'double', 'phantom', 'dropped', 'mixed', 'errors', 'violations'])
  return Object.entries(figures)
    .map(([name, value]) => [name, Array.isArray(value) ? value.length : value] as const)
    .filter(([name, value]) => zeros.has(name) || (value !== 0 && JSON.stringify(value) !== '{}'))
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`)
    .join(', ')
}

/** Whether a line of output reports a failure. */
function tells(line: string): boolean {
  return /^\s*(not ok|\{)|message:|violations|\[.*\]$/.test(line)
}
