import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type OpenAI from 'openai'
import type { Test } from 'tap'
import {
  type AnyPlugin,
  type BillingRecord,
  createGateway,
  createKey,
  type Gateway,
  type GatewayParts,
  type LogRecord,
  logRecord,
  type CompiledConfig,
  type ReloadResult,
} from '../../src/index.ts'
import { layDatabase } from './database.ts'
import { type Edits, editYaml } from './edit-yaml.ts'
import { startThread } from './threads.ts'
import { startUpstream, type Upstream } from './upstream.ts'

/** Loaded on demand: it has as many modules as the engine and its plugins. */
const openAi = (options: ConstructorParameters<typeof OpenAI>[0]): OpenAI =>
  new (createRequire(import.meta.url)('openai') as typeof import('openai')).default(options)

/** The maximum time from a request's answer to its settlement. */
const settleMs = 20_000

export type { Edits } from './edit-yaml.ts'

export type Started = {
  readonly gateway: Gateway
  /** Base address of the gateway, without `/v1`. */
  readonly url: string
  readonly opsUrl: string
  /** Upstreams by their names in the configuration. */
  readonly upstreams: { readonly [name: string]: Upstream }
  readonly upstream: Upstream
  readonly key: string
  readonly keyId: string
  readonly folder: string
  readonly plan: CompiledConfig
  /** The real SDK, pointed at the gateway; it does not retry. */
  readonly openai: OpenAI
  readonly newKey: (more?: {
    readonly name?: string
    readonly budget?: number
    readonly models?: string[]
    readonly group?: string
  }) => Promise<{ key: string; id: string }>
  /** Sends a JSON request with the first key. */
  readonly post: (path: string, body: unknown, headers?: Record<string, string>) => Promise<Response>
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Response>
  /** Log records, newest first, after all requests so far have settled. */
  readonly logs: (limit?: number) => Promise<LogRecord[]>
  /** Charges, newest first, after all requests so far have settled. */
  readonly charges: (limit?: number) => Promise<(BillingRecord & { readonly id: string })[]>
  /** Resolves when no request is open. */
  readonly settled: () => Promise<void>
  readonly reopen: () => Promise<Started>
  /** Changes the configuration's text and reloads it in the running gateway. */
  readonly reload: (edit: Edits) => Promise<ReloadResult>
}

export type StartOptions = {
  /** Configuration text; the shipped `gateway.yaml` when absent. `UPSTREAM_URL` and `NAME_URL` are set in its environment. */
  readonly yaml?: string
  readonly edit?: Edits
  /** The name of the configuration's file in messages; a file in the test's folder when absent. */
  readonly file?: string
  /** Makes the gateway read its configuration from the file. */
  readonly onDisk?: boolean
  /** Plugins next to the built-in ones; the configuration's pipeline has to name them. */
  readonly plugins?: readonly AnyPlugin[]
  readonly env?: Record<string, string>
  /**
   * Names of upstreams to start; the address of each is in the variable `<NAME>_URL`. `['alpha', 'beta', 'text']` when
   * absent.
   */
  readonly upstreams?: readonly string[]
  /** Uses the simulator for all upstreams. */
  readonly simulated?: boolean
  /** A clock without timers uses the system's timers. */
  readonly clock?: GatewayParts['clock']
  readonly counters?: GatewayParts['counters']
  /** The gateway's log; none when absent. */
  readonly log?: GatewayParts['log']
}

