import type { LogRecord } from '../../api/shapes.ts'

/** The model of a request; for an unknown model, the requested name. */
export function modelText({ model, error_values: values }: Pick<LogRecord, 'model' | 'error_values'>): string | null {
  const requested = values?.['model']
  return model ?? (typeof requested === 'string' ? requested : null)
}
