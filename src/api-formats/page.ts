import type { ListedModel } from '../plugin-api/index.ts'

/** A part of a list, and whether the list continues after it. */
export type Page = { readonly models: readonly ListedModel[]; readonly more: boolean }

/** The models after the one named `after`, at most `limit`; none for an unknown name. */
export function pageAfter(models: readonly ListedModel[], after: string | null, limit: number): Page {
  const at = after === null ? 0 : models.findIndex(model => model.name === after) + 1
  if (after !== null && at === 0) return { models: [], more: false }
  return { models: models.slice(at, at + limit), more: at + limit < models.length }
}

/** The models before the one named `before`, at most `limit`; none for an unknown name. */
export function pageBefore(models: readonly ListedModel[], before: string, limit: number): Page {
  const end = models.findIndex(model => model.name === before)
  const at = Math.max(0, end - limit)
  return { models: models.slice(at, Math.max(0, end)), more: at > 0 }
}

/** The page length in a request, at most `max`; ignores text that is not a whole number above 0. */
export function readPageLength(text: string | null, usual: number, max: number): number {
  const length = /^\d+$/.test(text ?? '') ? Number(text) : 0
  return length === 0 ? usual : Math.min(length, max)
}
