import type { CostQuery, Costs, PlainCostQuery } from '../../domain/costs.ts'
import type { QueryProgram } from '../query.ts'
import { labelKindOf, readLabelled } from './labelled.ts'
import { readPass, readPlain, readTail } from './plain.ts'

/** Reads the sums of the ledger: the stored sums and the entries after them, in one snapshot. */
export function* readCosts(query: CostQuery): QueryProgram<Costs> {
  const pass = yield* readPass()
  const tail = yield* readTail(pass.number)
  const kind = labelKindOf(query)
  return kind === undefined
    ? yield* readPlain(query as PlainCostQuery, pass, tail)
    : yield* readLabelled(query, kind, pass, tail)
}
