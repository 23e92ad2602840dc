import { type Reply, secretsOfUpstream, type Stage, type Upstream } from '../domain/index.ts'
import { AnswerRedaction, mayHave, soughtSecrets } from './answer-redaction.ts'
import { type DecodeFailures, DecodedSource, type Source } from './decode.ts'
import { fail } from './errors.ts'
import { createRedaction, strikeOut } from './redact.ts'
import type { AnswerHead, Call } from './transport.ts'

/** Media types that may contain words. Frames of other types have checksums, and a picture contains no message. */
const says = /^text\/|[/+](?:x-)?(?:nd)?json/i

/** The source of the answer's bytes: the call, or the decoder of codings that were not requested. */
export function openSource(call: Call, head: AnswerHead, upstream: Upstream): Source {
  return head.codings.length === 0 ? call : new DecodedSource(call, head.codings, upstream.answerBytesMax, failures)
}

const failures: DecodeFailures = {
  tooLarge: max => fail('upstream_answer_too_large', { why: `it is larger than ${max} bytes when decompressed` }),
  tooDense: ratio =>
    fail('upstream_answer_too_large', { why: `it expands to more than ${ratio} times its compressed size` }),
  damaged: (coding, isEarly, cause) =>
    isEarly
      ? fail('upstream_cut', { reason: `its ${coding} data ends too early` }, { cause })
      : fail('upstream_invalid', { reason: `its ${coding} data is invalid` }, { cause }),
}

/** Runs before every plugin's stages, because upstreams quote the key that they refuse. */
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

/** The secrets that a call was signed with, which no log and no client may see. */
export function secretsOfCall({ upstream, signed }: Call): readonly string[] {
  return [...secretsOfUpstream(upstream), ...(signed ?? [])]
}

/** The answer's headers that pass, without our credentials: vendors quote them there too. */
export function struckHeaders(headers: Reply['headers'], status: number, call: Call): Reply['headers'] {
  if (status < 400) {
    const sought = soughtSecrets(call.upstream, call.signed)
    if (!Object.values(headers).some(value => mayHave(sought, value))) return headers
  }
  const secrets = secretsOfCall(call)
  if (secrets.length === 0) return headers
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, strikeOut(value, secrets)]))
}
