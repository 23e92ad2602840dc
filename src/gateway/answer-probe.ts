import type { IncomingMessage, ServerResponse } from 'node:http'
import { idHeaders } from '../engine/respond.ts'

const letterH = 104
const letterR = 114

type ProbeSources = {
  /** Whether the configuration has a route of this path. */
  readonly hasRoute: (path: string) => boolean
  readonly isReady: () => boolean
  readonly nextId: () => string
}

/**
 * The probes of load balancers at the listener for callers, as at that for operators: `/healthz` (the process runs) and `/readyz` (it
 * takes work). No key is needed, nothing is looked up or logged, and a route of the configuration goes before.
 * @returns false where it is another request
 */
export function answerProbe(req: IncomingMessage, res: ServerResponse, sources: ProbeSources): boolean {
  const { url = '', method } = req
  // Requests of callers begin with `/v1`: one character decides.
  const letter = url.charCodeAt(1)
  if (letter !== letterH && letter !== letterR) return false
  const [path = ''] = url.split('?', 1)
  if ((path !== '/healthz' && path !== '/readyz') || (method !== 'GET' && method !== 'HEAD')) return false
  if (sources.hasRoute(path)) return false
  const isFine = path === '/healthz' || sources.isReady()
  const text = path === '/healthz' ? 'ok\n' : isFine ? 'ready\n' : 'not ready\n'
  res
    .writeHead(isFine ? 200 : 503, {
      ...idHeaders(sources.nextId()),
      'content-type': 'text/plain; charset=utf-8',
      'content-length': text.length,
      'cache-control': 'no-store',
    })
    .end(method === 'HEAD' ? undefined : text)
  return true
}
