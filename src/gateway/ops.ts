import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { ReloadResult } from './reload-result.ts'
import type { Awaitable } from '../util/index.ts'
import type { Metrics } from '../observe/index.ts'
import type { ReloadStatus, Status } from './status.ts'

/** The parts of a gateway, in one process or in several, for the operators' listener. */
type OpsParts = {
  readonly metrics: Pick<Metrics, 'expose'>
  isReady(): Awaitable<boolean>
  /** The reason why the storage accepts no writes, if this process knows it. */
  trouble?(): string | undefined
  status(): Awaitable<Status>
  /** The active configuration with redacted secrets. */
  settings(): {
    readonly revision: string
    readonly file: string
    readonly settings: { readonly [path: string]: string }
  }
  /** @throws Error if no attempt was possible */
  reload(): Promise<{ readonly result: ReloadResult; readonly before: ReloadStatus | null }>
}

type OpsResponse = { readonly status: number; readonly text: string; readonly type?: string }

type OpsRoute = {
  readonly method: 'GET' | 'POST'
  /** Refused unless the request is from this machine: network clients with read access may not change the gateway. */
  readonly nearOnly?: true
  answer(parts: OpsParts): Awaitable<OpsResponse>
}

const json = (status: number, value: unknown): OpsResponse => ({
  status,
  text: `${JSON.stringify(value)}\n`,
  type: 'application/json',
})

const routes: { readonly [path: string]: OpsRoute } = {
  '/healthz': { method: 'GET', answer: () => ({ status: 200, text: 'ok\n' }) },
  '/readyz': {
    method: 'GET',
    async answer(parts) {
      if (await parts.isReady()) return { status: 200, text: 'ready\n' }
      const why = parts.trouble?.()
      return { status: 503, text: why ? `not ready: ${why}\n` : 'not ready\n' }
    },
  },
  '/metrics': {
    method: 'GET',
    async answer({ metrics }) {
      const { contentType, text } = await metrics.expose()
      return { status: 200, text, type: contentType }
    },
  },
  '/status': { method: 'GET', answer: async parts => json(200, await parts.status()) },
  '/config': { method: 'GET', nearOnly: true, answer: parts => json(200, parts.settings()) },
  '/reload': {
    method: 'POST',
    nearOnly: true,
    async answer(parts) {
      const { result, before } = await parts.reload()
      return json(result.ok ? 200 : 422, { ...result, before })
    },
  },
}
const known = Object.keys(routes).join(', ')
const loopback = /^(?:127\.|::1$|::ffff:127\.)/
/** An IP address, or a name without a dot, which cannot be in the public DNS. */
const plainHost = /^(?:[\w-]+|[\d.]+|\[[\da-f:.]+\])(?::\d+)?$/i

/**
 * The operators' listener: `/healthz` (the process runs), `/readyz` (it accepts work), `/metrics`, `/status`,
 * `/config`, `/reload`.
 */
export function createOpsServer(parts: OpsParts): Server {
  return createServer((req, res) => {
    answer(req, parts).then(
      response => send(res, response),
      (error: unknown) => send(res, { status: 500, text: `failed: ${String(error)}\n` }),
    )
  })
}

async function answer(req: IncomingMessage, parts: OpsParts): Promise<OpsResponse> {
  const path = req.url?.split('?', 1)[0] ?? ''
  const route = Object.hasOwn(routes, path) ? routes[path] : undefined
  req.resume()
  if (!route) return { status: 404, text: `available: ${known}\n` }
  const isHead = req.method === 'HEAD' && route.method === 'GET'
  if (!isHead && req.method !== route.method) return { status: 405, text: `only ${route.method} is supported here\n` }
  if (route.nearOnly && !loopback.test(req.socket.remoteAddress ?? ''))
    return {
      status: 403,
      text: `${path} only accepts requests from this machine: run the command on the host of the gateway\n`,
    }
  if (route.nearOnly && isFromPage(req)) return { status: 403, text: 'requests from browsers are not allowed\n' }
  return route.answer(parts)
}

/**
 * Browsers send the origin of a POST request; other clients do not. For a GET request they send none if the page's name
 * resolves to this address (DNS rebinding), but `host` contains that name.
 */
function isFromPage({ headers }: IncomingMessage): boolean {
  const isNamed = headers.host !== undefined && !plainHost.test(headers.host)
  return isNamed || headers.origin !== undefined || (headers['sec-fetch-site'] ?? 'none') !== 'none'
}

function send(res: ServerResponse, { status, text, type = 'text/plain; charset=utf-8' }: OpsResponse): void {
  res
    .writeHead(status, { 'content-type': type, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    .end(text)
}
