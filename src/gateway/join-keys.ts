import { keyOutcomes, type UpstreamKeyShown } from '../domain/index.ts'
import { formatMoney, parseMoney } from '../util/index.ts'

/**
 * How the keys of an upstream are in several processes: as in the one that knows the worst of a key, since others learn it
 * within seconds. What they have counted is added up.
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
