import { findOperation, type Operation } from '../operations/index.ts'

/** The names of a model's operations in lists of a style; leaves out operations of other styles. */
export function listOperations(style: Operation['style'], names: readonly string[]): readonly string[] {
  const known = names.map(findOperation).filter(operation => operation?.style === style)
  return known.flatMap(operation => operation?.listedAs ?? [])
}
