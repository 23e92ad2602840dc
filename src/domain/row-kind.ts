import type { LogRow } from './shapes/log-row.ts'

/**
 * The kind of a request. `lookup`: the gateway itself answered (models, a charge, a job); free, and without an upstream
 * call. `refusal`: refused without an upstream call. `call`: all others.
 */
export type RowKind = 'call' | 'refusal' | 'lookup'

export function kindOfRow({ model, upstream, status, outcome }: Facts): RowKind {
  if (model === null && upstream === null && outcome === 'answered' && (status ?? 500) < 400) return 'lookup'
  return outcome === 'refused' && upstream === null ? 'refusal' : 'call'
}

type Facts = Pick<LogRow, 'model' | 'upstream' | 'status'> & { readonly outcome: string }
