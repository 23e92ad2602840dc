/** Marks that must occur now and then, or a run has tested less than it claims: judged over many seeds together. */
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
  'fault: sick vendor',
  'key regrouped',
  'an old secret is tried',
  'a person decides: amount',
  'odd request',
  'session accepted',
  'turn answered',
  'fault: caller leaves a turn',
  'a text model is asked for a picture',
  'connection kept',
  'request pipelined',
  'spooled',
  'replayed by a later life',
  ...['dear', 'narrow', 'alone', 'lapses', 'doubts'].map(name => `configuration changed: ${name}`),
  ...['gzip', 'deflate', 'br', 'zstd'].map(coding => `packed: ${coding}`),
  'shape: chat unsaid',
  'shape: chat absurd',
  ...['plain', 'chunked', 'pieces', 'no-length', 'continue100', 'processing102', 'hints103', 'slow', 'trailing'].map(
    wire => `wire: ${wire}`,
  ),
] as const

/**
 * Each kind of fault, each state of a charge and each refusal occurs in a run of 100 seeds or more. @returns the
 * missing ones
 */
export function* judgeMarks(
  marks: { readonly [name: string]: number },
  names: readonly string[] = met,
): Iterable<readonly [string, string]> {
  for (const name of names) if (!marks[name]) yield ['never met', name]
}
