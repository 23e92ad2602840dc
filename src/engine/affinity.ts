import { type Affinity, type Body, readField } from '../domain/index.ts'
import type { Head, RequestContext, Target } from '../plugin-api/index.ts'

/** Of a longer value, so many characters make the difference. */
const charactersMax = 1_024

/**
 * What the requests of one conversation have in common, for the choice of upstream and key: the first hint that the model
 * reads and the request has. Undefined where each request is drawn for by itself.
 */
export function affinityOf(
  { head, payer, route }: RequestContext,
  { model, family, body }: Target,
): string | undefined {
  const hints = model.affinity ?? family.affinity
  // What a client makes without a model is all in one place: later requests name several of them.
  if (route.object?.namesNoModel) return payer
  const hint = hints && findHint(hints, head, body)
  // Two clients that send one value have no conversation in common.
  return hint === undefined ? undefined : `${payer} ${hint.slice(0, charactersMax)}`
}

function findHint({ fields, headers }: Affinity, head: Head, body: Body): string | undefined {
  for (const path of fields) {
    const value = readPath(body, path)
    if (typeof value === 'string' && value !== '') return value
  }
  for (const name of headers) {
    const value = head.headers[name]
    if (typeof value === 'string' && value !== '') return value
  }
  return undefined
}

function readPath(body: Body, [first = '', ...rest]: readonly string[]): unknown {
  let value: unknown = readField(body, first)
  for (const name of rest) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as { readonly [name: string]: unknown })[name]
  }
  return value
}
