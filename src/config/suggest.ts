import { distance } from 'fastest-levenshtein'

const lettersMin = 4
const listedMax = 20

/** The similar known name: at least four letters, with a distance of at most a third of its length. */
export function findNear(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  let least = Number.POSITIVE_INFINITY
  for (const candidate of known) {
    if (candidate.length < lettersMin) continue
    const steps = candidate.toLowerCase() === name.toLowerCase() ? 0 : distance(name, candidate)
    if (steps <= candidate.length / 3 && steps < least) {
      best = candidate
      least = steps
    }
  }
  return best
}

/** A suggestion for an unknown name: a similar one, or all names if there are few. */
export function suggest(name: string, known: readonly string[]): string | undefined {
  const near = findNear(name, known)
  if (near !== undefined) return `did you mean '${near}'?`
  return known.length > 0 && known.length <= listedMax ? `known here: ${known.join(', ')}` : undefined
}
