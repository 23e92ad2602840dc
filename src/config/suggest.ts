import { distance } from 'fastest-levenshtein'

const lettersMin = 4
const listedMax = 20

/** The known name that was probably meant: at least four letters, and no further off than a third of its length. */
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

/** What to write instead of an unknown name: the near one, else the names there are when they are few. */
export function suggest(name: string, known: readonly string[]): string | undefined {
  const near = findNear(name, known)
  if (near !== undefined) return `did you mean '${near}'?`
  return known.length > 0 && known.length <= listedMax ? `known here: ${known.join(', ')}` : undefined
}
