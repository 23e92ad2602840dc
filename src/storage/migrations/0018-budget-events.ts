export const budgetEvents: readonly string[] = [
  // The events that were sent for a budget: how far, by period, spell and amount, as JSON (`budget-events.ts`). It is
  // in the row that every hold and every end changes: a process that writes an event has it locked, so no other writes
  // the same event.
  'ALTER TABLE key ADD COLUMN budget_told TEXT',
  'ALTER TABLE account ADD COLUMN budget_told TEXT',
]
