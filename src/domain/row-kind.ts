import type { LogRow } from './shapes/log-row.ts'

/**
 * What a request was: `lookup` where the gateway itself answered what was asked (models, a charge, a job), which costs nothing and
 * asks nobody; `refusal` where none was asked either, and nothing was answered; else `call`.
 */
export type RowKind = 'call' | 'refusal' | 'lookup'

export function kindOfRow({ model, upstream, status, outcome }: Facts): RowKind {
  if (model === null && upstream === null && outcome === 'answered' && (status ?? 500) < 400) return 'lookup'
  return outcome === 'refused' && upstream === null ? 'refusal' : 'call'
}

type Facts = Pick<LogRow, 'model' | 'upstream' | 'status'> & { readonly outcome: string }
