import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Checkout, openCheckout } from './checkout.ts'
import { type Figure, figure, figures, type Found } from './figures.ts'
import { watchForeignCpu } from './measure.ts'
import { type Measured, type Row, rows, type Verdict } from './rows.ts'
import { type Running, type Site, starters, startUpstream, type TargetName } from './targets.ts'
import { measureOnce, medians, nothing } from './turns.ts'

// `npm run bench [-- --only chat,latency --runs 5 --seconds 3 --warm 10 --targets nginx,tollgate --against COMMIT
// --keep]`: measures the performance table as one table, and as JSON under bench/out, with `--keep` under
// bench/results; README.md has the rows. Every target of a row is started once; then they take turns, so that other
// work of the machine affects all alike. With `--against` another commit of this repository takes turns too.

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    targets: { type: 'string' },
    runs: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    warm: { type: 'string', default: '10' },
    keep: { type: 'boolean', default: false },
    'log-rows': { type: 'string', default: '1000000' },
    keys: { type: 'string', default: '1000000' },
    minutes: { type: 'string', default: '10' },
    against: { type: 'string' },
  },
})
const runs = Number(options.runs)
const seconds = Number(options.seconds)
const warmSeconds = Number(options.warm)
/** More cores of work by other programs invalidate a row. */
const foreignMax = 0.1
const wanted = options.only?.split(',')
const wantedTargets = options.targets?.split(',')

type RowResult = {
  readonly row: string
  readonly measured: { [target: string]: Measured }
  /** Cores that other programs used meanwhile. */
  readonly foreignCores: number
  verdicts: readonly Verdict[]
}

type FigureResult = Pick<Found, 'measured' | 'verdicts'> & { readonly row: string; readonly foreignCores: number }

const lacking = ['wrk', 'nginx'].filter(tool => spawnSync(tool, ['-v']).error)
if (lacking.length > 0) {
  process.stderr.write(`bench needs ${lacking.join(' and ')}: apt-get install ${lacking.join(' ')}\n`)
  process.exit(1)
}

const loadBefore = loadavg()[0] ?? 0
if (loadBefore > 0.5) {
  process.stderr.write(
    `bench: the machine is busy (load ${loadBefore.toFixed(1)}): latencies will be those of a queue\n`,
  )
}

const before = options.against === undefined ? undefined : await openBefore(options.against)
const results: (RowResult | FigureResult)[] = []
for (const row of rows) if (!wanted || wanted.includes(row.name)) results.push(await measureRow(row))
for (const one of figures) if (isWanted(one)) results.push(await measureFigure(one))
await write(results)

