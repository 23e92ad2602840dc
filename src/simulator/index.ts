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
  /** Valid names after `simulator:` in an upstream's url. */
  readonly names: readonly string[]
  /** The url of one, to which a route's path is appended; undefined if there is none with this name. */
  url(name: string): string | undefined
  /** Aborts running requests. */
  close(): Promise<void>
}

const bodyBytesMax = 40 * 1024 * 1024
const keptBytesMax = 64 * 1024 * 1024

/**
 * Starts every simulated upstream, each under its own prefix of one server on 127.0.0.1. Alpha, beta and text need no
 * credential and take any; the vendors refuse a request without one, and take any. Every answer carries `x-simulated: true`; a GET of any upstream's url lists what there is, and how a prompt
 * can demand faults of the text upstream and of the vendors. What a vendor has made is listed at
 * `GET /NAME/made` (`vendors/open-vendor.ts`).
 * @param clock decides when links end
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
  // Each worker has its own server: only that one knows the links that it issued.
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
    // The client has left, or a stream failed after its head: only a broken connection can report that.
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

/** Read to its end even when it is too long: an early answer would look like a broken connection to some clients. */
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
  // A vendor sends ids of its own, which a gateway must not pass on as its own.
  const id = `simulated-${randomUUID()}`
  response.writeHead(status, { 'x-simulated': 'true', 'x-request-id': id, 'request-id': id, ...headers })
  if (typeof body === 'string' || Buffer.isBuffer(body)) response.end(body)
  else await pipeline(Readable.from(body, { highWaterMark: 1 }), response)
}
