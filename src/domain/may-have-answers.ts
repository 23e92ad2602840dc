import type { Journal } from './journal.ts'

/**
 * Whether a model may have cached answers: it is in the configuration, or the log has a request of it. Otherwise, a
 * misspelled name would purge nothing and report success.
 */
export async function mayHaveAnswers(
  model: string,
  { models }: { readonly models: ReadonlyMap<string, unknown> },
  journal: Pick<Journal, 'list'>,
): Promise<boolean> {
  return models.has(model) || (await journal.list({ model, limit: 1 })).length > 0
}
