import { fieldsOf, listOf } from '../fields.ts'
import type { TrackedRow } from '../new-api/foreign-book.ts'
import { parse } from '../new-api/read-channels.ts'

export const guardrailRemedy =
  'add guard-patterns or guard-service to the pipeline and the families (docs/guardrails.md)'

const budgetColumns = [
  'max_budget',
  'soft_budget',
  'budget_duration',
  'rpm_limit',
  'tpm_limit',
  'max_parallel_requests',
] as const

/**
 * Limits in LiteLLM that have no equivalent here: in columns that are not read elsewhere, or in budgets that no key
 * refers to.
 */
export class NotImported {
  readonly #budgets: ReadonlyMap<string, TrackedRow>
  readonly #note: (text: string) => void
  readonly #lose: (text: string) => void
  readonly #named = new Set<string>()

  /** @param lose receives the sentences about budgets that are no longer in effect */
  constructor(budgets: ReadonlyMap<string, TrackedRow>, note: (text: string) => void, lose: (text: string) => void) {
    this.#budgets = budgets
    this.#note = note
    this.#lose = lose
  }

  /** @param shared the budget that a key refers to, if any */
  add(place: string, row: TrackedRow, shared: TrackedRow | undefined): void {
    const facts = fieldsOf(parse(row.peek('metadata')))
    const raised = factText(facts['temp_budget_increase'])
    if (raised !== undefined) {
      const until = factText(facts['temp_budget_expiry'])
      const increase = `temp_budget_increase ${raised}${until === undefined ? '' : ` (until ${until} there)`}`
      this.#note(`${place}: ${increase} is not imported: its budget does not include it`)
    }
    const soft = shared?.text('soft_budget') ?? row.text('soft_budget') ?? factText(facts['soft_budget'])
    if (soft !== undefined)
      this.#lose(
        `${place}: soft_budget ${soft} is not imported: a soft budget refuses nothing; events report budgets that are nearly spent`,
      )
    const guardrails = listOf(facts['guardrails']).map(String).join(', ')
    if (guardrails !== '') this.#lose(`${place}: its guardrails are not imported: ${guardrails}: ${guardrailRemedy}`)
    this.#named.add(row.text('budget_id') ?? '')
    this.#addMembers(place, factText(facts['team_member_budget_id']))
  }

  /** Reports the budget and limits of team members that have no settings of their own. */
  #addMembers(place: string, id: string | undefined): void {
    if (id === undefined) return
    this.#named.add(id)
    const budget = this.#budgets.get(id)
    const bounds = budget ? boundsOf(budget) : `the budget ${id}, which does not exist`
    if (bounds !== '')
      this.#lose(
        `${place}: settings per member are not imported: ${bounds}. Set budgets and limits for the users of the group`,
      )
  }

  report(): void {
    const left = [...this.#budgets].flatMap(([id, row]) => {
      const bounds = boundsOf(row)
      return this.#named.has(id) || bounds === '' ? [] : [`${id} (${bounds})`]
    })
    if (left.length > 0) this.#note(`budgets without a key or team are not imported: ${left.join(', ')}`)
  }
}

function boundsOf(budget: TrackedRow): string {
  return budgetColumns
    .flatMap(column => {
      const value = budget.text(column)
      return value === undefined ? [] : [`${column} ${value}`]
    })
    .join(', ')
}

/** A number or a text of a user's metadata; undefined if there is none. */
function factText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}
