import { fieldsOf } from '../fields.ts'
import type { Asked } from '../new-api/foreign-book.ts'
import { parse } from '../new-api/read-channels.ts'

const budgetColumns = [
  'max_budget',
  'soft_budget',
  'budget_duration',
  'rpm_limit',
  'tpm_limit',
  'max_parallel_requests',
] as const

/** Limits there that have no equal here: in columns that are not read elsewhere, or in budgets that no key names. */
export class Untaken {
  readonly #budgets: ReadonlyMap<string, Asked>
  readonly #note: (text: string) => void
  readonly #named = new Set<string>()

  constructor(budgets: ReadonlyMap<string, Asked>, note: (text: string) => void) {
    this.#budgets = budgets
    this.#note = note
  }

  /** @param shared the budget that a key names, where it names one */
  add(place: string, row: Asked, shared: Asked | undefined): void {
    const facts = fieldsOf(parse(row.peek('metadata')))
    const raised = toldOf(facts['temp_budget_increase'])
    if (raised !== undefined) {
      const until = toldOf(facts['temp_budget_expiry'])
      const told = `temp_budget_increase ${raised}${until === undefined ? '' : ` (until ${until} there)`}`
      this.#note(`${place}: ${told} is not taken over: its budget is the one without it`)
    }
    const soft = shared?.text('soft_budget') ?? row.text('soft_budget') ?? toldOf(facts['soft_budget'])
    if (soft !== undefined)
      this.#note(
        `${place}: soft_budget ${soft} is not taken over: a soft budget refuses nothing; events tell of budgets that are nearly spent`,
      )
    this.#named.add(row.text('budget_id') ?? '')
    this.#addMembers(place, toldOf(facts['team_member_budget_id']))
  }

  /** What each member of a team may spend and send, where they have no settings of their own. */
  #addMembers(place: string, id: string | undefined): void {
    if (id === undefined) return
    this.#named.add(id)
    const budget = this.#budgets.get(id)
    const told = budget ? boundsOf(budget) : `the budget ${id}, which is not there`
    if (told !== '')
      this.#note(
        `${place}: what it gives each of its members is not taken over: ${told}. Give the users of the group budgets and limits of their own`,
      )
  }

  tell(): void {
    const left = [...this.#budgets].flatMap(([id, row]) => {
      const told = boundsOf(row)
      return this.#named.has(id) || told === '' ? [] : [`${id} (${told})`]
    })
    if (left.length > 0) this.#note(`budgets that no key and no team names are not taken over: ${left.join(', ')}`)
  }
}

function boundsOf(budget: Asked): string {
  return budgetColumns
    .flatMap(column => {
      const said = budget.text(column)
      return said === undefined ? [] : [`${column} ${said}`]
    })
    .join(', ')
}

/** A number or a text of a user's facts; undefined for nothing. */
function toldOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}