/** The other commit, in a folder that is deleted when this process ends, for any reason. */
async function openBefore(commit: string): Promise<Checkout> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-against-'))
  const checkout = await openCheckout(commit, folder)
  process.on('exit', () => {
    checkout.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return checkout
}

/** Starts a row's targets, lets them take turns, and returns the medians. */
async function measureRow(row: Row): Promise<RowResult> {
  const all: readonly TargetName[] = before ? [...row.targets, 'against'] : row.targets
  const names = all.filter(name => !wantedTargets || wantedTargets.includes(name))
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-'))
  const stop = new AbortController()
  try {
    const upstream = await startUpstream({ folder, stop })
    const site: Site = { folder, stop, upstream, ...(before && { against: before.folder }) }
    const targets = await startAll(names, site)
    const bodyFile = join(folder, 'request')
    await writeFile(bodyFile, row.body)
    const taken = new Map<TargetName, Measured[]>(targets.map(target => [target.name, []]))
    process.stderr.write(`\n${row.title}\n`)
    // Warms up compilers and garbage collectors before the measurement.
    for (const target of targets) await measureOnce(row, target, bodyFile, warmSeconds)
    const foreignCpu = watchForeignCpu()
    for (let run = 0; run < runs; run++) {
      for (const target of targets) taken.get(target.name)?.push(await measureOnce(row, target, bodyFile, seconds))
      process.stderr.write(`  run ${run + 1} of ${runs}\n`)
    }
    const foreignCores = foreignCpu()
    const measured = Object.fromEntries([...taken].map(([name, all]) => [name, medians(all)]))
    printTable(measured)
    printForeign(foreignCores)
    const of = (name: TargetName) => measured[name] ?? nothing
    const paired = before
      ? [{ text: `CPU over ${before.commit}`, value: of('tollgate').cpuMicros / of('against').cpuMicros, atMost: 1.03 }]
      : []
    const verdicts = [...row.judge(of), ...paired].filter(verdict => Number.isFinite(verdict.value))
    return print({ row: row.name, measured, foreignCores, verdicts })
  } finally {
    stop.abort()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Starts the targets; reports and skips those that cannot start. */
async function startAll(names: readonly TargetName[], site: Site): Promise<readonly Running[]> {
  const started: Running[] = []
  for (const name of names) {
    try {
      started.push(await starters[name](site))
    } catch (error) {
      process.stderr.write(`bench: left out ${name}: ${(error as Error).message}\n`)
    }
  }
  return started
}

/** One that takes many minutes is measured only when it is named. */
function isWanted({ name, isLong }: Figure): boolean {
  return wanted ? wanted.includes(name) : isLong !== true
}

async function measureFigure({ name, title, measure }: Figure): Promise<FigureResult> {
  process.stderr.write(`\n${title}\n`)
  const foreignCpu = watchForeignCpu()
  const { measured, verdicts, lines } = await measure({
    runs,
    seconds,
    warmSeconds,
    logRows: Number(options['log-rows']),
    keys: Number(options.keys),
    minutes: Number(options.minutes),
  })
  const foreignCores = foreignCpu()
  for (const line of lines) process.stdout.write(`  ${line}\n`)
  printForeign(foreignCores)
  return print({ row: name, measured, foreignCores, verdicts })
}

function printForeign(foreignCores: number): void {
  const beside = foreignCores > foreignMax ? ': measured beside other work' : ''
  process.stdout.write(`  others kept ${foreignCores.toFixed(2)} cores busy${beside}\n`)
}

function print<Result extends RowResult | FigureResult>(result: Result): Result {
  for (const verdict of result.verdicts) process.stdout.write(`  ${judged(verdict)}\n`)
  return result
}

function printTable(measured: { readonly [target: string]: Measured }): void {
  const header = ['', 'requests/s', 'CPU µs/request', 'p50 ms', 'p99 ms', 'peak RSS MB', 'loop p99 ms']
  const lines = Object.entries(measured).map(([name, m]) => [
    name,
    ...[m.requestsPerSecond, m.cpuMicros, m.p50Ms, m.p99Ms, m.peakMegabytes, m.loopP99Ms].map(figure),
  ])
  const table = [header, ...lines]
  const widths = header.map((_, column) => Math.max(...table.map(line => line[column]?.length ?? 0)))
  for (const line of table) {
    process.stdout.write(
      `  ${line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  ')}\n`,
    )
  }
}

function judged(verdict: Verdict): string {
  const { text, value, atMost, atLeast } = verdict
  const ok = value <= (atMost ?? Infinity) && value >= (atLeast ?? -Infinity)
  const bound = atMost === undefined ? `at least ${atLeast}` : `at most ${atMost}`
  return `${ok ? 'ok  ' : 'MISS'} ${text}: ${figure(value)} (${bound})`
}

async function write(all: readonly (RowResult | FigureResult)[]): Promise<void> {
  const folder = new URL(options.keep ? 'results/' : 'out/', import.meta.url).pathname
  await mkdir(folder, { recursive: true })
  const time = new Date().toISOString()
  const commit = spawnSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).stdout.trim()
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version, loadBefore }
  const file = join(folder, `${time.replaceAll(':', '-')}.json`)
  await writeFile(
    file,
    `${JSON.stringify({ time, commit, against: before?.commit, machine, runs, seconds, results: all }, null, 2)}\n`,
  )
  process.stderr.write(`\nwritten: ${file}\n`)
}
