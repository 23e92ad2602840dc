import { type Reply, secretsOfUpstream, type Stage, type Upstream } from '../kit/index.ts'
import { DecodedAnswer, type Source } from './decode.ts'
import { createRedaction, strikeOut } from './redact.ts'
import type { AnswerHead, Call } from './transport.ts'

/** Where the answer's bytes come from: the call, or what undoes the codings that nobody asked for. */
export function openSource(call: Call, head: AnswerHead, upstream: Upstream): Source {
  return head.codings.length === 0 ? call : new DecodedAnswer(call, head.codings, upstream.answerBytesMax)
}

/** What stands before every plugin's stages: upstreams quote the key that they refuse. */
export function firstStages(status: number, call: Call): readonly Stage[] {
  const redaction = status < 400 ? undefined : createRedaction(secretsOfCall(call))
  return redaction ? [redaction] : []
}

/** What a call was signed with, that no log and no caller may see. */
export function secretsOfCall({ upstream, signed }: Call): readonly string[] {
  return [...secretsOfUpstream(upstream), ...(signed ?? [])]
}

/** What passes of a refusal's headers, without our credentials: vendors quote them there too. */
export function struckHeaders(headers: Reply['headers'], call: Call): Reply['headers'] {
  const secrets = secretsOfCall(call)
  if (secrets.length === 0) return headers
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, strikeOut(value, secrets)]))
}
