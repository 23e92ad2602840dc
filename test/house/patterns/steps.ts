import { type AST, RegExpParser } from '@eslint-community/regexpp'
import { Assembler, type Program } from './assemble.ts'

/** A pattern and its flags, as in a literal. */
export type Pattern = { readonly source: string; readonly flags: string }

/** The result of a search and its cost; incomplete if the search was stopped. */
export type Search = {
  readonly steps: number
  readonly found: readonly { readonly from: number; readonly to: number }[]
  readonly isWhole: boolean
}

type State = { readonly at: number; readonly memory: readonly number[] }

/**
 * Searches for a pattern as Node's engine does, by backtracking, and counts its steps: the cost is the same on every
 * machine. It finds the same matches as `matchAll`, with or without `g`.
 */
export class CountedPattern {
  readonly ast: AST.Pattern
  readonly #isUnicode: boolean
  readonly #isSticky: boolean
  readonly #assembler: Assembler
  readonly #program: Program
  readonly #nothing: readonly number[]
  #steps = 0
  #stepsMax = 0

  /** @throws SyntaxError for an invalid pattern; Error for syntax that this code does not support */
  constructor({ source, flags }: Pattern) {
    if (flags.includes('v')) throw new Error(`no patterns with 'v' here yet: /${source}/`)
    this.#isUnicode = flags.includes('u')
    this.#isSticky = flags.includes('y')
    this.ast = new RegExpParser().parsePattern(source, 0, source.length, this.#isUnicode)
    this.#assembler = new Assembler(flags)
    this.#program = this.#assembler.assemble(this.ast.alternatives, false)
    this.#nothing = Array.from({ length: this.#assembler.slots }, () => -1)
  }

  /** All matches in a text, unless more than `stepsMax` steps are needed. */
  search(text: string, stepsMax = Number.POSITIVE_INFINITY): Search {
    this.#steps = 0
    this.#stepsMax = stepsMax
    const found: { from: number; to: number }[] = []
    for (let from = 0; from <= text.length; ) {
      const end = this.#run(this.#program, { at: from, memory: this.#nothing }, text)
      if (this.#steps > stepsMax) return { steps: this.#steps, found, isWhole: false }
      if (end) found.push({ from, to: end.at })
      else if (this.#isSticky) break
      from = end && end.at > from ? end.at : from + this.#lengthAt(text, from, false)
    }
    return { steps: this.#steps, found, isWhole: true }
  }

  /** The number of instructions of its program, without lookarounds. */
  get length(): number {
    return this.#program.length
  }

  /** Whether a character is in a set. */
  isOf(set: string, character: string): boolean {
    return this.#assembler.testOf(set)(character.codePointAt(0) ?? 0)
  }

  #run(program: Program, start: State, text: string): State | undefined {
    // The backtracking stack, three entries each: the step, the position in the text, the stored positions.
    const [steps, places, memories]: [number[], number[], (readonly number[])[]] = [[0], [start.at], [start.memory]]
    for (let memory = memories.pop(); memory; memory = memories.pop()) {
      let to = steps.pop() as number
      let at = places.pop() as number
      for (let isAlive = true; isAlive; ) {
        if (++this.#steps > this.#stepsMax) return undefined
        const one = program[to++]
        if (!one) return { at, memory }
        switch (one.kind) {
          case 'take': {
            const length = this.#lengthAt(text, at, one.isBackward)
            const from = one.isBackward ? at - length : at
            isAlive =
              from >= 0 &&
              from + length <= text.length &&
              one.isTaken(this.#isUnicode ? (text.codePointAt(from) as number) : text.charCodeAt(from))
            at = one.isBackward ? from : from + length
            break
          }
          case 'fork':
            steps.push(one.second)
            places.push(at)
            memories.push(memory)
            to = one.first
            break
          case 'jump':
            to = one.to
            break
          case 'store':
            memory = memory.with(one.slot, at)
            break
          case 'moved':
            isAlive = memory[one.slot] !== at
            break
          case 'edge':
            isAlive = one.holds(text, at)
            break
          case 'look': {
            const end = this.#run(one.program, { at, memory }, text)
            isAlive = (end === undefined) === one.negate
            memory = end?.memory ?? memory
            break
          }
          case 'again': {
            const end = memory[one.slot + 1] ?? -1
            const captured = end < 0 ? '' : text.slice(memory[one.slot], end)
            this.#steps += captured.length
            isAlive = text.startsWith(captured, at)
            at += captured.length
            break
          }
        }
      }
    }
    return undefined
  }

  #lengthAt(text: string, at: number, isBackward: boolean): number {
    if (!this.#isUnicode) return 1
    const code = text.codePointAt(isBackward ? at - 2 : at)
    return code !== undefined && code > 0xffff ? 2 : 1
  }
}
