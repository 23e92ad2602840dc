import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { cpus, release, tmpdir, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { loadCounted, watchForeignCpu } from '../measure.ts'
import { type Row, rows } from '../rows.ts'
import { type Running, type Site, starters, startUpstream, type TargetName } from '../targets.ts'
import { measureOnce, medians } from '../turns.ts'
import { checkBody, type RecordCheck, type Response } from './checks.ts'
import { peersFolder } from './folder.ts'
import { install, type Installed, type Peer, peers } from './install.ts'
import { type PeerResult, renderReport, type WorkResult } from './report.ts'

// `npm run bench:peers [-- --folder F --runs 5 --seconds 5 --warm 10 --counted 1000 --only chat,stream,image-answer
// --peers nginx,tollgate --install-only --keep]`: installs the peers that the package registries of this machine offer
// into a folder, gives all the same work, checks their results, and writes one report as markdown and as JSON:
// into bench/out, with `--keep` into docs/benchmark-peers.md and bench/results. Peers that cannot be installed or
// started are in the report with the reason.

const { values: options } = parseArgs({
  options: {
    folder: { type: 'string', default: peersFolder },
    runs: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    warm: { type: 'string', default: '10' },
    counted: { type: 'string', default: '1000' },
    only: { type: 'string', default: 'chat,stream,image-answer' },
    peers: { type: 'string' },
    'install-only': { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
})
const [runs, seconds, warmSeconds] = [Number(options.runs), Number(options.seconds), Number(options.warm)]
const folder = resolve(options.folder)
const wanted = options.peers?.split(',')
/** A record may be written a little later than the response; a check that finds the same twice is final. */
const recordMs = 15_000

// Programs unpacked into the folder are found after those of the system.
process.env['PATH'] += `:${join(folder, 'system/usr/sbin')}:${join(folder, 'system/usr/bin')}`
if (spawnSync('wrk', ['-v']).error) {
  process.stderr.write('bench needs wrk: apt-get install wrk\n')
  process.exit(1)
}

const chosen = peers.filter(({ name }) => !wanted || wanted.includes(name))
const found = new Map<Peer, Installed>()
for (const peer of chosen) found.set(peer, await install(peer, folder))
for (const [{ title }, one] of found)
  process.stderr.write('version' in one ? `${title} ${one.version}\n` : `NOT MEASURED ${title}: ${one.reason}\n`)
if (!options['install-only']) await measureAll()

async function measureAll(): Promise<void> {
  const works: WorkResult[] = []
  for (const row of rows)
    if (options.only.split(',').includes(row.name)) works.push(await measureWork(asPeersNeed(row)))
  const git = spawnSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' })
  const report = {
    time: new Date().toISOString(),
    commit: git.stdout.trim(),
    command: ['npm run bench:peers --', ...process.argv.slice(2)].join(' '),
    machine: {
      processor: `${cpus()[0]?.model}, ${cpus().length} cores`,
      'memory, GB': Math.round(totalmem() / 1e9),
      kernel: release(),
      node: process.version,
    },
    runs,
    seconds,
    warmSeconds,
    peers: [...found].map(([{ name, title, does }, one]) => ({ name, title, does, ...one })),
    works,
  }
  const [out, results] = [
    new URL('../out/', import.meta.url).pathname,
    new URL('../results/', import.meta.url).pathname,
  ]
  const name = `peers-${report.time.replaceAll(':', '-')}`
  const json = join(options.keep ? results : out, `${name}.json`)
  const page = options.keep
    ? new URL('../../docs/benchmark-peers.md', import.meta.url).pathname
    : join(out, `${name}.md`)
  await mkdir(out, { recursive: true })
  await writeFile(json, `${JSON.stringify(report, null, 2)}\n`)
  await writeFile(page, renderReport(report))
  process.stderr.write(`\nwritten: ${page} and ${json}\n`)
}

/** A stream whose client requests usage: otherwise a charging gateway correctly hides it. */
function asPeersNeed(row: Row): Row {
  if (row.name !== 'stream') return row
  const body = JSON.parse(row.body.toString()) as object
  return { ...row, body: JSON.stringify({ ...body, stream_options: { include_usage: true } }) }
}

/** Starts all peers, checks the result of one request for each, and lets them take turns. */
async function measureWork(row: Row): Promise<WorkResult> {
  const own = await mkdtemp(join(tmpdir(), 'tollgate-bench-peers-run-'))
  const stop = new AbortController()
  try {
    const site: Site = { folder: own, stop, upstream: await startUpstream({ folder: own, stop }), peers: folder }
    process.stderr.write(`\n${row.title}\n`)
    const running = await startPeers(site)
    const bodyFile = join(own, 'request')
    await writeFile(bodyFile, row.body)
    const direct = await send(await starters.direct(site), row)
    const taking: Taking[] = []
    for (const target of running) {
      const check = checkBody(direct, await send(target, row))
      process.stderr.write(`  ${target.name}: ${check.body}\n`)
      const counted = await countAll(target, row)
      await measureOnce(row, target, bodyFile, row.count ? 0 : warmSeconds)
      taking.push({ target, check, counted, before: await rowsOf(target, 0), turns: [] })
    }
    for (let run = 0; run < runs; run++) {
      for (const one of taking) one.turns.push(await takeTurn(row, one.target, bodyFile))
      process.stderr.write(`  run ${run + 1} of ${runs}\n`)
    }
    const results: { [name: string]: PeerResult } = {}
    for (const one of taking) results[one.target.name] = await sumUp(one, row)
    return { name: row.name, title: row.title, peers: results }
  } finally {
    stop.abort()
    await rm(own, { recursive: true, force: true, maxRetries: 5 })
  }
}

type Turn = Awaited<ReturnType<typeof measureOnce>> & { readonly foreignBefore: number; readonly foreignDuring: number }
type Taking = Pick<PeerResult, 'check' | 'counted'> & {
  readonly target: Running
  /** Rows of its record before the first turn. */
  readonly before: number | null
  readonly turns: Turn[]
}

/** Starts the installed peers; for one that does not start, the report has the reason. */
async function startPeers(site: Site): Promise<readonly Running[]> {
  const running: Running[] = []
  for (const [peer, one] of found) {
    if ('reason' in one) continue
    try {
      running.push(await starters[peer.name as TargetName](site))
    } catch (error) {
      found.set(peer, { reason: `does not start: ${(error as Error).message}` })
    }
  }
  return running
}

async function takeTurn(row: Row, target: Running, bodyFile: string): Promise<Turn> {
  const before = watchForeignCpu()
  await sleep(1_000)
  const foreignBefore = before()
  const during = watchForeignCpu()
  const measured = await measureOnce(row, target, bodyFile, seconds)
  return { ...measured, foreignBefore, foreignDuring: during() }
}

async function sumUp({ target, check, counted, before, turns }: Taking, row: Row): Promise<PeerResult> {
  const [requests, errors] = [sum(turns.map(turn => turn.requests)), sum(turns.map(turn => turn.errors))]
  const answered = requests - errors
  const rowsNow = await rowsOf(target, (before ?? 0) + answered)
  const cutOffAtMost = row.count === undefined ? row.connections * runs : 0
  return {
    ...medians(turns),
    requests,
    errors,
    check,
    counted,
    foreign: { before: turns.map(turn => turn.foreignBefore), during: turns.map(turn => turn.foreignDuring) },
    timed: { answered, rows: rowsNow === null || before === null ? null : rowsNow - before, cutOffAtMost },
  }
}

/** Sends a number of requests, waits for each to its last byte, and counts the rows of its record. */
async function countAll(target: Running, row: Row): Promise<RecordCheck> {
  const before = await rowsOf(target, 0)
  const count = row.count ?? Number(options.counted)
  const headers = { 'content-type': row.contentType, ...target.headers }
  const what = { url: target.url + row.path, headers, bodyFile: '', connections: row.connections, seconds: 0 }
  const { requests, errors } = await loadCounted(what, Buffer.from(row.body), count)
  const answered = requests - errors
  const after = await rowsOf(target, (before ?? 0) + answered)
  return { answered, rows: before === null || after === null ? null : after - before, cutOffAtMost: 0 }
}

/** The rows of its record, once there are `least` of them or no more are added; null if it keeps none. */
async function rowsOf({ countCharges }: Running, least: number): Promise<number | null> {
  if (countCharges === undefined) return null
  let [last, count] = [-1, await countCharges()]
  for (const began = Date.now(); (count < least || count !== last) && Date.now() - began < recordMs; ) {
    await sleep(500)
    ;[last, count] = [count, await countCharges()]
  }
  return count
}

/** Sends one request, and reads its answer to the end. */
async function send(target: Running, row: Row): Promise<Response> {
  const agent = new Agent()
  const headers = { 'content-type': row.contentType, 'content-length': Buffer.byteLength(row.body), ...target.headers }
  try {
    return await new Promise<Response>((done, failed) => {
      const req = request(target.url + row.path, { method: 'POST', agent, headers }, res => {
        const chunks: Buffer[] = []
        res.on('data', (chunk: Buffer) => chunks.push(chunk))
        res.on('error', failed)
        res.on('end', () =>
          done({
            status: res.statusCode ?? 0,
            headers: res.headers as Response['headers'],
            body: Buffer.concat(chunks),
          }),
        )
      })
      req.on('error', failed)
      req.end(row.body)
    })
  } finally {
    agent.destroy()
  }
}

function sum(all: readonly number[]): number {
  return all.reduce((so, one) => so + one, 0)
}
