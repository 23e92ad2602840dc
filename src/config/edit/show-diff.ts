import { diffArrays } from 'diff'

/** A line of a difference and its indexes in both texts; in the other text, the index that it would have. */
type DiffLine = {
  readonly kind: 'same' | 'gone' | 'new'
  readonly text: string
  readonly before: number
  readonly after: number
}

/** Texts with more changed lines are shown as replaced completely: the search takes quadratic time. */
const changesMax = 1_500

function diffLines(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  const parts = diffArrays([...before], [...after], { maxEditLength: changesMax }) ?? [
    { value: [...before], removed: true, added: false },
    { value: [...after], removed: false, added: true },
  ]
  let [was, is] = [0, 0]
  return parts.flatMap(({ value, added, removed }) =>
    value.map(text => ({
      kind: added ? ('new' as const) : removed ? ('gone' as const) : ('same' as const),
      text,
      before: added ? was : was++,
      after: removed ? is : is++,
    })),
  )
}

/** A line for people, with its secrets redacted. */
export type ShownLine = { readonly text: string; readonly covered: boolean }

/** Changed lines of a file, with the lines around them. Line numbers count from 1. */
export type Hunk = {
  readonly before: number
  readonly after: number
  readonly lines: readonly { readonly kind: DiffLine['kind']; readonly text: string }[]
}

export type FileDiff = {
  /** The name of the file as in findings. */
  readonly file: string
  readonly hunks: readonly Hunk[]
  /** For `patch -p1` in the folder of the main file; undefined if a changed line contains a secret. */
  readonly patch: string | undefined
}

const around = 3

/** The difference between a file's texts. A redacted line appears only where it changes. */
export function showDiff(
  file: string,
  before: { readonly text: string; readonly lines: readonly ShownLine[] },
  after: { readonly text: string; readonly lines: readonly ShownLine[] },
): FileDiff {
  const lines = diffLines(before.text.split('\n'), after.text.split('\n'))
  const shownOf = ({ kind, before: was, after: is, text }: DiffLine): ShownLine =>
    (kind === 'new' ? after.lines[is] : before.lines[was]) ?? { text, covered: false }
  const isNear = new Set<number>()
  for (const [i, line] of lines.entries()) {
    if (line.kind === 'same') continue
    isNear.add(i)
    for (const by of [-1, 1])
      for (let n = 1; n <= around; n++) {
        const near = lines[i + by * n]
        // A patch needs unredacted lines, so the context ends at a redacted one.
        if (!near || (near.kind === 'same' && shownOf(near).covered)) break
        isNear.add(i + by * n)
      }
  }
  const shown = [...isNear].sort((a, b) => a - b)
  const hunks: DiffLine[][] = []
  for (const [n, i] of shown.entries()) {
    const line = lines[i] as DiffLine
    if (n > 0 && shown[n - 1] === i - 1) hunks.at(-1)?.push(line)
    else hunks.push([line])
  }
  const isCovered = hunks.some(hunk => hunk.some(line => shownOf(line).covered))
  return {
    file,
    hunks: hunks.map(hunk => ({
      before: (hunk[0]?.before ?? 0) + 1,
      after: (hunk[0]?.after ?? 0) + 1,
      lines: hunk.map(line => ({ kind: line.kind, text: shownOf(line).text })),
    })),
    patch: isCovered ? undefined : writePatch(file, hunks, [before.text, after.text]),
  }
}

const signs = { same: ' ', gone: '-', new: '+' } as const

function writePatch(
  file: string,
  hunks: readonly (readonly DiffLine[])[],
  [before, after]: readonly [string, string],
): string {
  const ends = [before.split('\n').length - 1, after.split('\n').length - 1] as const
  const written = hunks.flatMap(hunk => {
    // The empty text after the last line break is not a line.
    const real = hunk.filter(
      ({ kind, text, before: was, after: is }) => text !== '' || (kind === 'new' ? is !== ends[1] : was !== ends[0]),
    )
    const [first] = real
    if (!first) return []
    const [gone, added] = (['new', 'gone'] as const).map(other => real.filter(({ kind }) => kind !== other).length) as [
      number,
      number,
    ]
    // The format counts a side without lines from the line before it.
    const head = `@@ -${first.before + (gone > 0 ? 1 : 0)},${gone} +${first.after + (added > 0 ? 1 : 0)},${added} @@`
    return [
      head,
      ...real.flatMap(({ kind, text, before: was, after: is }) => {
        const isLast = kind === 'new' ? is === ends[1] : was === ends[0]
        return isLast ? [signs[kind] + text, '\\ No newline at end of file'] : [signs[kind] + text]
      }),
    ]
  })
  return written.length === 0 ? '' : [`--- a/${file}`, `+++ b/${file}`, ...written, ''].join('\n')
}
