import { findOperation } from '../operations.ts'
import { language } from './index.ts'

/** The name of an operation in the chosen language; its id if it is unknown. */
export function tOperation(name: string): string {
  return findOperation(name)?.labels[language.value] ?? name
}
