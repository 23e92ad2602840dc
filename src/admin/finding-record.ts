import type { ConfigFinding } from './parts.ts'

/** A finding as programs read it. */
export function findingRecord({ severity, code, message, remedy, line, col, path }: ConfigFinding) {
  return { severity, code, message, remedy: remedy ?? null, line, col, path }
}
