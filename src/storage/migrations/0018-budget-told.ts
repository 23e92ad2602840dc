export const budgetTold: readonly string[] = [
  // What was told of budgets: by period, spell and amount how far, as JSON (`budget-told.ts`). In the row that every hold and
  // every end moves: whoever tells has it locked, so nobody tells the same.
  'ALTER TABLE key ADD COLUMN budget_told TEXT',
  'ALTER TABLE account ADD COLUMN budget_told TEXT',
]
