import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { type LatencyRow, storeKind, type Summary, sumReviews } from '../../domain/index.ts'
import { diskBytesMin } from '../../util/index.ts'
import { systemAnswer } from '../response-schemas.ts'
import { defineRoute } from '../api.ts'
import { toMoment } from '../to-moment.ts'
import { showLatency } from './latency.ts'

const resolutionMs = 20
/** The shown traffic: the last minutes, and at most this number of models and operations. */
const trafficMs = 5 * 60_000
const trafficRowsMax = 50

/** Free bytes on the disk of an SQLite file; null for any other storage. */
async function freeBytes(storage: string): Promise<number | null> {
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(storage)?.[1]
  if (path === undefined || path === ':memory:') return null
  const { bavail, bsize } = await statfs(dirname(path))
  return bavail * bsize
}

/** The traffic for the response. Its sums include rows that are not shown. */
export function showTraffic(
  { since, until }: { readonly since: number; readonly until: number },
  summary: Pick<Summary, 'requests' | 'errors' | 'p50Ms' | 'p95Ms'>,
  rows: readonly LatencyRow[],
) {
  return {
    since: toMoment(since),
    until: toMoment(until),
    requests: summary.requests,
    errors: summary.errors,
    refused: rows.filter(({ kind }) => kind === 'refusal').reduce((sum, row) => sum + row.requests, 0),
    p50_ms: summary.p50Ms,
    p95_ms: summary.p95Ms,
    rows: rows.slice(0, trafficRowsMax).map(showLatency),
  }
}

export function systemRoutes() {
  const loop = monitorEventLoopDelay({ resolution: resolutionMs })
  loop.enable()
  return [
    defineRoute({
      method: 'GET',
      url: '/api/system',
      access: 'operators',
      summary:
        'Get the state of this process, its stores and its upstreams, and the last five minutes of traffic of all gateways on the storage.',
      answer: systemAnswer,
      async handle({ parts }) {
        const { storage, facts } = parts
        const until = parts.clock.now() + 1
        const span = { since: until - trafficMs, until }
        const plan = parts.plan()
        const simulated = new Set(facts.simulated())
        const [open, summary, rows, webhooks, gateways, places] = await Promise.all([
          storage.books.open(),
          storage.journal.summary(span),
          storage.journal.latency(span),
          storage.events.webhooks.list(),
          storage.watch.gateways(),
          facts.places(),
        ])
        const reviews = sumReviews(open)
        const connections = [...plan.upstreams.values()].flatMap(upstream => {
          const status = facts.connectionsTo(upstream)
          return status ? { name: upstream.name, ...status } : []
        })
        return {
          version: facts.version,
          node: process.version,
          started: toMoment(facts.startedAt),
          uptime_s: Math.max(0, Math.round((parts.clock.now() - facts.startedAt) / 1_000)),
          memory: process.memoryUsage.rss(),
          event_loop_p99_ms: Math.round(Math.max(0, loop.percentile(99) / 1e6 - resolutionMs) * 10) / 10,
          open_requests: facts.open(),
          storage: {
            kind: storeKind(plan.storage),
            healthy: storage.ledger.healthy(),
            trouble: storage.ledger.trouble?.() ?? null,
          },
          counters: { kind: storeKind(plan.counters), healthy: facts.countersHealthy() },
          upstreams: [...plan.upstreams.values()].map(({ name, url }) => ({
            name,
            healthy: facts.upstreamHealthy(name),
            simulated: simulated.has(url.replace(/^simulator:/, '')),
          })),
          needs_review: reviews.count,
          review_held: reviews.held,
          disk_free: await freeBytes(plan.storage).catch(() => null),
          disk_min: diskBytesMin,
          connections: facts.connections(),
          bodies_memory: facts.heldBytes(),
          connections_max: facts.bounds().connections,
          bodies_memory_max: facts.bounds().heldBytes,
          places,
          upstream_connections: connections.map(({ name, pool, busy, most, waiting, waits }) => ({
            upstream: name,
            shared_with: connections.flatMap(other => (other.pool === pool && other.name !== name ? [other.name] : [])),
            busy,
            most,
            waiting,
            waited: waits.count,
            wait_p50_ms: waits.p50Ms,
            wait_p95_ms: waits.p95Ms,
          })),
          writes_waiting: storage.waiting(),
          traffic: showTraffic(span, summary, rows),
          webhooks: webhooks
            .filter(({ webhook }) => plan.webhooks?.has(webhook) === true)
            .map(({ webhook, waiting, givenUp }) => ({ name: webhook, waiting, given_up: givenUp })),
          gateways: gateways.map(({ host, startedAt, version, revision, isOwn }) => ({
            host,
            started: toMoment(startedAt),
            version,
            revision,
            own: isOwn,
          })),
          revision: plan.revision,
        }
      },
    }),
  ]
}
