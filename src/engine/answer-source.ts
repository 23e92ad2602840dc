import { type Reply, secretsOfUpstream, type Stage, type Upstream } from '../domain/index.ts'
import { AnswerRedaction, mayHave, soughtSecrets } from './answer-redaction.ts'
import { type DecodeFailures, DecodedSource, type Source } from './decode.ts'
import { fail } from './errors.ts'
import { createRedaction, strikeOut } from './redact.ts'
import type { AnswerHead, Call } from './transport.ts'

/** Media types that may have words. Frames of others have sums of their own, and a picture says nothing. */
const says = /^text\/|[/+](?:x-)?(?:nd)?json/i

/** Where the answer's bytes come from: the call, or what undoes the codings that were not requested. */
export function openSource(call: Call, head: AnswerHead, upstream: Upstream): Source {
  return head.codings.length === 0 ? call : new DecodedSource(call, head.codings, upstream.answerBytesMax, failures)
}

const failures: DecodeFailures = {
  tooLarge: max => fail('upstream_answer_too_large', { why: `it comes to more than ${max} bytes unpacked` }),
  tooDense: ratio => fail('upstream_answer_too_large', { why: `it comes to more than ${ratio} times what was sent` }),
  damaged: (coding, isEarly, cause) =>
    isEarly
      ? fail('upstream_cut', { reason: `its ${coding} ends too soon` }, { cause })
      : fail('upstream_invalid', { reason: `its ${coding} cannot be read` }, { cause }),
}

/** What runs before every plugin's stages: upstreams quote the key that they refuse. */
export function firstStages({ status, headers }: AnswerHead, call: Call): readonly Stage[] {
  if (status >= 400) {
    const redaction = createRedaction(secretsOfCall(call))
    return redaction ? [redaction] : []
  }
  const type = headers['content-type']
  if (typeof type !== 'string' || !says.test(type)) return []
  const sought = soughtSecrets(call.upstream, call.signed)
  return sought.isEmpty ? [] : [new AnswerRedaction(sought)]
}

/** What a call was signed with, that no log and no caller may see. */
export function secretsOfCall({ upstream, signed }: Call): readonly string[] {
  return [...secretsOfUpstream(upstream), ...(signed ?? [])]
}

/** What passes of an answer's headers, without our credentials: vendors quote them there too. */
export function struckHeaders(headers: Reply['headers'], status: number, call: Call): Reply['headers'] {
  if (status < 400) {
    const sought = soughtSecrets(call.upstream, call.signed)
    if (!Object.values(headers).some(value => mayHave(sought, value))) return headers
  }
  const secrets = secretsOfCall(call)
  if (secrets.length === 0) return headers
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, strikeOut(value, secrets)]))
}
