import type { Path } from '../paths.ts'
import { type JsonVisitor, JsonWalk } from '../walk-json.ts'
import { AnswerValues, objectMark } from './values.ts'

/** The maximum bytes that are kept of a wanted text; longer than any message. */
const textBytesMax = 64 * 1024

/**
 * Reads the values at some paths of an answer as it passes, and skips everything else by its brackets: a million
 * numbers cost no more than their bytes. Text that is not complete JSON has no values.
 */
export class ValueReader implements JsonVisitor {
  /** A list is a valid answer, too. */
  readonly loose = true
  readonly #wanted: ReadonlySet<Path>
  readonly #walk = new JsonWalk(this)
  readonly #values = new AnswerValues()
  /** The number of values read. */
  seen = 0
  /** Paths that are prefixes of wanted ones. */
  readonly #leading: ReadonlySet<Path>
  /** By depth, from 1: the path of the open list or object. */
  readonly #open: Path[] = ['', '']
  #at = 0
  #text: { readonly path: Path; readonly pieces: Buffer[]; bytes: number } | undefined

  constructor(wanted: ReadonlySet<Path>) {
    this.#wanted = wanted
    this.#leading = leadingOf(wanted)
  }

  write(chunk: Buffer): void {
    this.#walk.walk(chunk, this.#at)
    this.#at += chunk.length
  }

  end(): AnswerValues {
    const { complete, fault, foreign, followed } = this.#walk
    const isWhole = complete && fault === undefined && !foreign && !followed
    return isWhole ? this.#values : new AnswerValues()
  }

  opened({ depth }: JsonWalk, isObject: boolean): 'skip' | undefined {
    const path = this.#path()
    if (isObject && this.#wanted.has(path)) this.#values.add(path, objectMark)
    if (!this.#leading.has(path)) return 'skip'
    this.#open[depth + 1] = path
    return undefined
  }

  string(): 'skip' | 'bytes' {
    const path = this.#path()
    if (!this.#wanted.has(path)) return 'skip'
    this.#text = { path, pieces: [], bytes: 0 }
    return 'bytes'
  }

  bytes(piece: Buffer, from: number, to: number): void {
    const text = this.#text
    if (!text || text.bytes >= textBytesMax) return
    text.pieces.push(Buffer.from(piece.subarray(from, Math.min(to, from + textBytesMax - text.bytes))))
    text.bytes += to - from
  }

  bytesEnd(): void {
    const text = this.#text
    this.#text = undefined
    if (text) this.#values.add(text.path, unescapeText(Buffer.concat(text.pieces)))
  }

  scalar(_walk: JsonWalk, value: string): void {
    const path = this.#path()
    if (value !== 'null' && this.#wanted.has(path)) this.#values.add(path, value)
  }

  /** The path of the value that begins here. */
  #path(): Path {
    this.seen++
    return pathOfValue(this.#walk, this.#open)
  }
}

/** The path of the value that begins here. @param open the paths of the objects and lists around it, by their depth */
export function pathOfValue({ depth, objects, name }: JsonWalk, open: readonly Path[]): Path {
  const around = open[depth] ?? ''
  if (!objects[depth]) return around
  return around === '' ? name : `${around}.${name}`
}

const leading = new WeakMap<ReadonlySet<Path>, ReadonlySet<Path>>()

function leadingOf(wanted: ReadonlySet<Path>): ReadonlySet<Path> {
  let known = leading.get(wanted)
  if (!known) {
    const paths = new Set<Path>([''])
    for (const path of wanted) {
      // The texts of a list are at the list's own path.
      paths.add(path)
      for (let dot = path.indexOf('.'); dot >= 0; dot = path.indexOf('.', dot + 1)) paths.add(path.slice(0, dot))
    }
    leading.set(wanted, (known = paths))
  }
  return known
}

/** The text of a JSON string; unchanged if it was cut within an escape. */
export function unescapeText(raw: Buffer): string {
  const text = raw.toString()
  if (!text.includes('\\')) return text
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    return text
  }
}
