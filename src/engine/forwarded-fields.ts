import type { ForwardRule } from '../domain/index.ts'

/** Whether a client's field is forwarded; without a rule all are. */
export function isForwarded(rule: ForwardRule | undefined, field: string): boolean {
  if (!rule) return true
  return rule.kind === 'only' ? rule.names.has(field) : !rule.except.has(field)
}
