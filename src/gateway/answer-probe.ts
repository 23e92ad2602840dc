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
 * Answers health checks of load balancers on the client listener, as on the operators' listener: `/healthz` (the
 * process runs) and `/readyz` (it accepts work). They need no key and no lookup, and are not logged. A route of the
 * configuration takes precedence.
 * @returns false for any other request
 */
export function answerProbe(req: IncomingMessage, res: ServerResponse, sources: ProbeSources): boolean {
  const { url = '', method } = req
  // Client requests begin with `/v1`, so that one character decides.
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
