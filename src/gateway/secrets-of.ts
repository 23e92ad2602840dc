import { type Plan, secretsOfCalls, secretsOfUpstream } from '../kit/index.ts'

/** Every secret that a plan holds, as it could stand in a line of the log. */
export function* secretsOf(plan: Plan): Iterable<string> {
  yield* Object.values(plan.otlp?.headers ?? {})
  for (const { calls } of plan.families.values()) yield* secretsOfCalls(calls)
  for (const upstream of plan.upstreams.values()) {
    for (const text of secretsOfUpstream(upstream)) {
      yield text
      const bare = text.replace(/^bearer\s+/i, '')
      if (bare !== '') yield bare
    }
  }
  const password = URL.canParse(plan.counters) ? new URL(plan.counters).password : ''
  if (password !== '') yield* [password, decodeURIComponent(password)]
}
