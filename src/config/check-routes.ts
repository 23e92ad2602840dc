import type { OperationsByName } from '../domain/index.ts'
import { textAt } from './check-names.ts'
import { namesIn, parseMatch, parseSpelling } from './formats.ts'
import type { Complaint, Report } from './report.ts'
import type { Source } from './source.ts'
import { findNode, type Path, type Tree } from './tree.ts'

/** Any text of at least one character, including slashes: the value of a `{name}`. */
const any = Symbol('any')
/**
 * The same without slashes: the value of a `{name}` in the path of a stored object, and of operations with `segments`.
 */
const segment = Symbol('segment')
type Step = string | typeof any | typeof segment
type Pattern = {
  /** Steps of a path: a character, any text, or a segment. */
  readonly steps: readonly Step[]
  /** The text before the first name and after the last; the whole path without names. */
  readonly head: string
  readonly tail: string
}

/**
 * Checks that every route is reachable. Literal paths win over patterns, and patterns are tried in the order written.
 * So a route is rejected if an earlier one matches all its requests, if it is unclear which of two routes should match,
 * or if the console handles its requests. Routes of different API formats may share a path, because the client's format
 * decides.
 */
export function checkRoutes(
  root: Tree,
  source: Source,
  report: Report,
  { isConsolePath = () => false, operations }: Known = {},
): void {
  const { node, whole } = findNode(root, ['routes'])
  if (!whole || node.kind !== 'list') return
  const isConsoles = textAt(root, ['server', 'console']) === 'off' ? () => false : isConsolePath
  const above: Above[] = []
  for (const i of node.elements.keys()) {
    const format = textAt(root, ['routes', i, 'dialect']) ?? ''
    const { object, segments } = operations?.get(textAt(root, ['routes', i, 'operation']) ?? '') ?? {}
    const takes = object?.of !== undefined || segments ? segment : any
    for (const spelling of spellingsOf(root, ['routes', i, 'match'], report)) {
      const { path, text, match } = spelling
      const shadow = shadowOf(spelling, isConsoles)
      if (shadow) report.atValue(path, shadow)
      const pattern = toPattern(match.path, takes)
      for (const other of above) {
        if (other.method !== match.method || !mayMeet(other.pattern, pattern)) continue
        const clash = clashOf(other.pattern, pattern)
        if (!clash || (clash.code === 'route_duplicate' && areApart(format, other.format))) continue
        const message = `'${text}' ${clash.words} '${other.text}' on line ${other.line}`
        report.atValue(path, { code: clash.code, message, remedy: clash.remedy })
        break
      }
      const { line } = source.locate(findNode(root, path).node.span.start)
      above.push({ method: match.method, text, pattern, line, format })
    }
  }
}

type Known = {
  isConsolePath?(this: void, path: string): boolean
  readonly operations?: OperationsByName
}

type Above = {
  readonly method: string
  readonly text: string
  readonly pattern: Pattern
  readonly line: number
  readonly format: string
}

/** Whether two routes with the same requests are for clients of different API formats. */
function areApart(one: string, other: string): boolean {
  return one !== other && one !== 'by-caller' && other !== 'by-caller'
}

/** The finding for a route at a path of the console, because the console gets such requests first. */
function shadowOf({ text, match }: Spelling, isConsolePath: (path: string) => boolean): Complaint | undefined {
  if (!isConsolePath(match.path.replaceAll(/\{\w+\}/g, 'x'))) return undefined
  return {
    code: 'route_shadowed',
    message: `'${text}' is never reached: the console uses this path`,
    remedy: 'use another path, or set console: off under server if you do not need the console',
  }
}

type Spelling = {
  readonly path: Path
  readonly text: string
  readonly match: { readonly method: string; readonly path: string }
}

/** The valid spellings of a route; those that differ from the first are reported. */
function spellingsOf(root: Tree, path: Path, report: Report): readonly Spelling[] {
  const { node, whole } = findNode(root, path)
  if (!whole) return []
  const places = node.kind === 'list' ? [...node.elements.keys()].map(i => [...path, i]) : [path]
  const spellings: Spelling[] = []
  let first: Spelling['match'] | undefined
  for (const [i, at] of places.entries()) {
    const text = textAt(root, at)
    if (text === undefined || (i > 0 && !first)) continue
    const match = first ? parseSpelling(text, first.method) : parseMatch(text)
    if (!match) continue
    first ??= match
    const complaint = misspelling(match, first)
    if (complaint) report.atValue(at, complaint)
    else spellings.push({ path: at, text, match })
  }
  return spellings
}

