/** A line of a difference: there before, there after, or in both. */
export type DiffLine = {
  readonly kind: 'same' | 'gone' | 'new'
  readonly text: string
  readonly before: number
  readonly after: number
}

/** Middles of more lines are told as replaced whole: to search them all would take too long. */
const linesMax = 2_000

/**
 * The lines of two texts beside one another, as few of them changed as can be; `before` and `after` are their indexes in
 * each, or where they would stand.
 */
export function diffLines(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  let head = 0
  while (head < before.length && head < after.length && before[head] === after[head]) head++
  let tail = 0
  while (
    tail < before.length - head &&
    tail < after.length - head &&
    before[before.length - 1 - tail] === after[after.length - 1 - tail]
  )
    tail++
  const middle = diffMiddle(before.slice(head, before.length - tail), after.slice(head, after.length - tail))
  const kinds: DiffLine['kind'][] = [
    ...Array<'same'>(head).fill('same'),
    ...middle,
    ...Array<'same'>(tail).fill('same'),
  ]
  let [was, is] = [0, 0]
  return kinds.map(kind => {
    const line = { kind, text: (kind === 'new' ? after[is] : before[was]) ?? '', before: was, after: is }
    if (kind !== 'new') was++
    if (kind !== 'gone') is++
    return line
  })
}

/** By the longest common subsequence. */
function diffMiddle(before: readonly string[], after: readonly string[]): readonly DiffLine['kind'][] {
  const [rows, columns] = [before.length, after.length]
  if (rows * columns > linesMax * linesMax)
    return [...Array<'gone'>(rows).fill('gone'), ...Array<'new'>(columns).fill('new')]
  const width = columns + 1
  const common = new Uint32Array((rows + 1) * width)
  const at = (row: number, column: number): number => common[row * width + column] ?? 0
  for (let row = rows - 1; row >= 0; row--)
    for (let column = columns - 1; column >= 0; column--)
      common[row * width + column] =
        before[row] === after[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1))
  const kinds: DiffLine['kind'][] = []
  let [row, column] = [0, 0]
  while (row < rows || column < columns) {
    if (row < rows && column < columns && before[row] === after[column]) {
      kinds.push('same')
      row++
      column++
    } else if (row < rows && (column === columns || at(row + 1, column) >= at(row, column + 1))) {
      kinds.push('gone')
      row++
    } else {
      kinds.push('new')
      column++
    }
  }
  return kinds
}
