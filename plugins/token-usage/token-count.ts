import {
  type Body,
  type OperationTraits,
  type Outcome,
  type Target,
  type TokenUse,
  treeOf,
} from '../../src/plugin-api/index.ts'
import { estimateInput, estimateOutput } from './estimate-request.ts'
import { checkUsage } from './check-usage.ts'
import type { Reading } from './reading.ts'
import type { UsageFacet } from './schema.ts'

const outputUnits = treeOf('output')

/** Facts about the answer, at the end of the request. */
export type Answered = {
  /** Undefined without an answer, or without a report. */
  readonly reading: Reading | undefined
  /** Whether the images of the request are charged in addition. */
  readonly hasImages: boolean
}

/** Settings for reading the request. */
export type RequestFacts = {
  readonly facet: UsageFacet
  readonly traits: OperationTraits | undefined
  /** The known number of additional input tokens. */
  readonly inputMin?: number
}

/** The tokens of one request for limits: estimated on demand, and counted at its end. */
export class TokenCount implements TokenUse {
  readonly #body: Body
  readonly #facet: UsageFacet
  readonly #traits: OperationTraits | undefined
  /** Whether the response is no text: vectors, or anything of a model with prices but none for output. */
  readonly #isMute: boolean
  readonly #answered: () => Answered
  readonly #inputMin: number
  #input: number | undefined
  #most: number | undefined

  constructor({ body, model }: Target, request: RequestFacts, answered: () => Answered) {
    const { facet, traits, inputMin = 0 } = request
    this.#inputMin = inputMin
    this.#body = body
    this.#facet = facet
    this.#traits = traits
    this.#answered = answered
    const hasOutputPrice = model.prices.size === 0 || outputUnits.some(unit => model.prices.has(unit))
    this.#isMute = traits?.answersVectors === true || !hasOutputPrice
  }

  get estimate(): number {
    const otherwise = this.#isMute ? 0 : this.#facet.estimate.output_tokens
    this.#most ??= estimateOutput(this.#body, otherwise, this.#traits)
    return this.#estimatedInput + this.#most
  }

  actual(outcome: Outcome): number {
    const { reach } = outcome
    if (reach === 'untouched' || reach === 'refused') return 0
    // The upstream may have received and read the request.
    if (reach === 'unknown') return this.#estimatedInput
    const { reading, hasImages } = this.#answered()
    const answerBytes = reading?.bytes ?? 0
    const { usage, implausible } = checkUsage(reading?.usage() ?? null, {
      body: this.#body,
      answerBytes,
      facet: this.#facet,
    })
    if (reading?.fault !== undefined) return (usage?.counts.input ?? 0) + (usage?.counts.output ?? 0)
    const isText = !this.#isMute && !hasImages
    const uncounted = implausible.includes('output') ? reading?.byLength() : reading?.uncounted()
    const passed = isText ? (uncounted ?? 0) : 0
    return (usage?.counts.input ?? this.#estimatedInput) + (usage?.counts.output ?? 0) + passed
  }

  get #estimatedInput(): number {
    this.#input ??= Math.max(this.#inputMin, estimateInput(this.#body, this.#facet))
    return this.#input
  }
}
