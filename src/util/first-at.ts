/** The first whole number from 0 up to `end` that does not precede the target; `end` if all of them do. */
export function firstAt(end: number, isBefore: (at: number) => boolean): number {
  let [low, high] = [0, end]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (isBefore(middle)) low = middle + 1
    else high = middle
  }
  return low
}
