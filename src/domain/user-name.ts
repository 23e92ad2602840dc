/**
 * The name of a user: 1 to 64 letters and digits of any script, `_`, `.`, `@` and `-`, with a letter or digit first. Such a
 * name needs no quotes in a shell, a URL, a CSV file or a log line.
 */
export const userNamePattern = String.raw`^[\p{L}\p{N}][\p{L}\p{N}_.@-]{0,63}$`
/** A name that a person chooses: with an `@` it could be confused with the e-mail address of another person. */
export const chosenNamePattern = String.raw`^[\p{L}\p{N}][\p{L}\p{N}_.-]{0,63}$`

const userName = new RegExp(userNamePattern, 'u')
const chosenName = new RegExp(chosenNamePattern, 'u')

export function isUserName(name: string): boolean {
  return userName.test(name)
}

export function isChosenName(name: string): boolean {
  return chosenName.test(name)
}
