import { latestPeriodStarts, periodStartsAt } from '../../domain/budget.ts'
import { beginningOf } from '../../util/zone.ts'

const lateMs = 3_600_000

/** The spending in a period from its charges, in micro-units. */
type RunningSum = {
  /** Charges that ended in the period, less their refunds. */
  readonly spent: number
  /** Charges that ended in the hour before the period: they count in it if one of its charges was booked earlier. */
  readonly late: number
  /** Refunds in the hour before the period. */
  readonly lateBack: number
}

type RunningPeriod = { readonly start: number; readonly from: number }
type Sum = { spent: number; late: number; lateBack: number }
const nothing: RunningSum = { spent: 0, late: 0, lateBack: 0 }

/** Adds up the charges of keys, users, balances and groups in the current day and month. */
export class RunningSums {
  readonly #zone: string
  /** Periods by name: the current one, and the next one if it begins within the hour. */
  readonly #periods: { readonly day: readonly RunningPeriod[]; readonly month: readonly RunningPeriod[] }
  readonly #sums = new Map<string, Sum>()

  constructor(zone: string, at: number) {
    this.#zone = zone
    const [now, ahead] = [periodStartsAt(at, zone), latestPeriodStarts(at, zone)]
    const periodsFrom = (...starts: readonly number[]): readonly RunningPeriod[] =>
      [...new Set(starts)].map(start => ({ start, from: beginningOf(zone, start) }))
    this.#periods = { day: periodsFrom(now.day, ahead.day), month: periodsFrom(now.month, ahead.month) }
  }

  /** Adds a charge that ended at `endedAt` to one of its payers; `amount` is negative for a refund at `backAt`. */
  add(payer: string, amount: number, endedAt: number, backAt = endedAt): void {
    this.addOf(['day', 'month'], payer, amount, endedAt, backAt)
  }

  /** The same for some of the periods. */
  addOf(periods: readonly ('day' | 'month')[], payer: string, amount: number, endedAt: number, backAt = endedAt): void {
    if (amount === 0) return
    for (const period of periods) {
      for (const { start, from } of this.#periods[period]) {
        if (Math.max(endedAt, backAt) < from - lateMs) continue
        const sum = this.#of(payer, period, start)
        if (backAt < from && amount < 0 && backAt >= from - lateMs) sum.lateBack -= amount
        // A refund reduces the period of its charge, not that of the refund.
        if (this.#isIn(period, start, endedAt)) sum.spent += amount
        else if (amount > 0 && endedAt < from) sum.late += amount
      }
    }
  }

  of(payer: string, period: 'day' | 'month', start: number): RunningSum {
    return this.#sums.get(`${payer} ${period} ${start}`) ?? nothing
  }

  /** The periods that may be current, the current one first. */
  periodsOf(period: 'day' | 'month'): readonly { readonly start: number; readonly from: number }[] {
    return this.#periods[period]
  }

  #isIn(period: 'day' | 'month', start: number, at: number): boolean {
    return periodStartsAt(at, this.#zone)[period] === start
  }

  #of(payer: string, period: 'day' | 'month', start: number): Sum {
    const name = `${payer} ${period} ${start}`
    let sum = this.#sums.get(name)
    if (!sum) this.#sums.set(name, (sum = { spent: 0, late: 0, lateBack: 0 }))
    return sum
  }
}
