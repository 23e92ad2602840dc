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

/** The secrets that a call was signed with, which no log and no client may see. */
export function secretsOfCall({ upstream, signed }: Call): readonly string[] {
  return [...secretsOfUpstream(upstream), ...(signed ?? [])]
}

/**
 * An answer without our credentials: its headers that pass, and the stage that removes them from its bytes, before every
 * plugin's stages. Upstreams quote the key that they refuse.
 */
export function redactAnswer(
  { status, headers }: AnswerHead,
  passed: Reply['headers'],
  call: Call,
): { readonly headers: Reply['headers']; readonly stages: readonly Stage[] } {
  if (status >= 400) {
    const redaction = createRedaction(secretsOfCall(call))
    return { headers: struckHeaders(passed, call), stages: redaction ? [redaction] : [] }
  }
  const sought = soughtSecrets(call.upstream, call.signed)
  if (sought.isEmpty) return { headers: passed, stages: [] }
  const isQuoted = Object.values(passed).some(value => mayHave(sought, value))
  const type = headers['content-type']
  return {
    headers: isQuoted ? struckHeaders(passed, call) : passed,
    stages: typeof type === 'string' && says.test(type) ? [new AnswerRedaction(sought)] : [],
  }
}

function struckHeaders(headers: Reply['headers'], call: Call): Reply['headers'] {
  const secrets = secretsOfCall(call)
  if (secrets.length === 0) return headers
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, strikeOut(value, secrets)]))
}
