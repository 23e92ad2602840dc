import type { SizeMismatch } from '../../domain/explanation.ts'
import { t } from './index.ts'

/** Why a size has an unexpected price. */
export function tMismatch({ kind, asked, billed, made, returned, cheaper }: SizeMismatch): string {
  const pixels = returned === null ? '' : t('mismatch.pixels', { size: returned })
  const facts = { asked, billed, made, pixels, returned: returned ?? made }
  return t(`mismatch.${kind}`, facts) + (cheaper === null ? '' : t('mismatch.cheaper', { cheaper, made }))
}
