import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { figure } from './figures.ts'
import { type Profile, timeByPart, treeOf } from './flame-parts.ts'
import { drawFlames } from './flame-svg.ts'
import { mainThreadSeconds, watchForeignCpu } from './measure.ts'
import { rows } from './rows.ts'
import { freePort, type Site, starters, startUpstream } from './targets.ts'
import { measureOnce } from './turns.ts'

// `node bench/flame.ts [--only chat] [--seconds 10] [--warm 10] [--micros 500] [--svg FILE] [--profile FILE]`: a CPU
// profile of the gateway's main thread by Node's own profiler, while it serves a row of the bench: a table of its parts
// (folders, plugins, packages, Node, garbage collection), and a flame graph. `--profile` keeps the profile itself, which
// the developer tools of Chromium open. docs/performance.md explains it.

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: 'chat' },
    seconds: { type: 'string', default: '10' },
    warm: { type: 'string', default: '10' },
    micros: { type: 'string', default: '500' },
    svg: { type: 'string', default: 'flame.svg' },
    profile: { type: 'string' },
  },
})

const row = rows.find(({ name }) => name === options.only)
if (!row)
  throw new Error(`no row of the bench has the name ${options.only}: ${rows.map(({ name }) => name).join(', ')}`)
const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-flame-'))
const stop = new AbortController()
try {
  const port = await freePort()
  // The gateway inherits them, and its probe reads them.
  Object.assign(process.env, { BENCH_PROFILE_PORT: String(port), BENCH_PROFILE_MICROS: options.micros })
  const before = new URL('profile-probe.ts', import.meta.url).pathname
  const site: Site = { folder, stop, upstream: await startUpstream({ folder, stop }), before }
  const gateway = await starters.tollgate(site)
  const bodyFile = join(folder, 'request')
  await writeFile(bodyFile, row.body)
  await measureOnce(row, gateway, bodyFile, Number(options.warm))
  const foreign = watchForeignCpu()
  await fetch(`http://127.0.0.1:${port}/start`)
  const [pids, mainBefore] = [gateway.pids(), mainThreadSeconds(gateway.pids())]
  const measured = await measureOnce(row, gateway, bodyFile, Number(options.seconds))
  // The profile's own time includes the time that the thread waited for a core.
  const mainMicros = ((mainThreadSeconds(pids) - mainBefore) * 1e6) / measured.requests
  const text = await (await fetch(`http://127.0.0.1:${port}/stop`)).text()
  const foreignCores = foreign()
  if (options.profile !== undefined) await writeFile(options.profile, text)
  const root = treeOf(JSON.parse(text) as Profile)
  process.stdout.write(`${row.title}\n\n| part | share | µs a request |\n|---|---|---|\n`)
  for (const [part, micros] of timeByPart(root))
    process.stdout.write(
      `| ${part} | ${((micros / root.all) * 100).toFixed(1)} % | ${figure((micros / root.all) * mainMicros)} |\n`,
    )
  const each = `${figure(mainMicros)} µs of the main thread, ${figure(measured.cpuMicros)} of the process`
  const commit = spawnSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).stdout.trim()
  const said = `${row.name}, commit ${commit}: ${measured.requests} requests, ${each} a request, profiled every ${options.micros} µs`
  process.stdout.write(`\n${said}\nothers kept ${foreignCores.toFixed(2)} cores busy\n`)
  await writeFile(options.svg, drawFlames(root, said))
  process.stderr.write(`written: ${resolve(options.svg)}\n`)
} finally {
  stop.abort()
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}
