import { type Clock, Failure, type VendorKey } from '../../kit/index.ts'
import type { Call, CallRequest } from '../call-request.ts'
import { fail } from '../errors.ts'
import { fixedHeaders } from '../headers.ts'
import { JudgedCall } from './judged-call.ts'

/** What a free look at a key shows. `unclear`: what was asked for is not there, which proves nothing of the key. */
export type Probed = { readonly kind: 'good' | 'bad' | 'unclear'; readonly told: string }

/** Statuses of a path that is not there, or does not take a GET. */
const missing: ReadonlySet<number> = new Set([404, 405, 501])

/** Asks with a key for what costs nothing, and tells whether it is let in. Never rejects. */
export async function probe(
  key: VendorKey,
  { clock, send }: { readonly clock: Clock; send(this: void, request: CallRequest): Call },
): Promise<Probed> {
  const { upstream } = key
  try {
    const call = new JudgedCall(
      send({
        upstream,
        method: 'GET',
        path: upstream.probePath ?? '/',
        headers: [...fixedHeaders(upstream).list, 'accept', 'application/json'],
        body: { kind: 'none' },
        reuse: false,
      }),
      clock,
      undefined,
    )
    const { status } = await call.head
    const { judgement } = call
    call.abort(fail('upstream_cut', { reason: 'its head is enough' }))
    if (!judgement) return { kind: 'good', told: String(status) }
    if (missing.has(status)) return { kind: 'unclear', told: judgement.code }
    // Who is limited, or has no credit, has been let in.
    const isKnown = judgement.key === 'cooling' || judgement.key === 'no_credit'
    return { kind: isKnown ? 'good' : 'bad', told: judgement.code }
  } catch (error) {
    return { kind: 'bad', told: error instanceof Failure ? error.code : 'internal_error' }
  }
}
