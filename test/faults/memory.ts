import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { editForm, imageAnswer } from '../../bench/bodies.ts'
import { prepareSite } from '../harness/child.ts'

// `npm run test:memory`: measures a gateway's memory for concurrent large bodies, in a process of its own.
// Figures to standard output, one JSON object per line; a missed target is exit 1. Only Linux reports a peak.

const megabyte = 1024 * 1024
const model = 'alpha-image-2'
/** The maximum size of a form: 32 MiB including everything around the picture. */
const largest = fitForm(32 * megabyte)
const smallAnswer = imageAnswer(1, 2048)
const bigAnswer = imageAnswer(4, 4 * megabyte)

type Case = {
  readonly name: string
  readonly atOnce: number
  /** The total number, in sequence on this many connections. */
  readonly requests: number
  readonly kind: 'edit' | 'answer'
  /** Bytes of an answer that a client reads per millisecond; undefined for all available ones. */
  readonly bytesPerMs?: number
  readonly peakMegabytesMax: number
}

const cases: readonly Case[] = [
  { name: '64 edits of 32 MB', atOnce: 64, requests: 128, kind: 'edit', peakMegabytesMax: 350 },
  { name: '8 edits of 32 MB', atOnce: 8, requests: 64, kind: 'edit', peakMegabytesMax: 250 },
  { name: '8 answers of 4 × 4 MB, fast readers', atOnce: 8, requests: 64, kind: 'answer', peakMegabytesMax: 300 },
  {
    name: '8 answers of 4 × 4 MB, slow readers',
    atOnce: 8,
    requests: 16,
    kind: 'answer',
    bytesPerMs: 4_000,
    peakMegabytesMax: 300,
  },
]

type Found = {
  readonly name: string
  readonly answered: number
  readonly requests: number
  readonly seconds: number
  readonly peakMegabytes: number
  readonly peakMegabytesMax: number
  readonly loopDelayP99Ms: number
  readonly loopDelayMaxMs: number
  readonly cpuMsPerRequest: number
  readonly leftInSpool: number
}

async function measure(one: Case): Promise<Found> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-memory-'))
  const spool = join(folder, 'spool')
  await mkdir(spool)
  const upstream = createServer((req, res) => {
    req.resume().on('end', () => {
      const body = one.kind === 'edit' ? smallAnswer : bigAnswer
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
    })
  })
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const site = await prepareSite(folder, {
    upstreams: { alpha: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}` },
    edit: [
      { 'groups/default': { rpm: 1000000, tpm: 500000 } },
      ['multipart-rewrite, size', `{ multipart-rewrite: { spool_dir: ${spool} } }, size`],
    ],
  })
  const gateway = site.start()
  try {
    const [url, ops] = await Promise.all([gateway.ready, gateway.ops])
    const idle = await readMetrics(ops)
    const began = performance.now()
    let left = one.requests
    let answered = 0
    const worker = async (): Promise<void> => {
      while (left-- > 0) if ((await ask(url, site.key, one)) === 200) answered++
    }
    await Promise.all(Array.from({ length: one.atOnce }, worker))
    const seconds = (performance.now() - began) / 1000
    const busy = await readMetrics(ops)
    const cpu = (busy.get('process_cpu_seconds_total') ?? 0) - (idle.get('process_cpu_seconds_total') ?? 0)
    return {
      name: one.name,
      answered,
      requests: one.requests,
      seconds: round(seconds),
      peakMegabytes: await readPeak(gateway.pid),
      peakMegabytesMax: one.peakMegabytesMax,
      loopDelayP99Ms: round((busy.get('tollgate_event_loop_delay_seconds{quantile="0.99"}') ?? 0) * 1000),
      loopDelayMaxMs: round((busy.get('tollgate_event_loop_delay_seconds{quantile="1"}') ?? 0) * 1000),
      cpuMsPerRequest: round((cpu * 1000) / one.requests),
      leftInSpool: await countSpooled(gateway.pid, spool),
    }
  } finally {
    await gateway.stop()
    upstream.closeAllConnections()
    upstream.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Sends one request on a connection of its own, and returns its status. */
async function ask(url: string, key: string, { kind, bytesPerMs }: Case): Promise<number> {
  const isEdit = kind === 'edit'
  const body = isEdit ? largest.body : Buffer.from(JSON.stringify({ model, prompt: 'a boat', n: 4 }))
  const sent = request(new URL(isEdit ? '/v1/images/edits' : '/v1/images/generations', url), {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': isEdit ? largest.contentType : 'application/json',
      'content-length': String(body.length),
    },
  })
  const responded = once(sent, 'response') as Promise<[IncomingMessage]>
  responded.catch(() => undefined)
  const step = 256 * 1024
  for (let at = 0; at < body.length; at += step)
    if (!sent.write(body.subarray(at, at + step))) await once(sent, 'drain')
  sent.end()
  const [response] = await responded
  for await (const chunk of response)
    if (bytesPerMs !== undefined) await sleep(Math.ceil((chunk as Buffer).length / bytesPerMs))
  return response.statusCode ?? 0
}

/** Samples of `/metrics` by name and labels. The delay of the event loop counts from one reading to the next. */
async function readMetrics(ops: string): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${ops}/metrics`)).text()
  const samples = text.split('\n').filter(line => line !== '' && !line.startsWith('#'))
  return new Map(samples.map(line => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]))
}

/** The largest resident set so far. */
async function readPeak(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return round(Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024)
}

/** Uploads that still have a name or a descriptor; a descriptor is closed a moment after the answer. */
async function countSpooled(pid: number, spool: string): Promise<number> {
  for (let tries = 0; ; tries++) {
    const named = await readdir(spool)
    const links = await Promise.all(
      (await readdir(`/proc/${pid}/fd`)).map(fd => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')),
    )
    const left = named.length + links.filter(link => link.startsWith(spool)).length
    if (left === 0 || tries === 50) return left
    await sleep(20)
  }
}

function fitForm(bytes: number): { readonly contentType: string; readonly body: Buffer } {
  const frame = editForm(model, 64).body.length - 64
  return editForm(model, bytes - frame)
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

// When this process ends, so does the gateway that it started.
process.once('SIGTERM', () => process.exit(1))
const wanted = process.argv[2] ?? ''
for (const one of cases.filter(({ name }) => name.includes(wanted))) {
  const found = await measure(one)
  process.stdout.write(`${JSON.stringify(found)}\n`)
  const { answered, requests, peakMegabytes, peakMegabytesMax, leftInSpool } = found
  const missed = [
    answered < requests && `${requests - answered} of ${requests} were not answered`,
    peakMegabytes > peakMegabytesMax && `${peakMegabytes} MB resident instead of at most ${peakMegabytesMax}`,
    leftInSpool > 0 && `${leftInSpool} uploads are still spooled`,
  ].filter(text => text !== false)
  process.stderr.write(
    `${missed.length === 0 ? 'reached' : 'MISSED '}  ${one.name}: ${missed.join('; ') || `${peakMegabytes} MB`}\n`,
  )
  if (missed.length > 0) process.exitCode = 1
}
