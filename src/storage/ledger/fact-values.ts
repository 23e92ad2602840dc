import { type ChargeFacts, factMembers } from '../../domain/charge.ts'
import { columnsOf, pushCells } from '../../domain/shapes/member.ts'
import type { Value } from '../query.ts'

const { rule: _, ...plainFacts } = factMembers

/** The columns of a charge's facts except its rule: `id` to `n`, and its attribution. */
export const factColumns: readonly string[] = [...columnsOf(plainFacts), 'attribution']

/** The facts of a charge except its rule, in the order of their columns. */
export function factValues(facts: ChargeFacts): readonly [id: string, ...Value[]] {
  const cells: Value[] = []
  pushCells(plainFacts, facts, cells)
  cells.push(facts.attribution ?? null)
  return cells as [string, ...Value[]]
}
