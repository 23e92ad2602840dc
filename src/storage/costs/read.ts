import type { CostQuestion, Costs, PlainQuestion } from '../../domain/costs.ts'
import type { QueryProgram } from '../query.ts'
import { labelKindOf, readLabelled } from './labelled.ts'
import { readPass, readPlain, readTail } from './plain.ts'

/** The sums of the ledger: stored sums and the entries after them, read in one snapshot. */
export function* readCosts(question: CostQuestion): QueryProgram<Costs> {
  const pass = yield* readPass()
  const tail = yield* readTail(pass)
  const kind = labelKindOf(question)
  return kind === undefined
    ? yield* readPlain(question as PlainQuestion, pass, tail)
    : yield* readLabelled(question, kind, pass, tail)
}
