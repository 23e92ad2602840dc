import { keyOutcomes, type UpstreamKeyShown } from '../domain/index.ts'
import { formatMoney, parseMoney } from '../util/index.ts'

/**
 * The states of an upstream's keys in several processes: each key has the worst state that any process reports, because
 * the others learn it within seconds. Counts are summed.
 */
export function joinKeys(all: readonly (readonly UpstreamKeyShown[])[]): readonly UpstreamKeyShown[] {
  return [...Map.groupBy(all.flat(), ({ name }) => name).values()].map(joinKey)
}

function joinKey(same: readonly UpstreamKeyShown[]): UpstreamKeyShown {
  const badness = ({ state }: UpstreamKeyShown): number => ['active', 'cooling', 'suspended'].indexOf(state)
  const worst = same.reduce((a, b) => (badness(b) > badness(a) ? b : a))
  const sum = (read: (one: UpstreamKeyShown) => number): number => same.reduce((total, one) => total + read(one), 0)
  const spent = Math.max(...same.map(({ budget }) => parseMoney(budget?.spent ?? '0') ?? 0))
  return {
    ...worst,
    asked: same.every(({ asked }) => asked),
    budget: worst.budget && { ...worst.budget, spent: formatMoney(spent) },
    requests: sum(one => one.requests),
    lately: Object.fromEntries(
      keyOutcomes.map(outcome => [outcome, sum(({ lately }) => lately[outcome])]),
    ) as UpstreamKeyShown['lately'],
  }
}
