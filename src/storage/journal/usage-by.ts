import { firstIdAt } from '../../util/ids.ts'
import { requestOfCharge } from '../../plugin-api/image-tool.ts'
import type { Charge, UsageSort, UsageSum } from '../../domain/index.ts'
import { splitAmount } from '../ledger/split-amount.ts'
import { eachCharge } from '../ledger/find.ts'
import type { QueryProgram } from '../query.ts'
import { type Tokens, TokenWalk } from './tokens.ts'

type UsageQuery = { readonly since: number; readonly until: number; readonly by: UsageSort }

/** The values that one charge adds to a sum. */
type Part = Pick<UsageSum, 'images' | 'quantity' | 'amount' | 'refunded'>

/**
 * Charged usage between two times by a dimension without stored sums: charges are read one by one, on one snapshot.
 * The sums exactly equal the ledger.
 */
export function* sumUsageBy({ since, until, by }: UsageQuery): QueryProgram<readonly UsageSum[]> {
  const sums = new Sums()
  const walk = new TokenWalk({ since, until })
  yield* eachCharge(firstIdAt('req_', since), firstIdAt('req_', until), function* (some) {
    const settled = some.filter(({ state }) => state === 'settled')
    const last = settled.at(-1)
    if (!last) return
    const tokens = by === 'tier' ? noTokens : yield* walk.upTo(last.id)
    for (const charge of settled)
      for (const [of, part] of partsOf(charge, by)) sums.add(of, charge, part, tokens.get(charge.id))
  })
  return sums.inOrder()
}

const noTokens: ReadonlyMap<string, Tokens> = new Map()

/** The parts of a charge: by tier its items; otherwise the whole charge. */
function partsOf(charge: Charge, by: UsageSort): Iterable<readonly [string, Part]> {
  const { lines, amount, refunded } = charge
  if (by !== 'tier') {
    const images = lines.filter(({ quantity }) => quantity === null).length
    return [[by === 'group' ? charge.group : charge.upstream, { images, quantity: 0, amount, refunded }]]
  }
  const back = splitAmount(
    refunded,
    lines.map(({ price }) => price),
  )
  return lines.map(({ tier, quantity, price }, i) => [
    tier,
    { images: quantity === null ? 1 : 0, quantity: quantity ?? 0, amount: price, refunded: back[i] ?? 0 },
  ])
}

/** The sum, and the request that was added last. */
type Sum = { readonly counts: { -readonly [N in keyof UsageSum]: UsageSum[N] }; last: string }

class Sums {
  readonly #sums = new Map<string, Sum>()

  add(of: string, { id, currency }: Charge, part: Part, tokens?: Tokens): void {
    const name = `${currency}\n${of}`
    let sum = this.#sums.get(name)
    if (!sum) {
      const none = { requests: 0, images: 0, quantity: 0, inputTokens: 0, outputTokens: 0, amount: 0, refunded: 0 }
      this.#sums.set(name, (sum = { counts: { of, currency, ...none }, last: '' }))
    }
    // Charges are in the order of their ids: the charge of a request's tokens directly follows that of its images.
    const request = requestOfCharge(id)
    const { counts } = sum
    if (sum.last !== request) counts.requests++
    sum.last = request
    counts.images += part.images
    counts.quantity += part.quantity
    counts.inputTokens += tokens?.inputTokens ?? 0
    counts.outputTokens += tokens?.outputTokens ?? 0
    counts.amount += part.amount
    counts.refunded += part.refunded
  }

  /** The sums, sorted by name. */
  inOrder(): readonly UsageSum[] {
    const sums = [...this.#sums].sort(([a], [b]) => (a < b ? -1 : 1))
    return sums.map(([, { counts }]) => counts)
  }
}
