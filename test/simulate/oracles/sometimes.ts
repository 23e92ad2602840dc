/** What has to be met now and then, or a run has tried less than it says: judged over many seeds together. */
export const met = [
  'fault: killed',
  'fault: power lost, something was not synced',
  'fault: restart',
  'fault: clock jumps',
  'fault: disk full',
  'fault: slow disk',
  'fault: statement fails',
  'fault: read fails',
  'fault: writer dies before a group',
  'fault: writer dies behind a commit',
  'fault: connections refused',
  'fault: connections late',
  'fault: connections never',
  'fault: slow network',
  'fault: caller leaves',
  'reload',
  'key disabled',
  'key rotated',
  'a person decides: refund',
  'a person decides: settle',
  'a person decides: void',
  'state: settled',
  'state: voided',
  'state: needs_review',
  'replayed',
  'refused: rate_limit_exceeded',
  'refused: insufficient_quota',
  'refused: storage_unavailable',
  'refused: idempotency_in_progress',
  'another upstream answered',
  ...['plain', 'chunked', 'pieces', 'no-length', 'continue100', 'processing102', 'hints103', 'slow', 'trailing'].map(
    wire => `wire: ${wire}`,
  ),
] as const

/** Each kind of fault, each state of a charge and each refusal is met in a run of 100 seeds or more. @returns what never was */
export function* judgeMarks(marks: { readonly [name: string]: number }): Iterable<readonly [string, string]> {
  for (const name of met) if (!marks[name]) yield ['never met', name]
}
