import type { DraftRoute } from './write-config.ts'
import type { Place, PooledKey, UpstreamBook } from './upstream-book.ts'

/** A deployment of a model, before its upstream has a name. */
export type Way = {
  readonly place: Place
  /** The reference to its key; undefined if it has none. */
  readonly reference: string | undefined
  /** The name of its upstream, if that name is free. */
  readonly base: string
  readonly sendAs: string
  readonly weight: string | undefined
  readonly priority: number
  readonly rpm: number | undefined
}

/**
 * The routes of a model: deployments that differ only by their key become one upstream with several keys. If no key has
 * a weight, the shares are those of their rpm, provided that all of them have one.
 */
export function routesOf(ways: readonly Way[], upstreams: UpstreamBook): readonly DraftRoute[] {
  const alike = Map.groupBy(ways, ({ place, sendAs, priority }) =>
    JSON.stringify([withoutConcurrency(place), sendAs, priority]),
  )
  return [...alike.values()].flatMap(all => {
    const keys = keysOf(all)
    const [first] = all as [Way, ...Way[]]
    const { sendAs, priority } = first
    if (!keys)
      return all.map(({ place, reference, base, weight }) => {
        return { upstream: upstreams.nameOf(place, reference, base), sendAs, weight, priority }
      })
    const upstream = upstreams.poolOf(withoutConcurrency(first.place), keys, first.base)
    // Relative to the other routes of the model, the upstream has the sum of the weights of its deployments.
    const sum = all.reduce((whole, { weight = '1' }) => whole + Number(weight), 0)
    const isAlone = ways.every(way => way.priority !== priority || all.includes(way))
    return [{ upstream, sendAs, weight: isAlone || sum === 1 ? undefined : String(+sum.toFixed(4)), priority }]
  })
}

/** Undefined if there are not several keys. */
function keysOf(ways: readonly Way[]): readonly PooledKey[] | undefined {
  const byReference = Map.groupBy(ways, way => way.reference)
  if (byReference.size < 2 || byReference.has(undefined)) return undefined
  const isByRpm = ways.every(way => way.weight === undefined && way.rpm !== undefined)
  const shares = [...byReference].map(([reference = '', all]) => ({
    reference,
    share: all.reduce((sum, { weight = '1', rpm = 1 }) => sum + (isByRpm ? rpm : Number(weight)), 0),
    concurrency: restOf(all[0]?.place, 'concurrency'),
  }))
  const weights = wholeWeights(shares.map(one => one.share))
  return shares.map(({ reference, concurrency }, i) => ({ reference, weight: weights[i] ?? 1, concurrency }))
}

/** Shares as the smallest whole numbers in the same ratio; a thousandth of the largest is the minimum. */
function wholeWeights(shares: readonly number[]): readonly number[] {
  const whole = shares.map(share => Math.round(share * 1_000))
  const least = Math.max(1, Math.round(Math.max(...whole) / 1_000))
  const some = whole.map(one => Math.max(one, least))
  const divisor = some.reduce(greatestDivisor)
  return some.map(one => one / divisor)
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b)
}

/** A concurrency limit of each deployment in the source is a limit of each key here. */
function withoutConcurrency(place: Place): Place {
  return { ...place, rest: place.rest.filter(([key]) => key !== 'concurrency') }
}

function restOf(place: Place | undefined, key: string): string | undefined {
  return place?.rest.find(([name]) => name === key)?.[1]
}
