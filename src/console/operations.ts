import { shownOperations, type ShownOperation } from '../operations/shown.ts'

const byName: ReadonlyMap<string, ShownOperation> = new Map(shownOperations.map(one => [one.name, one]))

/** What the console knows of an operation; undefined for one that only the configuration has a name for. */
export function findOperation(name: string): ShownOperation | undefined {
  return byName.get(name)
}
