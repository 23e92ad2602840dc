import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { onFreePort } from './free-port.ts'
import { type RedisServer, startRedis } from './redis.ts'

const slots = 16_384
const togetherMs = 100_000

/** The masters of one cluster, each with its share of the slots. If a node is away, only its own slots are. */
export type RedisCluster = {
  readonly nodes: readonly RedisServer[]
  /** The node that the keys with this tag are on. */
  nodeOf(tag: string): Promise<RedisServer>
  /** A replica of the node, which replaces a dead node on command (`CLUSTER FAILOVER TAKEOVER`). */
  addReplica(of: RedisServer): Promise<RedisServer>
  /** The names of all keys on each node, in the order of the nodes. */
  keys(): Promise<readonly (readonly string[])[]>
}

export async function startRedisCluster(t: Pick<Test, 'teardown'>, count = 3): Promise<RedisCluster> {
  const members = await Promise.all(Array.from({ length: count }, () => startMember(t)))
  const nodes = members.map(({ node }) => node)
  const share = Math.ceil(slots / count)
  const firstOf = (i: number): number => i * share
  const lastOf = (i: number): number => Math.min(slots, (i + 1) * share) - 1
  await Promise.all(
    nodes.map(async (node, i) => {
      await node.command('CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1))
      await node.command('CLUSTER', 'ADDSLOTSRANGE', String(firstOf(i)), String(lastOf(i)))
    }),
  )
  const [first, ...others] = nodes as [RedisServer, ...RedisServer[]]
  for (const [i, { url }] of others.entries())
    await first.command('CLUSTER', 'MEET', '127.0.0.1', new URL(url).port, String(members[i + 1]?.busPort))
  for (const node of nodes) await until(() => knowsAll(node, count))
  return {
    nodes,
    async nodeOf(tag) {
      const slot = Number((await first.command('CLUSTER', 'KEYSLOT', tag)).slice(1))
      return nodes[Math.floor(slot / share)] as RedisServer
    },
    async addReplica(of) {
      const { node: replica, busPort } = await startMember(t)
      await of.command('CLUSTER', 'MEET', '127.0.0.1', new URL(replica.url).port, String(busPort))
      const id = linesOf(await of.text('CLUSTER', 'MYID'))[0] as string
      await until(async () => (await replica.command('CLUSTER', 'REPLICATE', id)) === '+OK')
      await until(async () => (await replica.text('INFO', 'replication')).includes('master_link_status:up'))
      for (const node of nodes) await until(async () => (await node.text('CLUSTER', 'NODES')).includes(`slave ${id}`))
      return replica
    },
    keys: () => Promise.all(nodes.map(async node => linesOf(await node.text('KEYS', '*')))),
  }
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + togetherMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error('the nodes of the cluster did not come together')
    await sleep(20)
  }
}

type Member = { readonly node: RedisServer; readonly busPort: number }

function startMember(t: Pick<Test, 'teardown'>): Promise<Member> {
  return onFreePort(async busPort => ({ node: await startRedis(t, ...optionsOf(busPort)), busPort }))
}

function optionsOf(busPort: number): readonly string[] {
  return [
    ['--cluster-enabled', 'yes'],
    ['--cluster-port', String(busPort)],
    ['--cluster-announce-ip', '127.0.0.1'],
    // A node that a test stops is not marked as failed within this time: it is long enough for slow machines.
    ['--cluster-node-timeout', '600000'],
    ['--cluster-require-full-coverage', 'no'],
  ].flat()
}

async function knowsAll(node: RedisServer, count: number): Promise<boolean> {
  const state = await node.text('CLUSTER', 'INFO')
  return (
    state.includes('cluster_state:ok') &&
    state.includes(`cluster_size:${count}\r`) &&
    state.includes(`cluster_slots_ok:${slots}\r`)
  )
}

/** The elements of an answer that is a list. */
function linesOf(answer: string): readonly string[] {
  return Array.from(answer.matchAll(/\$\d+\r\n([^\r]*)\r\n/g), ([, word]) => word as string)
}
