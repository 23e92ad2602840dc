/** `file:line` without the file's folder: responses never contain a path of the server. */
export function shortPlace(at: string): string {
  return at.slice(Math.max(at.lastIndexOf('/'), at.lastIndexOf('\\')) + 1)
}
