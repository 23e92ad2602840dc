import type { SizeMismatch } from '../../domain/explanation.ts'
import { t } from './index.ts'

/** The reason for the unexpected price of a size. */
export function tMismatch({ kind, asked, billed, made, returned, cheaper }: SizeMismatch): string {
  const pixels = returned === null ? '' : t('mismatch.pixels', { size: returned })
  const facts = { asked, billed, made, pixels, returned: returned ?? made }
  return t(`mismatch.${kind}`, facts) + (cheaper === null ? '' : t('mismatch.cheaper', { cheaper, made }))
}
