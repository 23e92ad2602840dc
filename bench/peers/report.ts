import { figure } from '../figures.ts'
import type { Measured } from '../rows.ts'
import { type BodyCheck, judgeRecord, type RecordCheck } from './checks.ts'

/** Cores that other programs kept busy: in the second before a turn, and during it. One entry per turn. */
export type Foreign = { readonly before: readonly number[]; readonly during: readonly number[] }

/** One peer with one kind of work. */
export type PeerResult = Measured & {
  readonly requests: number
  readonly errors: number
  readonly foreign: Foreign
  readonly check: BodyCheck
  /** The results of the timed turns, and of a fixed number of requests that were all waited for. */
  readonly timed: RecordCheck
  readonly counted: RecordCheck
}

export type WorkResult = {
  readonly name: string
  readonly title: string
  readonly peers: { readonly [name: string]: PeerResult }
}

/** All results of one run, as in its JSON file. */
export type Report = {
  readonly time: string
  readonly commit: string
  readonly command: string
  readonly machine: { readonly [what: string]: string | number }
  readonly runs: number
  readonly seconds: number
  readonly warmSeconds: number
  /** Every peer of the list: measured with its version, or the reason why not. */
  readonly peers: readonly {
    readonly name: string
    readonly title: string
    readonly does: string
    readonly version?: string
    readonly reason?: string
  }[]
  readonly works: readonly WorkResult[]
}

const barePass = 'bare-undici'
const own = 'tollgate'
/** More cores of work by other programs invalidate a row. */
const foreignMax = 0.1

/** The report as markdown: the page docs/benchmark-peers.md. */
export function renderReport(report: Report): string {
  const { machine, runs, seconds, warmSeconds } = report
  return [
    '# Benchmark with peers',
    '',
    'The same work through several gateways, on one machine, with a check of what each did with it. Do not believe it:',
    'run it. You need Node 24, `wrk`, and for some peers Python, Go or Rust.',
    '',
    '```sh',
    'npm ci',
    'npm run bench:peers            # --folder F: where peers are installed, by default below the temporary folder of the system',
    '```',
    '',
    `This page was written by \`${report.command}\` at commit ${report.commit} on ${report.time.slice(0, 10)}.`,
    `Each peer took ${runs} turns of ${seconds} s for each kind of work, in turns with the others, after ${warmSeconds} s of warming up.`,
    'Figures are medians of the turns. One load generator, one upstream and all peers share the machine, over loopback.',
    '',
    ...Object.entries(machine).map(([what, value]) => `- ${what}: ${value}`),
    '',
    '## Peers',
    '',
    ...table(['peer', 'version', 'what it does here'], report.peers.flatMap(describePeer)),
    '',
    ...describeMissing(report),
    ...report.works.flatMap(work => describeWork(work, titlesOf(report))),
    '## How to read it',
    '',
    ...explanation,
    '',
  ].join('\n')
}

const titlesOf = ({ peers }: Report): { readonly [name: string]: string } =>
  Object.fromEntries(peers.map(({ name, title }) => [name, title]))

function describePeer({ title, version, does }: Report['peers'][number]): readonly (readonly string[])[] {
  return version === undefined ? [] : [[title, version, does]]
}

function describeMissing({ peers }: Report): readonly string[] {
  const missing = peers.flatMap(({ title, reason }) => (reason === undefined ? [] : [[title, reason]]))
  return missing.length === 0 ? [] : ['Not measured:', '', ...table(['peer', 'reason'], missing), '']
}

function describeWork({ title, peers }: WorkResult, titles: { readonly [name: string]: string }): readonly string[] {
  const names = Object.keys(peers)
  const rows = names.map(name => {
    const one = peers[name] as PeerResult
    // Refusals are cheap, so a row with mostly failures has no figures.
    if (one.errors * 2 > one.requests) return [titles[name] ?? name, 'fails', ...Array<string>(6).fill('–')]
    const over = (other: string): string => figure(one.cpuMicros / (peers[other]?.cpuMicros ?? Number.NaN))
    const each = [one.cpuMicros, one.p50Ms, one.p99Ms, one.requestsPerSecond, one.peakMegabytes].map(figure)
    return [titles[name] ?? name, ...each, over(barePass), over(own)]
  })
  const figures = ['CPU µs a request', 'p50 ms', 'p99 ms', 'requests/s', 'peak RSS MB']
  const checks = names.map(name => {
    const { check, timed, counted, errors, requests, foreign } = peers[name] as PeerResult
    const charges =
      timed.rows !== null ? 'yes' : check.costHeader === null ? 'no' : `only named (\`${check.costHeader}\`)`
    const kept = timed.rows === null ? judgeRecord(timed) : `${judgeRecord(counted)}; timed: ${judgeRecord(timed)}`
    return [titles[name] ?? name, check.body, `${errors} of ${requests}`, charges, kept, describeForeign(foreign)]
  })
  return [
    `## ${title}`,
    '',
    ...table(['', ...figures, 'CPU over the bare pass', 'CPU over Tollgate'], rows),
    '',
    ...table(['', 'body', 'failed', 'charges', 'its record', 'others: cores before, during'], checks),
    '',
  ]
}

function describeForeign({ before, during }: Foreign): string {
  const most = (all: readonly number[]): string => Math.max(...all).toFixed(2)
  const spoiled = Math.max(...during) > foreignMax ? ' (**other work**)' : ''
  return `≤ ${most(before)}, ≤ ${most(during)}${spoiled}`
}

const explanation = [
  '- CPU is user and system time of all processes and threads of a peer, divided by its requests. It depends less',
  '  on the load generator than requests a second do, since all share the cores.',
  '- The bare pass is the least that a proxy in Node can do: it checks and stores nothing (`bench/peers/bare-undici.ts`).',
  '- *Same bytes*: the response through the peer equals the one of the upstream. *Same content*: it was written',
  '  again with the same text, images and counts.',
  '- *Charges*: it stores a cost for each request. *Its record*: after a number of requests that were all waited for, and',
  '  after the timed turns, its stored charges are counted by its own command. Requests that the end of a turn cuts off may',
  '  have a charge too, at most one for each connection and turn.',
  '- *Others*: cores that programs outside of this benchmark kept busy, the highest of all turns. Do not trust a row with other work.',
  '- Each peer is one process (nginx: one worker, HAProxy: one thread). Its configuration is in `bench/targets.ts`, and how',
  '  it is installed in `bench/peers/install.ts`; a better one is welcome. Peers that charge do more than peers that do not.',
  '- A peer that is not measured is listed with the reason that its package manager gave. To add one: its commands in',
  '  `bench/peers/install.ts`, its start in `bench/targets.ts`.',
  "- The JSON file of a run has every turn's foreign load and all counts: `bench/out`, with `--keep` `bench/results`.",
]

function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)]
}
