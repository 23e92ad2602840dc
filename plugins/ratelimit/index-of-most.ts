/** The index of the element that comes out above all others; the first of equals. */
export function indexOfMost<T>(all: readonly T[], compare: (a: T, b: T) => number): number {
  let most = 0
  for (let i = 1; i < all.length; i++) if (compare(all[i] as T, all[most] as T) > 0) most = i
  return most
}
