import { findOperation } from '../operations.ts'
import { language } from './index.ts'

/** What an operation is called in the language chosen; its own name where nothing is known of it. */
export function tOperation(name: string): string {
  return findOperation(name)?.labels[language.value] ?? name
}
