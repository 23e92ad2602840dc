import type { Exchange, Outbound, Target } from '../kit/index.ts'
import { requestHeaders, upstreamQuery } from './headers.ts'
import { applyForward } from './target.ts'

/** The request as the upstream gets it, before hooks change it. */
export function shapeOutbound(ex: Exchange, target: Target): Outbound {
  const rule = target.family.forward.get(ex.route.operation)
  const { body, forwarded, dropped } = applyForward(target.body, rule, target)
  ex.notes.forwarded = forwarded
  ex.notes.dropped = dropped
  return { body, headers: {}, detach: false }
}

/** Path and query as the upstream gets them. */
export function upstreamPath(ex: Exchange, target: Target): string {
  const { upstreamPath: template } = ex.route
  const path = template.includes('{') ? fillPath(template, { ...ex.params, model: target.sendAs }) : template
  const query = upstreamQuery(ex.head.query)
  return query === '' ? path : `${path}?${query}`
}

/** The template with its names filled in; slashes and colons of a value stay, everything else is escaped. */
function fillPath(template: string, params: { readonly [name: string]: string }): string {
  return template.replaceAll(/\{(\w+)\}/g, (_whole, name: string) =>
    encodeURIComponent(params[name] ?? '')
      .replaceAll('%2F', '/')
      .replaceAll('%3A', ':'),
  )
}

/** Flat list of names and values. */
export function outgoingHeaders(ex: Exchange, target: Target, out: Outbound): string[] {
  const headers = requestHeaders(ex.head, ex.dialect, target.upstream, out.headers)
  if (out.body.kind === 'json') headers.push('content-type', 'application/json')
  else if (out.body.kind === 'stream') headers.push('content-type', out.body.contentType)
  return headers
}
