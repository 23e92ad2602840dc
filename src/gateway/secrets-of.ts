import { secretsIn } from '../config/index.ts'
import { type CompiledConfig, secretsOfCalls, secretsOfUpstream } from '../domain/index.ts'

/** Every secret of a plan, in the form that could appear in the log. */
export function* secretsOf(plan: CompiledConfig): Iterable<string> {
  yield* Object.values(plan.otlp?.headers ?? {})
  for (const { url, secrets } of plan.webhooks?.values() ?? []) {
    yield* [url, ...secrets]
    const { password } = new URL(url)
    if (password !== '') yield* [password, decodeURIComponent(password)]
  }
  for (const { clientSecret } of plan.signIn?.issuers.values() ?? []) if (clientSecret) yield clientSecret
  for (const { calls } of plan.families.values()) yield* secretsOfCalls(calls)
  for (const upstream of plan.upstreams.values()) {
    for (const text of secretsOfUpstream(upstream)) {
      yield text
      const bare = text.replace(/^bearer\s+/i, '')
      if (bare !== '') yield bare
    }
    yield* secretsIn(upstream.url)
  }
  yield* secretsIn(plan.storage)
  yield* secretsIn(plan.otlp?.endpoint ?? '')
  const password = URL.canParse(plan.counters) ? new URL(plan.counters).password : ''
  if (password !== '') yield* [password, decodeURIComponent(password)]
}
