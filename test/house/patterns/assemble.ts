import type { AST } from '@eslint-community/regexpp'

/**
 * One step of a search. It stores the beginnings and ends of groups, and the beginnings of loop rounds that may match
 * nothing.
 */
export type Instruction =
  | { readonly kind: 'take'; readonly isTaken: (code: number) => boolean; readonly isBackward: boolean }
  | { readonly kind: 'fork'; first: number; second: number }
  | { readonly kind: 'jump'; to: number }
  | { readonly kind: 'store'; readonly slot: number }
  | { readonly kind: 'moved'; readonly slot: number }
  | { readonly kind: 'edge'; readonly holds: (text: string, at: number) => boolean }
  | { readonly kind: 'look'; readonly program: Program; readonly negate: boolean }
  | { readonly kind: 'again'; readonly slot: number }
export type Program = readonly Instruction[]

const unrolledMax = 2_000

/** Compiles a pattern, including its lookaheads and lookbehinds. */
export class Assembler {
  readonly #flags: string
  readonly #groups = new Map<AST.CapturingGroup, number>()
  readonly #sets = new Map<string, (code: number) => boolean>()
  #slots = 0

  constructor(flags: string) {
    this.#flags = flags
  }

  /** The number of positions that its programs store. */
  get slots(): number {
    return this.#slots
  }

  /** @throws Error for syntax that this code does not support */
  assemble(alternatives: readonly AST.Alternative[], isBackward: boolean): Program {
    const program: Instruction[] = []
    this.#alternatives(alternatives, program, isBackward)
    return program
  }

  /** Returns a test for whether a character is in a set. It uses Node's own engine, once per character. */
  testOf(set: string): (code: number) => boolean {
    const made = this.#sets.get(set)
    if (made) return made
    const pattern = new RegExp(`^(?:${set})$`, this.#flags.replaceAll(/[gymd]/g, ''))
    const ask = (code: number): boolean => pattern.test(String.fromCodePoint(code))
    // Nearly all of the time is spent on this test: 0 is not known yet, 1 no, 2 yes.
    const known = new Uint8Array(65_536)
    const test = (code: number): boolean => {
      if (code >= known.length) return ask(code)
      if (known[code] === 0) known[code] = ask(code) ? 2 : 1
      return known[code] === 2
    }
    this.#sets.set(set, test)
    return test
  }

  #alternatives(alternatives: readonly AST.Alternative[], program: Instruction[], isBackward: boolean): void {
    const ends: { to: number }[] = []
    for (const [i, { elements }] of alternatives.entries()) {
      const isLast = i === alternatives.length - 1
      const one = isLast ? undefined : fork(program)
      for (const element of isBackward ? elements.toReversed() : elements) this.#element(element, program, isBackward)
      if (!one) break
      const end = { kind: 'jump' as const, to: 0 }
      ends.push(end)
      program.push(end)
      aim(one, program.indexOf(one) + 1, program.length, true)
    }
    for (const end of ends) end.to = program.length
  }

  #element(element: AST.Element, program: Instruction[], isBackward: boolean): void {
    switch (element.type) {
      case 'Group':
        if (element.modifiers) throw new Error(`no modifiers here yet: ${element.raw}`)
        return this.#alternatives(element.alternatives, program, isBackward)
      case 'CapturingGroup':
        return this.#capture(element, program, isBackward)
      case 'Quantifier':
        return this.#quantifier(element, program, isBackward)
      case 'Assertion':
        return void program.push(this.#assertion(element))
      case 'Character':
      case 'CharacterClass':
      case 'CharacterSet':
        return void program.push({ kind: 'take', isTaken: this.testOf(element.raw), isBackward })
      case 'Backreference':
        return void program.push(this.#backreference(element, isBackward))
      case 'ExpressionCharacterClass':
        throw new Error(`not known here: ${element.raw}`)
    }
  }

  #capture(group: AST.CapturingGroup, program: Instruction[], isBackward: boolean): void {
    if (group.references.length === 0) return this.#alternatives(group.alternatives, program, isBackward)
    const first = this.#slotOf(group)
    program.push({ kind: 'store', slot: isBackward ? first + 1 : first })
    this.#alternatives(group.alternatives, program, isBackward)
    program.push({ kind: 'store', slot: isBackward ? first : first + 1 })
  }

