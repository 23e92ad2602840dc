import type { Status } from '../../index.ts'
import { askOps, type OpsOptions } from '../ask-ops.ts'
import { print } from '../exit.ts'
import { formatTable } from '../table.ts'
import { reasonUnused } from '../reason-unused.ts'
import { safeLine } from '../safe-text.ts'

/** Prints the status of the running gateway. Exit 4 when there is none. */
export async function status(options: OpsOptions & { readonly format: string }): Promise<void> {
  const response = await askOps(options, 'GET', '/status')
  const text = await response.text()
  print(options.format === 'json' ? text.trim() : formatStatus(JSON.parse(text) as Status))
}

function formatStatus(status: Status): string {
  const { storage, counters, last_reload: last } = status
  const health = (one: { readonly kind: string; readonly healthy: boolean }): string =>
    `${one.kind}, ${one.healthy ? 'healthy' : 'NOT HEALTHY'}`
  const lines = [
    `gateway    ${status.ready ? 'ready' : 'NOT READY'}, version ${status.version} on Node ${status.node}, process ${status.pid}`,
    `since      ${status.started} (${timeText(status.uptime_s)})`,
    `config     ${status.file}, revision ${status.revision}, in use since ${status.loaded_at}`,
    ...(last ? [`reload     ${last.at} ${last.ok ? 'applied' : 'REJECTED; the old one stays active'}`] : []),
    ...(last?.findings ?? []).map(finding => `           ${finding}`),
    `requests   ${status.open_requests} open`,
    `memory     ${Math.round(status.memory / 1_048_576)} MiB, event loop delay ${status.event_loop_p99_ms} ms (p99)`,
    `storage    ${health(storage)}${storage.trouble ? `: ${storage.trouble}` : ''}`,
    `counters   ${health(counters)}`,
    `review     ${reviewText(status.reviews)}`,
    '',
    formatTable(
      ['UPSTREAM', 'STATE'],
      status.upstreams.map(one => [one.name, upstreamText(one)]),
    ),
  ]
  const away = status.upstreams.flatMap(({ name, keys = [] }) =>
    keys.filter(({ asked, weight }) => !asked && weight > 0).map(key => ({ name, key })),
  )
  if (away.length > 0)
    lines.push(
      '',
      'Upstream keys not in use (tollgate upstreams list shows all keys):',
      formatTable(
        ['UPSTREAM', 'KEY', 'STATE', 'WHY'],
        away.map(({ name, key }) => [
          name,
          key.name,
          key.state === 'active' ? 'spent' : key.state,
          reasonUnused(key) || `its budget of ${key.budget?.amount ?? '-'} is spent`,
        ]),
      ),
    )
  const silent = status.silent_webhooks ?? []
  if (silent.length > 0)
    lines.push(
      '',
      'Webhooks that do not accept events (the events are queued):',
      formatTable(
        ['WEBHOOK', 'SINCE', 'WHY'],
        silent.map(({ name, since, why }) => [name, since, why]),
      ),
    )
  if (status.unrecognised.length > 0)
    lines.push(
      '',
      'Unrecognized responses, withheld from clients (resolve their charges with tollgate ledger resolve):',
      formatTable(
        ['MODEL', 'UPSTREAM', 'OPERATION', 'TIMES', 'LAST', 'SHAPE'],
        status.unrecognised.map(one => [
          one.model,
          one.upstream,
          one.operation,
          String(one.count),
          one.last,
          one.shape,
        ]),
      ),
    )
  if (status.workers.length > 1)
    lines.push(
      '',
      formatTable(
        ['WORKER', 'STATE', 'OPEN', 'MEMORY', 'LATE'],
        status.workers.map(one => [
          String(one.pid),
          one.ready ? 'ready' : 'NOT READY',
          String(one.open_requests),
          `${Math.round(one.memory / 1_048_576)} MiB`,
          `${one.event_loop_p99_ms} ms`,
        ]),
      ),
    )
  return lines.flatMap(line => line.split('\n').map(safeLine)).join('\n')
}

function upstreamText({ resting_ms: restingMs, simulated, keys = [] }: Status['upstreams'][number]): string {
  const state = restingMs > 0 ? `paused for ${Math.ceil(restingMs / 1000)} s` : 'in use'
  const available = keys.filter(key => key.asked).length
  const pool = keys.length === 0 ? '' : `, ${available === 0 ? 'NONE' : available} of ${keys.length} keys`
  return `${state}${pool}${simulated ? ' (simulated)' : ''}`
}

function reviewText(reviews: Status['reviews']): string {
  if (reviews === null) return 'unknown: the storage does not respond'
  if (reviews.count === 0) return 'none'
  const held = reviews.held.map(({ currency, amount }) => `${amount} ${currency}`).join(', ')
  return `${reviews.count} charges WAIT for review, ${held} held (tollgate ledger resolve)`
}

function timeText(seconds: number): string {
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3_600) % 24,
    Math.floor(seconds / 60) % 60,
  ]
  if (days > 0) return `${days} d ${hours} h`
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${seconds % 60} s`
}
