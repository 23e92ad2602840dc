import type { ForwardRule } from '../domain/index.ts'

/** Whether a field of the caller's goes upstream; without a rule all do. */
export function isForwarded(rule: ForwardRule | undefined, field: string): boolean {
  if (!rule) return true
  return rule.kind === 'only' ? rule.names.has(field) : !rule.except.has(field)
}