  #backreference({ resolved, raw }: AST.Backreference, isBackward: boolean): Instruction {
    if (Array.isArray(resolved) || isBackward || this.#flags.includes('i')) throw new Error(`not known here: ${raw}`)
    return { kind: 'again', slot: this.#slotOf(resolved) }
  }

  #quantifier({ min, max, greedy, element }: AST.Quantifier, program: Instruction[], isBackward: boolean): void {
    const isEndless = max === Number.POSITIVE_INFINITY
    const optional = isEndless ? 0 : max - min
    if (min + optional > unrolledMax) throw new Error(`too many times: {${min},${max}}`)
    for (let i = 0; i < min; i++) this.#element(element, program, isBackward)
    const forks: { kind: 'fork'; first: number; second: number }[] = []
    for (let i = 0; i < optional; i++) {
      forks.push(fork(program))
      this.#element(element, program, isBackward)
    }
    for (const one of forks) aim(one, program.indexOf(one) + 1, program.length, greedy)
    if (isEndless) this.#loop({ element, greedy }, program, isBackward)
  }

  #loop(
    { element, greedy }: Pick<AST.Quantifier, 'element' | 'greedy'>,
    program: Instruction[],
    isBackward: boolean,
  ): void {
    const head = program.length
    const one = fork(program)
    const slot = mayBeEmpty(element) ? this.#slots++ : undefined
    if (slot !== undefined) program.push({ kind: 'store', slot })
    this.#element(element, program, isBackward)
    // A round that matched nothing would repeat forever.
    if (slot !== undefined) program.push({ kind: 'moved', slot })
    program.push({ kind: 'jump', to: head })
    aim(one, head + 1, program.length, greedy)
  }

  #assertion(assertion: AST.Assertion): Instruction {
    const { kind } = assertion
    if (kind === 'lookahead' || kind === 'lookbehind') {
      const program = this.assemble(assertion.alternatives, kind === 'lookbehind')
      return { kind: 'look', program, negate: assertion.negate }
    }
    if (kind === 'word') {
      const { negate } = assertion
      return { kind: 'edge', holds: (text, at) => (isWord(text[at - 1]) !== isWord(text[at])) !== negate }
    }
    const behind = kind === 'start' ? 1 : 0
    const isMultiline = this.#flags.includes('m')
    return {
      kind: 'edge',
      holds: (text, at) => at === (kind === 'start' ? 0 : text.length) || (isMultiline && isLineEnd(text[at - behind])),
    }
  }

  #slotOf(group: AST.CapturingGroup): number {
    const known = this.#groups.get(group)
    if (known !== undefined) return known
    const slot = this.#slots
    this.#slots += 2
    this.#groups.set(group, slot)
    return slot
  }
}

function fork(program: Instruction[]): { kind: 'fork'; first: number; second: number } {
  const one = { kind: 'fork' as const, first: 0, second: 0 }
  program.push(one)
  return one
}

function aim(one: { first: number; second: number }, into: number, over: number, greedy: boolean): void {
  one.first = greedy ? into : over
  one.second = greedy ? over : into
}

function mayBeEmpty(element: AST.Element): boolean {
  switch (element.type) {
    case 'Group':
    case 'CapturingGroup':
      return element.alternatives.some(({ elements }) => elements.every(mayBeEmpty))
    case 'Quantifier':
      return element.min === 0 || mayBeEmpty(element.element)
    case 'Assertion':
    case 'Backreference':
      return true
    default:
      return false
  }
}

function isLineEnd(character: string | undefined): boolean {
  return character === '\n' || character === '\r' || character === '\u2028' || character === '\u2029'
}

function isWord(character: string | undefined): boolean {
  return character !== undefined && /\w/.test(character)
}
