/**
 * A pattern of LIKE for texts that contain `part`; needs a backslash as ESCAPE. SQLite would end the pattern at a NUL,
 * and then find every text.
 */
export function patternOf(part: string): string {
  return `%${part.replaceAll('\0', '\uFFFD').replaceAll(/[\\%_]/g, found => `\\${found}`)}%`
}
