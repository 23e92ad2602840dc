import { globSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** V8's output in the folder of `NODE_V8_COVERAGE`: how often each range of each function ran. */
type Range = { readonly startOffset: number; readonly endOffset: number; readonly count: number }
type Script = {
  readonly url: string
  readonly functions: readonly { readonly isBlockCoverage: boolean; readonly ranges: readonly Range[] }[]
}

/** The covered part and the size of some files. */
export type Reached = {
  readonly lines: number
  readonly linesAll: number
  readonly branches: number
  readonly branchesAll: number
}

/** Type stripping keeps every character's position: V8's ranges of a text also apply to the file. */
const parts = ['src/engine', 'src/storage', 'plugins'] as const

/** Merges the coverage of processes, each of which wrote into a folder of its own. */
export class Coverage {
  readonly #root: string
  readonly #files = new Map<string, { readonly lines: readonly Line[]; readonly branches: Map<string, boolean> }>()

  constructor(root: string) {
    this.#root = root
    for (const part of parts)
      for (const file of globSync(`${part}/**/*.ts`, { cwd: root }))
        if (!file.endsWith('.test.ts'))
          this.#files.set(file, { lines: linesOf(resolve(root, file)), branches: new Map() })
  }

  /** Reads the data of one process, and deletes the folder. */
  take(folder: string): void {
    mkdirSync(folder, { recursive: true })
    for (const name of readdirSync(folder)) {
      const { result } = JSON.parse(readFileSync(resolve(folder, name), 'utf8')) as { result: readonly Script[] }
      for (const script of result) this.#add(script)
    }
    rmSync(folder, { recursive: true, force: true })
  }

  /** By part of the program; files that were never loaded count too. */
  sum(): { readonly [part: string]: Reached } {
    return Object.fromEntries(parts.map(part => [part, this.#sumOf(`${part}/`)]))
  }

  #sumOf(prefix: string): Reached {
    const sum = { lines: 0, linesAll: 0, branches: 0, branchesAll: 0 }
    for (const [file, { lines, branches }] of this.#files) {
      if (!file.startsWith(prefix)) continue
      sum.linesAll += lines.length
      sum.lines += lines.filter(line => line.reached).length
      sum.branchesAll += branches.size
      for (const reached of branches.values()) if (reached) sum.branches++
    }
    return sum
  }

  #add({ url, functions }: Script): void {
    const file = url.startsWith('file:') ? this.#files.get(relative(this.#root, fileURLToPath(url))) : undefined
    if (!file) return
    // The innermost range determines the count.
    const ranges = functions.flatMap(one => one.ranges).sort((a, b) => sizeOf(b) - sizeOf(a))
    for (const line of file.lines) {
      if (line.reached) continue
      const inner = ranges.findLast(range => range.startOffset <= line.from && line.to <= range.endOffset)
      if (inner && inner.count > 0) line.reached = true
    }
    for (const { isBlockCoverage, ranges: own } of functions)
      for (const { startOffset, endOffset, count } of isBlockCoverage ? own : own.slice(0, 1)) {
        const place = `${startOffset}-${endOffset}`
        if (!file.branches.get(place)) file.branches.set(place, count > 0)
      }
  }
}

function sizeOf({ startOffset, endOffset }: Range): number {
  return endOffset - startOffset
}

type Line = { readonly from: number; readonly to: number; reached: boolean }

/** Lines with code to run: no blanks, comments, closing brackets, or types alone. */
function linesOf(path: string): readonly Line[] {
  const lines: Line[] = []
  let at = 0
  let inType = false
  for (const text of readFileSync(path, 'utf8').split('\n')) {
    const trimmed = text.trim()
    const from = at + text.indexOf(trimmed)
    at += text.length + 1
    if (/^(?:export )?(?:type|interface) /.test(text)) inType = !/^.*[^{(|&=]$/.test(trimmed) || trimmed.endsWith('=')
    else if (inType && /^\S/.test(text) && !/^[|&]/.test(trimmed)) {
      inType = false
      if (/^[})]/.test(trimmed)) continue
    }
    if (inType || /^(?:export )?(?:type|interface|import) /.test(text)) continue
    if (trimmed === '' || /^(?:\/\/|\/?\*)/.test(trimmed) || /^[\])},;]+$/.test(trimmed)) continue
    lines.push({ from, to: from + trimmed.length, reached: false })
  }
  return lines
}
