import type { CompiledConfig } from '../domain/index.ts'

/**
 * Settings of `server` that are read once, by their names in the file. All others are read from each request's plan.
 */
const fixedAtStart = { listen: 'listen', ops: 'ops', workers: 'workers', log_level: 'logLevel' } as const

/** Changes that a reload cannot apply, one line each. */
export function needRestart(before: CompiledConfig, after: CompiledConfig): readonly string[] {
  const text = 'takes effect at the next start'
  const changes: string[] = []
  if (before.storage !== after.storage) changes.push(`storage: ${text}`)
  if (before.counters !== after.counters) changes.push(`counters: ${text}`)
  if (before.timeZone !== after.timeZone) changes.push(`budgets.time_zone: ${text}`)
  if (JSON.stringify(before.budgetThresholds) !== JSON.stringify(after.budgetThresholds))
    changes.push(`budgets.thresholds: ${text}`)
  if (JSON.stringify(before.otlp) !== JSON.stringify(after.otlp)) changes.push(`observability.otlp: ${text}`)
  for (const [word, fixed] of Object.entries(fixedAtStart))
    if (JSON.stringify(before.server[fixed]) !== JSON.stringify(after.server[fixed]))
      changes.push(`server.${word}: ${text}`)
  if ((before.server.tls === undefined) !== (after.server.tls === undefined)) changes.push(`server.tls: ${text}`)
  return changes
}
