import { ask, type QueryProgram, type Row } from '../query.ts'
import { text, whole } from '../rows.ts'
import { readZoneSince } from './budget-zone.ts'
import type { Findings } from './findings.ts'
import { RunningSums } from './running-sums.ts'

const words = { day: 'today', month: 'this month' } as const

/** What the running day and month are proved by, and since when days have gone by this zone: no earlier one can be proved. */
export function* openRunning(
  zone: string | undefined,
  at: number,
): QueryProgram<{ readonly running: RunningSums | undefined; readonly since: number }> {
  const since = zone === undefined ? undefined : yield* readZoneSince(zone)
  if (zone === undefined || since === undefined) return { running: undefined, since: 0 }
  return { running: new RunningSums(zone, at), since }
}

/** The rows of each account, one or several where several gateways book at once, by kind and name. */
export function* rowsOfAccounts(): QueryProgram<ReadonlyMap<string, readonly Row[]>> {
  const rows = yield ask(
    'SELECT kind, name, spent, held, day_start, day_spent, month_start, month_spent FROM account ORDER BY kind, name',
  )
  return Map.groupBy(rows, row => `${text(row, 'kind')} ${text(row, 'name')}`)
}

/**
 * Proves what one who pays has spent in the day and in the month that are now. What ended in the hour before midnight may count
 * on the new day, where something of that was booked before it.
 */
export function auditRunning({ running, report }: Findings, payer: string, rows: readonly Row[], since: number): void {
  for (const period of ['day', 'month'] as const) {
    const spells = running?.spells(period) ?? []
    const found = spells.filter(({ start }) => rows.some(row => whole(row, `${period}_start`) === start))
    const [spell] = found
    // Just at midnight some rows may say of the day before, and a row that went back for what was late, or for a clock that
    // jumped, has today's sum among those that it has left: they can be proved a little later.
    if (!running || !spell || found.length > 1 || spell.from < since) continue
    const has = rows
      .filter(row => whole(row, `${period}_start`) === spell.start)
      .reduce((sum, row) => sum + whole(row, `${period}_spent`), 0)
    const { spent, late, lateBack } = running.of(payer, period, spell.start)
    if (has < spent - lateBack || has > spent + late)
      report(`${payer}: has spent ${has} ${words[period]}, its charges say ${spent}`)
  }
}
