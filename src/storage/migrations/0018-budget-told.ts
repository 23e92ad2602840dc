export const budgetTold: readonly string[] = [
  // Events of budgets: by period, spell and amount how far, as JSON (`budget-events.ts`). In the row that every hold and
  // every end moves: a process that writes an event has it locked, so no other writes the same.
  'ALTER TABLE key ADD COLUMN budget_told TEXT',
  'ALTER TABLE account ADD COLUMN budget_told TEXT',
]
