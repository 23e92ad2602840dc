import type { Row } from '../world/storage.ts'
import type { Oracle } from './oracle.ts'

/** The maximum time from a caller's turn to its written charge. */
const writtenMs = 10_000

export const sessions: Oracle = {
  name: 'sessions',
  promise:
    'Each turn of a session that its caller got is charged once by what its vendor reported, and nothing else is.',
  *judge({ stage, books }) {
    const { turns, keyId } = stage.sessions
    const byOutput = new Map(turns.map(turn => [turn.output, turn]))
    const charged = new Map<number, string>()
    for (const [id, charge] of books.charges) {
      if (charge['key_id'] !== keyId || charge['state'] !== 'settled') continue
      const lines = books.linesOf(id)
      if (lines.length === 0 || lines.some(isEstimated)) continue
      const of = (tier: string): number =>
        lines.filter(line => line['tier'] === tier).reduce((sum, line) => sum + Number(line['quantity']), 0)
      const turn = byOutput.get(of('output'))
      if (turn?.toldAt === undefined) yield ['a charge of a session is no turn', `${id}: ${of('output')} of output`]
      else if (of('input') !== turn.input) yield ['a turn is charged with another input', `${id}: ${of('input')}`]
      const other = charged.get(of('output'))
      if (other !== undefined) yield ['a turn is charged twice', `${id} and ${other}`]
      charged.set(of('output'), id)
    }
    for (const { session, output, openedAt, gotAt } of turns) {
      if (gotAt === undefined || charged.has(output)) continue
      const isDisturbed = stage.disturbances.some(one => one.from <= gotAt + writtenMs && one.until >= openedAt)
      if (!isDisturbed) yield ['a turn that its caller got is not charged', `session ${session}: ${output} of output`]
    }
  },
}

/** A turn that was cut is charged by its length, or goes to review: the vendor has reported no usage. */
function isEstimated(line: Row): boolean {
  return String(line['flags']).includes('estimated') || line['tier'] === 'decided'
}
