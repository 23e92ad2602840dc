import { operations } from './index.ts'
import type { Operation } from './operation.ts'

/** The part of an operation that the console shows. */
export type ShownOperation = Pick<Operation, 'name' | 'path' | 'body' | 'form' | 'firstSteps'> & {
  readonly labels: { readonly en: string; readonly zh: string }
}

/**
 * Plain data: the console's build embeds it (`src/console/vite.config.ts`), so that browsers need not load the rest.
 */
export const shownOperations: readonly ShownOperation[] = operations.map(
  ({ name, path, body, form, firstSteps, words }) => ({
    name,
    path,
    body,
    labels: { en: words.en.label, zh: words.zh.label },
    ...(form && { form }),
    ...(firstSteps && { firstSteps }),
  }),
)
