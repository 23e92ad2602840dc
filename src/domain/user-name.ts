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
