/** A pattern of LIKE for texts that contain `part`; needs a backslash as ESCAPE. */
export function patternOf(part: string): string {
  return `%${part.replaceAll(/[\\%_]/g, found => `\\${found}`)}%`
}