function misspelling(match: Spelling['match'], first: Spelling['match']): Complaint | undefined {
  if (match.method !== first.method) {
    const message = `found ${match.method}, and ${first.method} in the first spelling`
    return { code: 'route_method_differs', message, remedy: 'add a separate route for the other method' }
  }
  const [own, wanted] = [namesIn(match.path).toSorted(), namesIn(first.path).toSorted()]
  if (own.join() === wanted.join()) return undefined
  const names = (of: readonly string[]): string => of.map(name => `{${name}}`).join(' and ') || 'no name in braces'
  const message = `found ${names(own)}, and ${names(wanted)} in the first spelling`
  return { code: 'route_names_differ', message, remedy: 'write the same names in every spelling of a route' }
}

function toPattern(path: string, name: typeof any | typeof segment): Pattern {
  const pieces = path.split(/(\{\w+\})/)
  const steps = pieces.flatMap((piece): Pattern['steps'] => (piece.startsWith('{') ? [name] : piece.split('')))
  return { steps, head: pieces[0] ?? '', tail: pieces.at(-1) ?? '' }
}

/** A cheap test, which is false if two paths begin or end differently, as most do. */
function mayMeet(a: Pattern, b: Pattern): boolean {
  const heads = a.head.startsWith(b.head) || b.head.startsWith(a.head)
  return heads && (a.tail.endsWith(b.tail) || b.tail.endsWith(a.tail))
}

function clashOf({ steps: above }: Pattern, { steps: below }: Pattern) {
  const aboveCovers = covers(above, below)
  const belowCovers = covers(below, above)
  if (aboveCovers && belowCovers)
    return { code: 'route_duplicate', words: 'matches the same requests as', remedy: 'keep one of the two' }
  // A literal path wins in any order.
  if (belowCovers || below.every(step => typeof step === 'string')) return undefined
  if (aboveCovers) return { code: 'route_hidden', words: 'is never reached after', remedy: 'move it above that one' }
  if (!meet(above, below)) return undefined
  return {
    code: 'route_overlap',
    words: 'matches some of the same requests as',
    remedy: 'make the two paths differ in a fixed part',
  }
}

/** True if `wide` matches every path that `narrow` matches. */
function covers(wide: Pattern['steps'], narrow: Pattern['steps']): boolean {
  const [head, ...rest] = wide
  if (head === undefined) return narrow.length === 0
  if (typeof head === 'string') return narrow[0] === head && covers(rest, narrow.slice(1))
  for (let taken = 1; taken <= narrow.length; taken++) {
    if (!takes(head, narrow[taken - 1] as Step)) return false
    if (covers(rest, narrow.slice(taken))) return true
  }
  return false
}

/** Whether a name may match all that `step` matches. */
function takes(name: Step, step: Step): boolean {
  return name === any || (name === segment && step !== any && step !== '/')
}

/** True if some path matches both. */
function meet(a: Pattern['steps'], b: Pattern['steps']): boolean {
  const known = new Map<number, boolean>()
  const from = (i: number, j: number): boolean => {
    if (i === a.length || j === b.length) return i === a.length && j === b.length
    const mark = i * (b.length + 1) + j
    const before = known.get(mark)
    if (before !== undefined) return before
    const [x, y] = [a[i] as Step, b[j] as Step]
    let found: boolean
    if (typeof x === 'string' && typeof y === 'string') found = x === y && from(i + 1, j + 1)
    // A character other than a slash matches both names.
    else if ((typeof x === 'string' && !takes(y, x)) || (typeof y === 'string' && !takes(x, y))) found = false
    else {
      // Both steps consume the current character; each name may then end or continue.
      const nextA = typeof x === 'string' ? [i + 1] : [i, i + 1]
      const nextB = typeof y === 'string' ? [j + 1] : [j, j + 1]
      found = nextA.some(m => nextB.some(n => (m !== i || n !== j) && from(m, n)))
    }
    known.set(mark, found)
    return found
  }
  return from(0, 0)
}
