import type { Turn } from './conversation.ts'

/**
 * Groups consecutive elements. Callers join each group once: if they extended the last element again and again, the
 * cost would grow with the square of the number of elements, and a client may send tens of thousands.
 * @param belongs whether an element belongs to the group that begins with `first`
 */
export function groupRuns<T>(
  all: readonly T[],
  belongs: (first: T, one: T) => boolean,
): readonly (readonly [T, ...T[]])[] {
  const groups: [T, ...T[]][] = []
  for (const one of all) {
    const group = groups.at(-1)
    if (group && belongs(group[0], one)) group.push(one)
    else groups.push([one])
  }
  return groups
}

/** A group of turns as one turn. */
export function joinTurns<T extends Pick<Turn, 'parts'>>(group: readonly [T, ...T[]]): T {
  return group.length === 1 ? group[0] : { ...group[0], parts: group.flatMap(({ parts }) => parts) }
}
