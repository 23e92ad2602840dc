import { withoutZeroReport } from './check-usage.ts'
import { treeOf, type UnitName, units, type Usage } from '../../src/plugin-api/index.ts'

const outputTree: ReadonlySet<string> = new Set(treeOf('output'))

/**
 * Merges two reports: a later report replaces the earlier one, count by count. Input never decreases during an answer,
 * because a later report may omit cached tokens or tool use. A later report of zero use does not count.
 */
export function mergeUsage(before: Usage | null, after: Usage | null): Usage | null {
  if (!before || !after || !withoutZeroReport(after)) return before ?? after
  const counts: { [unit in UnitName]?: number } = { ...before.counts }
  // Kinds of output belong to the report that counts the output.
  if (after.counts.output !== undefined) for (const unit of outputTree) delete counts[unit as UnitName]
  for (const name in after.counts) {
    const unit = name as UnitName
    const count = after.counts[unit] as number
    counts[unit] = grows(unit) ? Math.max(counts[unit] ?? 0, count) : count
  }
  const cost = after.cost ?? before.cost
  const unread = after.unread ?? before.unread
  return {
    counts,
    facts: { ...before.facts, ...after.facts },
    ...(cost !== undefined && { cost }),
    ...(unread && { unread }),
  }
}

function grows(unit: UnitName): boolean {
  return !outputTree.has(unit) && (units.get(unit)?.call === true || unit.includes('input') || unit.startsWith('cache'))
}
