import type { Test } from 'tap'
import { type Edits, type Started, start } from '../harness/start.ts'

/** A running gateway of the shipped configuration over simulated upstreams, and keys for every kind of refusal. */
export type SdkGateway = Started & {
  readonly keys: {
    /** In a group with one request per minute, already used. */
    readonly spent: string
    /** May use none of these tests' models. */
    readonly barred: string
    /** Has no budget left. */
    readonly broke: string
  }
  /** Number of requests so far, including refused ones. */
  readonly requests: () => Promise<number>
}

/** Maximum size of a request in bytes. */
export const bodyBytesMax = 2 * 1024 * 1024

/** The shipped limits would end these tests early, and 32 MiB would make them slow. */
const edits: Edits = [
  { 'groups/default': { rpm: 60000, tpm: 200000000 }, 'groups/single': { rpm: 1 } },
  { 'server/body_max': '2MiB' },
  [/^ {2}sim-chat: (.*)$/m, '  sim-chat: $1\n  vendor/sim-chat: $1'],
]

export async function startForSdk(t: Test): Promise<SdkGateway> {
  const started = await start(t, { simulated: true, edit: edits })
  const spent = await started.newKey({ name: 'spent', group: 'single' })
  const barred = await started.newKey({ name: 'barred', models: ['alpha-image-2'] })
  const broke = await started.newKey({ name: 'broke', budget: 0 })
  const first = await started.post(
    '/v1/embeddings',
    { model: 'sim-embedding', input: 'first' },
    { authorization: `Bearer ${spent.key}` },
  )
  t.equal(first.status, 200, 'the one request of the small group')
  return {
    ...started,
    keys: { spent: spent.key, barred: barred.key, broke: broke.key },
    requests: async () => (await started.logs(1000)).length - 1,
  }
}

/** The rejection of a promise. @throws when it does not reject */
export async function caught(doing: Promise<unknown> | (() => unknown)): Promise<Caught> {
  try {
    await (typeof doing === 'function' ? doing() : doing)
  } catch (error) {
    return error as Caught
  }
  throw new Error('nothing was raised')
}

/** The members that errors of the SDKs have. */
export type Caught = Error & {
  readonly status?: number
  readonly code?: string | null
  readonly type?: string
  readonly requestID?: string | null
  readonly request_id?: string | null
  readonly headers?: Headers | { readonly [name: string]: string }
}

export function headerOf({ headers }: Caught, name: string): string | null {
  return headers instanceof Headers ? headers.get(name) : (headers?.[name] ?? null)
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const one of items) all.push(one)
  return all
}

/** Reads until the end or an error; returns the error, and the number of items before it. */
export async function readOut(items: AsyncIterable<unknown>): Promise<{ count: number; error: Caught | undefined }> {
  let count = 0
  try {
    for await (const _ of items) count++
    return { count, error: undefined }
  } catch (error) {
    return { count, error: error as Caught }
  }
}
