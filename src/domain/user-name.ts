const userName = /^[\p{L}\p{N}][\p{L}\p{N}_.@-]{0,63}$/u
const chosenName = /^[\p{L}\p{N}][\p{L}\p{N}_.-]{0,63}$/u

/**
 * The name of a user: 1 to 64 letters and digits of any script, `_`, `.`, `@` and `-`; the first is a letter or digit.
 * Such a name needs no quotes in a shell, a URL, a CSV file or a log line.
 */
export const userNamePattern = userName.source
/** A name that a person chooses, without `@`: it could be confused with the e-mail address of another person. */
export const chosenNamePattern = chosenName.source

export function isUserName(name: string): boolean {
  return userName.test(name)
}

export function isChosenName(name: string): boolean {
  return chosenName.test(name)
}

/** Cyrillic and Greek letters, and the Latin letters that look the same in the same place. */
const twins = 'АВЕЅІЈКМНОРСТУХаеѕіјорсухһԁԛԝӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧονικρυ'
const latin = 'ABESIJKMHOPCTYXaesijopcyxhdqwlABEZHIKMNOPTYXovikpu'
const latinOf = new Map(Array.from(twins, (letter, i) => [letter, latin[i]]))

/** Equal for names that people could take for each other: by case, width, or letters of other scripts. */
function lookOf(name: string): string {
  return Array.from(name.normalize('NFKC'), letter => latinOf.get(letter) ?? letter)
    .join('')
    .toLowerCase()
}

/** The author of the gateway's own changes in the audit log. */
const ownActor = 'gateway'

/** The other name for which people could take a name; undefined if there is none. */
export function nameAlike(name: string, others: readonly string[]): string | undefined {
  const look = lookOf(name)
  return [ownActor, ...others].find(other => lookOf(other) === look)
}
