import type { RequestContext, Log, Target, Usage } from '../../src/plugin-api/index.ts'

/** The maximum number of reported cases, such as pairs of model and operation with missing usage. */
const reportedMax = 1_000

/** Reports to operators about upstreams that do not report usage, or report implausible usage. */
export class Reports {
  readonly #log: Log
  readonly #reported: Set<string>

  constructor(log: Log, reported: Set<string>) {
    this.#log = log
    this.#reported = reported
  }

  /** Logs missing usage, once for each model and operation: an upstream without usage never has one. */
  missing(context: RequestContext, target: Target, missing: readonly string[]): void {
    const facts = { ...factsOf(context, target), missing }
    const once = `${target.model.name} ${context.route.operation}`
    if (this.#reported.has(once) || this.#reported.size >= reportedMax)
      return this.#log.debug(facts, 'the upstream did not report usage')
    this.#reported.add(once)
    this.#log.warn(
      facts,
      'the upstream did not report usage, so it is estimated; logged once for each model and operation',
    )
  }

  /** Logs usage without a price, once for each model, with the effect on the charge. */
  unpriced(context: RequestContext, target: Target, unpriced: readonly string[]): void {
    this.#once(`${target.model.name} unpriced ${unpriced.join(' ')}`, () =>
      this.#log.warn(
        { ...factsOf(context, target), unpriced },
        'the request used something without a price; add a price, or set unpriced; logged once for each model',
      ),
    )
  }

  /** Logs unknown counts of the upstream, once for each model. */
  unread(context: RequestContext, target: Target, members: readonly string[]): void {
    this.#once(`${target.model.name} unread ${members.join(' ')}`, () =>
      this.#log.warn(
        { ...factsOf(context, target), members },
        'the upstream reports unknown counts, which are not charged; logged once for each model',
      ),
    )
  }

  #once(what: string, report: () => void): void {
    if (this.#reported.has(what) || this.#reported.size >= reportedMax) return
    this.#reported.add(what)
    report()
  }

  /** Logs implausible usage each time, because each of these charges needs a review. */
  implausible(
    context: RequestContext,
    target: Target,
    what: { readonly units: readonly string[]; readonly reported: Usage | null | undefined },
  ): void {
    const facts = { ...factsOf(context, target), ...what }
    this.#log.warn(facts, 'the upstream reported implausibly high usage; the charge is estimated and left for review')
  }
}

function factsOf(context: RequestContext, { model, upstream }: Target): object {
  return { request: context.id, model: model.name, operation: context.route.operation, upstream: upstream.name }
}
