import type { Body, Question, Upstream } from '../kit/index.ts'
import type { CallRequest } from './call-request.ts'
import { fail } from './errors.ts'
import { fixedHeaders } from './headers.ts'
import type { Address } from './outbound.ts'

type Asking = {
  readonly upstream: Upstream
  /** Where the operation is asked for. */
  readonly address: Address
  readonly reuse: boolean
  /** More headers for every request. */
  readonly headers: { readonly [name: string]: string }
  /** An upstream's url as written, as one that can be dialled. */
  readonly resolve: (url: string) => string
}

/**
 * One request of a conversation: nothing of the caller's own head goes with it.
 * @throws Failure upstream_address_refused for an address of an answer that is not to be asked
 */
export function toRequest(question: Question, { upstream, address, reuse, headers, resolve }: Asking): CallRequest {
  const { body, url } = question
  const isOwn = question.path === undefined && url === undefined
  const more = { ...headers, ...(isOwn && address.headers), ...question.headers, ...contentType(body) }
  const method = question.method ?? (isOwn ? address.method : 'GET')
  if (url === undefined) {
    const list = toList(upstream, more)
    return { upstream, method, path: question.path ?? address.path, headers: list, body, reuse }
  }
  const own = new URL(resolve(upstream.url))
  const asked = URL.canParse(url, own.origin) ? new URL(url, own.origin) : undefined
  if (asked?.origin !== own.origin)
    throw fail('upstream_address_refused', { url: (asked?.origin ?? url).slice(0, 120) })
  const there = { ...upstream, url: asked.origin }
  return { upstream: there, method, path: asked.pathname + asked.search, headers: toList(there, more), body, reuse }
}

function contentType(body: Body): { readonly [name: string]: string } {
  if (body.kind === 'json') return { 'content-type': 'application/json' }
  return body.kind === 'stream' || body.kind === 'composed' ? { 'content-type': body.contentType } : {}
}

function toList(upstream: Upstream, more: { readonly [name: string]: string }): string[] {
  const list = [...fixedHeaders(upstream).list]
  for (const [name, value] of Object.entries(more)) list.push(name, value)
  return list
}
