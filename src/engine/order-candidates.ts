import type { Candidate } from '../domain/index.ts'

/**
 * The order in which a model's upstreams are tried: by priority, within one priority drawn by weight; paused ones last,
 * because a slim chance is better than none. `random` gives numbers from 0 to below 1.
 */
export function orderCandidates(
  candidates: readonly Candidate[],
  admits: (candidate: Candidate) => boolean,
  random: () => number,
): readonly Candidate[] {
  if (candidates.length === 1) return candidates
  const keyed = candidates.map(candidate => ({
    candidate,
    admitted: admits(candidate),
    // Efraimidis and Spirakis: sorting by u^(1/w) draws without replacement by weight.
    key: random() ** (1 / candidate.weight),
  }))
  keyed.sort(
    (a, b) => Number(b.admitted) - Number(a.admitted) || a.candidate.priority - b.candidate.priority || b.key - a.key,
  )
  return keyed.map(({ candidate }) => candidate)
}
