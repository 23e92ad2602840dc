import type { Plan } from '../kit/index.ts'

/** Every secret that a plan holds, as it could stand in a line of the log. */
export function* secretsOf(plan: Plan): Iterable<string> {
  yield* Object.values(plan.otlp?.headers ?? {})
  for (const { credential } of plan.upstreams.values()) {
    if (!credential) continue
    yield credential.value
    const bare = credential.value.replace(/^bearer\s+/i, '')
    if (bare !== '') yield bare
  }
  const password = URL.canParse(plan.counters) ? new URL(plan.counters).password : ''
  if (password !== '') yield* [password, decodeURIComponent(password)]
}
