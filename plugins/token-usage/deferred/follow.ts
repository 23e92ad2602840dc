import {
  type CallUpstream,
  type DeferredTraits,
  Failure,
  type Json,
  type UpstreamClient,
} from '../../../src/plugin-api/index.ts'
import { joined } from '../../../src/wire/index.ts'
import { fail } from '../errors.ts'
import { MemberReader } from '../read-members.ts'

/** The maximum size of an object. */
const objectBytesMax = 64 * 1024 * 1024
/** The number of polls without finding the object after which it counts as gone; at first it may not exist yet. */
const missingMax = 3

/** Work that an upstream has accepted. */
export type Work = {
  readonly traits: DeferredTraits
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly deadlineAt: number
  readonly now: () => number
  /** Charges work that has ended. @throws Failure; the work is then polled again later */
  readonly end: (client: UpstreamClient, ended: EndedWork) => Promise<void>
}

/** The object of ended work, as its upstream returned it. */
export type EndedWork = {
  readonly state: string
  readonly bytes: Buffer
  /** Its members that are needed. */
  readonly members: ReadonlyMap<string, Json>
}

/** Polls the work until it has ended, and charges it. Its clients get its result from the upstream. */
export function follow(work: Work): CallUpstream {
  const { traits, id, deadlineAt, now, end } = work
  return async client => {
    let missing = 0
    for (let waitMs = traits.everyMs; ; waitMs = Math.min(waitMs * 2, traits.mostMs)) {
      await client.sleep(waitMs)
      const isLast = now() >= deadlineAt
      const found = await poll(client, work)
      missing = found === 'missing' ? missing + 1 : 0
      if (missing === missingMax) throw fail('upstream_answer_gone', { id })
      if (typeof found === 'object') {
        await end(client, found)
        return answered(id)
      }
      if (isLast) throw fail('background_timeout', { id })
    }
  }
}

/** The stored result of the job. */
export function answered(id: string) {
  return {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: (async function* () {
      yield Buffer.from(JSON.stringify({ id }))
    })(),
  }
}

/** Reads the object; undefined if its work has not ended. A poll that fails is repeated later. */
async function poll(client: UpstreamClient, { traits, id }: Work): Promise<EndedWork | 'missing' | undefined> {
  const { poll: operation, headers = {}, state, ended, batch } = traits
  try {
    const answer = await client.ask({ operation, params: { id }, headers, body: none, bytesMax: objectBytesMax })
    const pieces: Buffer[] = []
    for await (const piece of answer.body) pieces.push(Buffer.from(piece))
    if (answer.status === 404 || answer.status === 410) return 'missing'
    if (answer.status < 200 || answer.status > 299) return undefined
    const bytes = joined(pieces)
    const members = new Map<string, Json>()
    const wanted = new Set([state, ...(batch?.results.files ?? []), ...(batch?.succeeded.slice(0, 1) ?? [])])
    new MemberReader({ members: wanted }, (name, value) => members.set(name, value)).write(bytes)
    const found = members.get(state)
    return typeof found === 'string' && ended.includes(found) ? { state: found, bytes, members } : undefined
  } catch (error) {
    if (error instanceof Failure && error.code.startsWith('upstream_')) return undefined
    throw error
  }
}

const none = { kind: 'none' } as const
