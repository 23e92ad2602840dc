import { shownOperations, type ShownOperation } from '../operations/shown.ts'

const byName: ReadonlyMap<string, ShownOperation> = new Map(shownOperations.map(one => [one.name, one]))

/** The console's facts about an operation; undefined for one that exists only in the configuration. */
export function findOperation(name: string): ShownOperation | undefined {
  return byName.get(name)
}
