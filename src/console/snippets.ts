import { shownOperations } from '../operations/shown.ts'
import type { Model } from './api/shapes.ts'

/** Code for each kind of client with the same key, and the first model that serves the operation. */
export function snippets(
  baseUrl: string,
  secret: string,
  models: readonly Model[],
): readonly { readonly name: string; readonly text: string }[] {
  return shownOperations.flatMap(({ name: operation, firstSteps = [] }) => {
    const model = models.find(one => one.operations.includes(operation))?.name ?? 'MODEL'
    const known: { readonly [word: string]: string } = { baseUrl, secret, model }
    return firstSteps.map(({ name, text }) => {
      return { name, text: text.replaceAll(/\{(baseUrl|secret|model)\}/g, (_whole, word: string) => known[word] ?? '') }
    })
  })
}
