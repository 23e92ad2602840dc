import type { LogRow } from './shapes/log-row.ts'

/**
 * What a request was: `lookup` where the gateway itself answered (models, a charge, a job), which costs nothing and calls no
 * upstream; `refusal` where no upstream was called either, and the request was refused; else `call`.
 */
export type RowKind = 'call' | 'refusal' | 'lookup'

export function kindOfRow({ model, upstream, status, outcome }: Facts): RowKind {
  if (model === null && upstream === null && outcome === 'answered' && (status ?? 500) < 400) return 'lookup'
  return outcome === 'refused' && upstream === null ? 'refusal' : 'call'
}

type Facts = Pick<LogRow, 'model' | 'upstream' | 'status'> & { readonly outcome: string }
