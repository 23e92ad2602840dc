import { findOperation, type Operation } from '../operations/index.ts'

/** What lists of a style call the operations that a model takes; those of other styles are left out. */
export function listOperations(style: Operation['style'], names: readonly string[]): readonly string[] {
  const known = names.map(findOperation).filter(operation => operation?.style === style)
  return known.flatMap(operation => operation?.listedAs ?? [])
}
