import type { Json, Passed, Stage } from '../domain/index.ts'
import { parseJsonIfValid } from '../wire/index.ts'
import type { Verdict } from './contract.ts'
import { findTexts, type FoundText, leaveOutPieces } from './texts.ts'

const heldBytesMax = 16 * 1024 * 1024
const none: readonly Buffer[] = []

type Check = (texts: readonly string[]) => Promise<Verdict> | Verdict

/** Holds an answer until a guard has read its texts. */
export class WholeGuard implements Stage {
  readonly #isJson: boolean
  readonly #check: Check
  /** @throws Failure */
  readonly #block: (rule: string) => never
  #held: Buffer[] = []
  #bytes = 0

  constructor(isJson: boolean, check: Check, block: (rule: string) => never) {
    this.#isJson = isJson
    this.#check = check
    this.#block = block
  }

  write(chunk: Buffer): Passed {
    this.#bytes += chunk.length
    if (this.#bytes > heldBytesMax) this.#block('response_too_long')
    this.#held.push(chunk)
    return none
  }

  async end(): Promise<Passed> {
    const held = Buffer.concat(this.#held)
    this.#held = []
    // An answer that is declared as JSON but is not JSON is checked as text.
    const whole = held.toString()
    const answer = { text: (this.#isJson ? parseJsonIfValid(whole) : undefined) ?? whole }
    const { text } = answer
    const found = typeof text === 'string' ? plainText(answer, text) : findTexts(text)
    if (found.length === 0) return held
    const verdict = await this.#check(found.map(({ text }) => text))
    if (verdict.kind === 'block') return this.#block(verdict.rule)
    if (verdict.kind === 'pass') return held
    for (const [i, text] of verdict.texts.entries()) found[i]?.put(text)
    leaveOutPieces(answer.text)
    return Buffer.from(typeof answer.text === 'string' ? answer.text : JSON.stringify(answer.text))
  }
}

function plainText(holder: { text: Json }, text: string): readonly FoundText[] {
  return [{ text, put: next => void (holder.text = next) }]
}