/** Starts a gateway with real upstreams, in a folder of its own that is deleted with the test. */
export async function start(t: Pick<Test, 'teardown'>, options: StartOptions = {}): Promise<Started> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-test-'))
  const upstreams: { [name: string]: Upstream } = {}
  const env: Record<string, string> = {
    TOLLGATE_LISTEN: '127.0.0.1:0',
    TOLLGATE_OPS: '127.0.0.1:0',
    TOLLGATE_STORAGE: `sqlite:${join(folder, 'tollgate.db')}`,
  }
  layDatabase(join(folder, 'tollgate.db'))
  if (!options.simulated)
    for (const name of options.upstreams ?? ['alpha', 'beta', 'text']) {
      const upstream = await startUpstream()
      upstreams[name] = upstream
      env[`${name.toUpperCase()}_URL`] = upstream.url
      env['UPSTREAM_URL'] ??= upstream.url
      env[`${name.toUpperCase()}_API_KEY`] = `upstream-secret-of-${name}`
    }
  Object.assign(env, options.env)
  const shipped = options.yaml ?? (await readFile(new URL('../../gateway.yaml', import.meta.url), 'utf8'))
  // The gateway reads the text again at each reload.
  const config = { text: editYaml(shipped, options.edit ?? []), file: options.file ?? join(folder, 'gateway.yaml') }
  if (options.onDisk) await writeFile(config.file, config.text)
  const stops: (() => Promise<void>)[] = []
  t.teardown(async () => {
    for (const stop of stops.toReversed()) await stop()
    for (const upstream of Object.values(upstreams)) await upstream.close()
    await rm(folder, { recursive: true, force: true })
  })
  return open()

  async function open(): Promise<Started> {
    const gateway = await createGateway(options.onDisk ? config.file : config, {
      env,
      log: options.log ?? quietLog(),
      startThread,
      ...(options.clock && { clock: options.clock }),
      ...(options.counters && { counters: options.counters }),
      ...(options.plugins && { plugins: options.plugins }),
    })
    stops.push(() => gateway.close())
    const { url, opsUrl } = await gateway.listen()
    let openai: OpenAI | undefined
    const first = await createKey(gateway.storage, { name: 'test', user: 'local' })
    const settled = async (): Promise<void> => {
      // Settlement follows the answer by a commit, without an event outside the gateway. Limited by time instead of
      // turns: on a busy machine a commit takes longer than any number of turns.
      const end = performance.now() + settleMs
      while (gateway.open > 0) {
        if (performance.now() > end) throw new Error(`${gateway.open} requests were still open after ${settleMs} ms`)
        await new Promise(resolve => setTimeout(resolve, 1))
      }
      await gateway.storage.flush()
    }
    const list = async (limit: number) => {
      await settled()
      return gateway.storage.journal.list({ limit })
    }
    return {
      gateway,
      url,
      opsUrl: opsUrl ?? '',
      upstreams,
      upstream: Object.values(upstreams)[0] as Upstream,
      key: first.secret,
      keyId: first.key.id,
      folder,
      plan: gateway.plan,
      get openai() {
        return (openai ??= openAi({ baseURL: `${url}/v1`, apiKey: first.secret, maxRetries: 0 }))
      },
      async newKey(more = {}) {
        const { key, secret } = await createKey(gateway.storage, {
          name: more.name ?? 'another',
          user: 'local',
          group: more.group ?? null,
          budget: more.budget ?? null,
          models: more.models ?? null,
        })
        return { key: secret, id: key.id }
      },
      post: (path, body, headers = {}) =>
        fetch(url + path, {
          method: 'POST',
          headers: { authorization: `Bearer ${first.secret}`, 'content-type': 'application/json', ...headers },
          body:
            typeof body === 'string' || body instanceof Uint8Array
              ? (body as RequestInit['body'] & {})
              : JSON.stringify(body),
        }),
      get: (path, headers = {}) =>
        fetch(url + path, { headers: { authorization: `Bearer ${first.secret}`, ...headers } }),
      logs: async (limit = 50) => (await list(limit)).map(found => logRecord(found, gateway.plan.plugins.known)),
      charges: async (limit = 50) =>
        (await list(limit)).flatMap(found => {
          const { billing } = logRecord(found, gateway.plan.plugins.known)
          return billing ? [{ ...billing, id: found.row.id }] : []
        }),
      settled,
      async reopen() {
        await gateway.close()
        return open()
      },
      reload(edit) {
        config.text = editYaml(config.text, edit)
        return gateway.reload()
      },
    }
  }
}

/** A log that drops everything. */
export function quietLog() {
  const nothing = (): void => undefined
  return {
    debug: nothing,
    info: nothing,
    warn: nothing,
    error: nothing,
    request: nothing,
    hide: nothing,
    flush: () => Promise.resolve(),
  }
}
