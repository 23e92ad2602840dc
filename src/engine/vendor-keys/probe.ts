import { Failure, type KeyTrial, type VendorKey } from '../../domain/index.ts'
import type { Clock } from '../../util/index.ts'
import type { Call, CallRequest } from '../call-request.ts'
import { fail } from '../errors.ts'
import { fixedHeaders } from '../headers.ts'
import { ClassifiedCall } from '../classify-response/classified-call.ts'

/** Statuses of a path that does not exist, or has no GET. */
const missing: ReadonlySet<number> = new Set([404, 405, 501])

/** Sends a free request with a key, and returns whether it is accepted. Never rejects. */
export async function probe(
  key: VendorKey,
  how: { readonly clock: Clock; send(this: void, request: CallRequest): Call },
  isAgain = false,
): Promise<KeyTrial> {
  const { clock, send } = how
  const { upstream } = key
  const path = upstream.probePath ?? '/'
  const began = clock.tick()
  const trialOf = (result: KeyTrial['result'], answer: string): KeyTrial => {
    return { upstream: upstream.name, key: key.name, result, answer, path, ms: Math.round(clock.tick() - began) }
  }
  try {
    const call = new ClassifiedCall(
      send({
        upstream,
        method: 'GET',
        path,
        headers: [...fixedHeaders(upstream).list, 'accept', 'application/json'],
        body: { kind: 'none' },
        reuse: false,
      }),
      clock,
    )
    const { status } = await call.head
    const { classification } = call
    call.abort(fail('upstream_cut', { reason: 'its head is enough' }))
    // An expired token reveals nothing about the key.
    if (call.isOutdated && !isAgain) return await probe(key, how, true)
    if (!classification) return trialOf('good', String(status))
    if (missing.has(status)) return trialOf('unclear', classification.code)
    // A limit, or missing credit, proves that the key was accepted.
    const isKnown = classification.key === 'cooling' || classification.key === 'no_credit'
    return trialOf(isKnown ? 'good' : 'bad', classification.code)
  } catch (error) {
    return trialOf('bad', error instanceof Failure ? error.code : 'internal_error')
  }
}
