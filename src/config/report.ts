import { drawCaret } from './draw-caret.ts'
import type { Finding } from './finding.ts'
import type { Secrets } from './secrets.ts'
import type { Source } from './source.ts'
import { suggest } from './suggest.ts'
import { type Found, findNode, formatPath, type Path, scalarsOf, type Span, type Tree } from './tree.ts'

/** A finding without its line. */
export type PlacedDiagnostic = {
  readonly code: string
  readonly path: Path
  readonly span: Span
  readonly message: string
  readonly remedy?: string
  readonly severity?: Finding['severity']
  /** The value is usable anyway, so later checks continue. */
  readonly mild?: boolean
}

export type Complaint = Omit<PlacedDiagnostic, 'path' | 'span'>

/** Comparing names this often takes milliseconds. */
const comparedMax = 100_000

/** Collects all findings of one file, so that they are reported together. */
export class Report {
  readonly #source: Source
  readonly #diagnostics: PlacedDiagnostic[] = []
  /** The paths of unusable values, and of everything above them. */
  readonly #broken = new Set<string>()
  #compared = 0
  #root: Tree | undefined

  constructor(source: Source) {
    this.#source = source
  }

  /** Sets the tree in which `atKey` and `atValue` find places. */
  follow(root: Tree): void {
    this.#root = root
  }

  add(diagnostic: PlacedDiagnostic): void {
    this.#diagnostics.push(diagnostic)
    if (!isError(diagnostic) || diagnostic.mild) return
    for (let steps = 0; steps <= diagnostic.path.length; steps++)
      this.#broken.add(keyOf(diagnostic.path.slice(0, steps)))
  }

  /** Adds the findings of another report for a part of this file. */
  addBelow(path: Path, other: Report): void {
    for (const one of other.#diagnostics) this.add({ ...one, path: [...path, ...one.path] })
  }

  /** Reports a problem of the key at the end of the path; if the path does not exist, of its last existing part. */
  atKey(path: Path, complaint: Complaint): void {
    const found = this.#find(path)
    if (isUnknown(found)) return
    this.add({ ...complaint, path, span: found.keySpan ?? headOf(found.node) })
  }

  /** Reports a problem of the value at the path; if there is none, of the key or node without it. */
  atValue(path: Path, complaint: Complaint): void {
    const found = this.#find(path)
    if (isUnknown(found)) return
    const span = found.whole ? found.node.span : (found.keySpan ?? headOf(found.node))
    this.add({ ...complaint, path, span })
  }

  /** Whether the value at the path, or any part of it, cannot be used. */
  broken(path: Path): boolean {
    return this.#broken.has(keyOf(path))
  }

  /**
   * A suggestion for an unknown name. After many comparisons there are no more, because each reads all known names:
   * a file may have thousands of names, and as many unknown ones.
   */
  suggest(name: string, known: Iterable<string>, own?: string): string | undefined {
    if (this.#compared > comparedMax) return undefined
    const names = [...known].filter(one => one !== own)
    this.#compared += names.length
    return suggest(name, names)
  }

  /** False where a placeholder replaces a value at the path, or below it. */
  knows(path: Path): boolean {
    const { node, whole } = this.#find(path)
    return !whole || !scalarsOf(node).some(([scalar]) => scalar.unknown)
  }

  /** Whether the tree has a value at the path. */
  has(path: Path): boolean {
    return this.#find(path).whole
  }

  get failed(): boolean {
    return this.#diagnostics.some(isError)
  }

  /** All findings in the order of the file, without duplicates. */
  findings(secrets: Secrets): readonly Finding[] {
    const seen = new Set<string>()
    const findings: Finding[] = []
    const diagnostics = this.#diagnostics.toSorted((a, b) => a.span.start - b.span.start)
    for (const { severity, code, path, span, message, remedy } of diagnostics) {
      const mark = `${span.start} ${code} ${message}`
      if (seen.has(mark)) continue
      seen.add(mark)
      findings.push({
        severity: severity ?? 'error',
        code,
        ...this.#source.locate(span.start),
        path: secrets.mask(formatPath(path)),
        message: secrets.mask(message),
        ...(remedy !== undefined && { remedy: secrets.mask(remedy) }),
        caret: secrets.maskInPlace(drawCaret(this.#source, span, secrets.spans)),
      })
    }
    return findings
  }

  #find(path: Path): Found {
    if (!this.#root) return { node: nowhere, keySpan: undefined, whole: false }
    return findNode(this.#root, path)
  }
}

const nowhere: Tree = { kind: 'map', span: { start: 0, end: 1 }, entries: [], unknown: true }

/** The first character of a mapping or list, or the whole scalar: editors show a missing part there. */
function headOf(node: Tree): Span {
  return node.kind === 'scalar' ? node.span : { start: node.span.start, end: node.span.start + 1 }
}

/** The value is a placeholder: its problem was reported already, or it has none. */
function isUnknown({ node, whole }: Found): boolean {
  return whole && node.kind === 'scalar' && node.unknown
}

function isError(diagnostic: PlacedDiagnostic): boolean {
  return diagnostic.severity === undefined || diagnostic.severity === 'error'
}

function keyOf(path: Path): string {
  return path.join('\0')
}
