import type { Limits } from '../model.ts'
import { whole } from './schemas.ts'

/** The JSON schema of limits: only those that are set. */
export const limitsSchema = {
  type: 'object',
  additionalProperties: false,
  properties: { rpm: whole, tpm: whole, concurrency: whole },
} as const

export function showLimits({ rpm, tpm, concurrency }: Limits) {
  return {
    ...(rpm !== undefined && { rpm }),
    ...(tpm !== undefined && { tpm }),
    ...(concurrency !== undefined && { concurrency }),
  }
}
