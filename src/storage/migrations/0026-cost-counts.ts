import { costParts } from '../../kit/costs.ts'
import { addPlaces } from '../costs/places.ts'
import { readPass } from '../costs/read.ts'
import { CostSums } from '../costs/sums.ts'
import { writeSums } from '../costs/write-sums.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'

const names = ['charges', 'firsts', 'images', 'amount', 'refunded', 'quantity', 'tokens'] as const
const counts = names.map(name => `${name} INTEGER NOT NULL`).join(', ')
/** Sums that are written together. */
const sumsTogether = 8_192

export const costCounts: readonly string[] = [
  // Locks the sums: a gateway of the version before could else add to what is dropped.
  `UPDATE meta SET value = value WHERE name = 'costed'`,

  // With what was used: \`quantity\` in the unit of the tier, \`tokens\` of all tiers that count tokens.
  `DROP TABLE cost_place_sum`,
  `CREATE TABLE cost_place_sum (place INTEGER NOT NULL, span INTEGER NOT NULL, ${counts}, PRIMARY KEY (place, span)) STRICT, WITHOUT ROWID`,
  `DROP TABLE cost_part_sum`,
  `CREATE TABLE cost_part_sum (
    part TEXT NOT NULL CHECK (part IN (${['', ...costParts].map(part => `'${part}'`).join(', ')})), span INTEGER NOT NULL,
    what TEXT NOT NULL, currency TEXT NOT NULL, ${counts}, PRIMARY KEY (part, span, what, currency)) STRICT, WITHOUT ROWID`,
  `DELETE FROM cost_image_sum`,
  `DELETE FROM cost_key_sum`,

  // A rebuild that was broken off begins anew when somebody asks for it.
  `DELETE FROM cost_progress WHERE pass <> (SELECT value FROM meta WHERE name = 'costed')`,
  `UPDATE meta SET value = 0 WHERE name = 'cost_rebuild'`,
]

/** Adds up again, from the ledger, all that had been added up. */
export function* addUpAgain(): QueryProgram<void> {
  const pass = yield* readPass()
  let sums = new CostSums()
  for (const row of yield ask('SELECT chain, position FROM cost_progress WHERE pass = ?', pass)) {
    const [chain, last] = [text(row, 'chain'), whole(row, 'position')]
    for (let from = 0; from < last; ) {
      from = (yield* addPlaces(sums, chain, from, last)).upto
      if (sums.size < sumsTogether) continue
      yield* writeSums(sums, pass)
      sums = new CostSums()
    }
  }
  yield* writeSums(sums, pass)
}
