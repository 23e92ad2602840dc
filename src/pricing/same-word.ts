/** Whether two words are equal, ignoring the case of Latin letters; other letters may only look alike. */
export function isSameWord(a: string, b: string): boolean {
  return a.length === b.length && lower(a) === lower(b)
}

function lower(text: string): string {
  return text.replaceAll(/[A-Z]/g, letter => letter.toLowerCase())
}
