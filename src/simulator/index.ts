import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Clock } from '../util/index.ts'
import { Failure } from '../domain/index.ts'
import { systemClock } from '../util/index.ts'
import { answerFailure, answerJson } from './answer.ts'
import { fail } from './errors.ts'
import { findRoute } from './find-route.ts'
import { createLinks } from './links.ts'
import type { Links } from './links.ts'
import { simulatorNames } from './names.ts'
import { mediaTypes } from './pictures/picture.ts'
import { serveRealtime } from './realtime/serve.ts'
import { createStudio } from './pictures/studio.ts'
import { demands } from './text/marks.ts'
import type { Call, Played, Site } from './upstream.ts'
import { findUpstream } from './upstreams.ts'

/** Simulated upstreams on a loopback port of their own. */
export type Simulator = {
  /** Valid names after `simulator:` in the url of an upstream. */
  readonly names: readonly string[]
  /**
   * The url of an upstream, to which the client appends the path of a route; undefined if there is no such upstream.
   */
  url(name: string): string | undefined
  /** Aborts running requests. */
  close(): Promise<void>
}

const bodyBytesMax = 40 * 1024 * 1024
const keptBytesMax = 64 * 1024 * 1024

/**
 * Starts every simulated upstream under its own prefix of one server on 127.0.0.1. Alpha, beta and text accept requests
 * with any credential or none; vendors accept any credential, but refuse a request without one. Every response has
 * `x-simulated: true`. A GET of an upstream's url lists its routes, and the faults of the text upstream and of the
 * vendors that a prompt can demand. `GET /NAME/made` lists the pictures that a vendor has made
 * (`vendors/open-vendor.ts`).
 * @param clock decides when links expire
 */
export async function startSimulator(clock: Clock = systemClock): Promise<Simulator> {
  const studio = createStudio(keptBytesMax)
  const links = createLinks(clock)
  let origin = ''
  const site: Site = {
    paint: picture => studio.paint(picture),
    publish: picture => `${origin}/files/${links.add(picture)}`,
    now: () => clock.now(),
    tick: () => clock.tick(),
    origin: () => origin,
  }
  const server = createServer((request, response) => {
    void respond(request, response, site, links)
  })
  const closeSockets = serveRealtime(server)
  // Each worker has its own server, because a worker knows only its own links.
  server.listen({ port: 0, host: '127.0.0.1', exclusive: true })
  await once(server, 'listening')
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    names: simulatorNames,
    url: name => (simulatorNames.some(known => known === name) ? `${origin}/${name}` : undefined),
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      closeSockets()
      await closed
    },
  }
}

async function respond(request: IncomingMessage, response: ServerResponse, site: Site, links: Links): Promise<void> {
  let played: Played
  try {
    played = await play(request, site, links)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    played = answerFailure(cause instanceof Failure ? cause : fail('server_error', { reason }, { cause }))
  }
  try {
    await send(response, request.method === 'HEAD' ? { ...played, body: '' } : played)
  } catch {
    // The client has left, or a stream failed after its head. Only a broken connection can report that.
    response.destroy()
  }
}

async function play(request: IncomingMessage, site: Site, links: Links): Promise<Played> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://simulator')
  const method = request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET')
  const [, first = '', ...rest] = pathname.split('/')
  const body = await readBody(request)
  if (method === 'GET' && (first === '' || first === 'simulator') && rest.length === 0) return introduce()
  if (method === 'GET' && first === 'files') return download(rest.join('/'), site, links)
  const upstream = await findUpstream(first)
  if (method === 'GET' && upstream && rest.length === 0) return introduce()
  const found = upstream && findRoute(upstream, method, `/${rest.join('/')}`)
  if (!found) throw fail('unknown_url', { method, path: pathname })
  const headers = request.headers as Call['headers']
  return found.handler({ headers, query: searchParams, params: found.params, body, site })
}

/** Reads a body to its end even if it is too long: some clients report an early response as a broken connection. */
async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes <= bodyBytesMax) chunks.push(chunk)
    else chunks.length = 0
  }
  if (bytes > bodyBytesMax) throw fail('body_too_large', { max: bodyBytesMax, found: bytes })
  return Buffer.concat(chunks)
}

async function introduce(): Promise<Played> {
  const { pictureDemands } = await import('./vendors/demands.ts')
  const all = await Promise.all(simulatorNames.map(async name => [name, (await findUpstream(name)) ?? {}] as const))
  return answerJson(200, {
    simulated: true,
    about: 'Simulated upstreams: what comes from here was not made by a model.',
    upstreams: Object.fromEntries(all.map(([name, routes]) => [name, Object.keys(routes)])),
    demands: { ...demands, ...pictureDemands },
  })
}

async function download(name: string, site: Site, links: Links): Promise<Played> {
  const picture = links.find(name)
  if (!picture) throw fail('link_expired')
  const body = await site.paint(picture)
  const headers = { 'content-type': mediaTypes[picture.format], 'content-length': String(body.length) }
  return { status: 200, headers: { ...headers, 'cache-control': 'no-store' }, body }
}

async function send(response: ServerResponse, { status, headers, body }: Played): Promise<void> {
  // A vendor sends its own ids, which a gateway must not forward as its own.
  const id = `simulated-${randomUUID()}`
  response.writeHead(status, { 'x-simulated': 'true', 'x-request-id': id, 'request-id': id, ...headers })
  if (typeof body === 'string' || Buffer.isBuffer(body)) response.end(body)
  else await pipeline(Readable.from(body, { highWaterMark: 1 }), response)
}
