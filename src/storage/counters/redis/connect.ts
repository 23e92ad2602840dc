import { createHash } from 'node:crypto'
import { Cluster, Redis } from 'ioredis'
import type { Clock } from '../../../util/index.ts'
import { slotOf } from './slots.ts'

const connectMs = 1_000
const reconnectMsMax = 1_000
/** After this many times the longest time of a call without a byte, the connection is replaced. */
const silentCalls = 10

/** A Lua script, and the digest by which a server knows it once it has received it. */
export type Script = { readonly text: string; readonly sha: string }

/** A connection that is opened again whenever it is lost. Calls in the meantime fail at once. */
export type Link = {
  /** Whether keys may be on all nodes of a cluster. */
  readonly isSpread: boolean
  /** The address of the node that has the slot of a hash tag now; undefined if unknown. For a spread cluster. */
  nodeOf(tag: string): string | undefined
  /** Sends what `say` sends to each node of a spread cluster in one write. */
  together(say: () => void): void
  /** How many keys a spread cluster has in the slot of a hash tag. */
  countKeys(tag: string): Promise<number>
  /** Runs a script; sends its text to a server that does not know it yet. */
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>
  close(): void
}

export function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

/**
 * Connects to `redis://[USER:PASSWORD@]HOST[:PORT][/DB]`, or `rediss://` with TLS. With `?cluster` HOST is any node of
 * a cluster, and `?cluster=spread` uses all of them. No call takes longer than `commandMs`. Calls `onLost` each time
 * that the connection breaks or cannot be opened. Does not wait for the connection.
 */
export function connect(
  url: string,
  { commandMs, clock }: { readonly commandMs: number; readonly clock: Pick<Clock, 'after'> },
  onLost: (why: string) => void,
): Link {
  const { isCluster, isSpread, host, port, ...options } = readUrl(url)
  const shared = {
    ...options,
    protocol: 2 as const,
    connectTimeout: connectMs,
    // A host that was lost without a word leaves its connections open: the system gives them up after 15 minutes.
    socketTimeout: silentCalls * commandMs,
    enableOfflineQueue: false,
    // An answer that was lost with its connection is requested once more, with the same ticket.
    maxRetriesPerRequest: 1,
    // After a failover the address leads to another server, but the old one keeps its connections.
    reconnectOnError: (error: Error) => error.message.includes('READONLY'),
  }
  const retry = (times: number): number => Math.min(times * 50, reconnectMsMax)
  const cluster = isCluster
    ? new Cluster([{ host, port }], { redisOptions: shared, enableOfflineQueue: false, clusterRetryStrategy: retry })
    : undefined
  const redis = cluster ?? new Redis({ ...shared, host, port, retryStrategy: retry })
  redis.on('error', (error: Error) => onLost(error.message))
  redis.on('close', () => onLost('the connection was closed'))
  async function run({ text, sha }: Script, keys: readonly string[], args: readonly (string | number)[]) {
    try {
      return await redis.evalsha(sha, keys.length, ...keys, ...args)
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
      return redis.eval(text, keys.length, ...keys, ...args)
    }
  }
  async function countKeys(tag: string): Promise<number> {
    const nodes = cluster?.nodes('master') ?? []
    const counts = await Promise.all(nodes.map(node => node.cluster('COUNTKEYSINSLOT', slotOf(tag))))
    return counts.reduce((all, one) => all + one, 0)
  }
  function together(say: () => void): void {
    const sockets = (cluster?.nodes('master') ?? []).flatMap(({ status, stream }) =>
      status === 'ready' ? [stream] : [],
    )
    for (const socket of sockets) socket.cork()
    try {
      say()
    } finally {
      for (const socket of sockets) socket.uncork()
    }
  }
  return {
    isSpread,
    together,
    nodeOf: tag => cluster?.slots[slotOf(tag)]?.[0],
    countKeys: tag => within(clock, commandMs, countKeys(tag)),
    run: (which, keys, args) => within(clock, commandMs, run(which, keys, args)),
    close: () => redis.disconnect(),
  }
}

/** @throws Error if there is no answer in time. An answer that is unread because this process was busy counts. */
function within<T>(clock: Pick<Clock, 'after'>, ms: number, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const limit = clock.after(ms, () => setImmediate(() => reject(new Error(`no answer within ${ms} ms`))))
    answer.then(resolve, reject).finally(() => limit.cancel())
  })
}

function readUrl(text: string) {
  const { protocol, hostname, port, username, password, pathname, searchParams } = new URL(text)
  const db = Number(pathname.slice(1))
  return {
    isCluster: searchParams.has('cluster'),
    isSpread: searchParams.get('cluster') === 'spread',
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || 6379),
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    ...(db > 0 && { db }),
    ...(protocol === 'rediss:' && { tls: {} }),
  }
}
