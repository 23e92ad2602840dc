import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import type { UploadTraits } from '../../domain/index.ts'
import type { Head, RequestContext } from '../../plugin-api/index.ts'
import { upstreamQuery } from '../headers.ts'

/** Creates a short-lived secret that opens uploads of the client's key, for one model. */
export type CreateLinkSecret = (context: RequestContext, model: string, expiresAt: number) => Promise<string>

/**
 * Id of the upload that a request continues: undefined for a new one, and empty if the query does not name exactly one. Upstreams
 * differ over which of two counts.
 */
export function uploadIn({ query }: Head, { id }: UploadTraits): string | undefined {
  const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  const named = [...new URLSearchParams(query)].filter(([name]) => plain(name) === plain(id))
  const [first] = named
  if (!first) return undefined
  return named.length === 1 && first[0] === id ? first[1] : ''
}

/** Query of an upstream's link without its keys, and the id of the upload; undefined if the link names none. */
export function readLink(
  link: string,
  { id }: UploadTraits,
): { readonly id: string; readonly query: string } | undefined {
  const url = URL.parse(link, 'http://upstream.invalid')
  const found = url?.searchParams.get(id)
  return url && found ? { id: found, query: upstreamQuery(url.search.slice(1)) } : undefined
}

/** The link at the gateway, at the address that the client used. */
export function linkHere(
  { headers, socket }: IncomingMessage,
  { head, plan }: Pick<RequestContext, 'head' | 'plan'>,
  query: string,
): string {
  const { publicUrl } = plan.server
  const host = headers.host ?? ''
  if (publicUrl !== undefined && URL.parse(publicUrl)?.host === host) return `${publicUrl}${head.path}?${query}`
  // Only the client's own link depends on the header.
  const isSecure = (socket as Partial<TLSSocket>).encrypted === true || headers['x-forwarded-proto'] === 'https'
  return `${isSecure ? 'https' : 'http'}://${host}${head.path}?${query}`
}
