/** Whether a name matches one of these patterns, `*` for any part of one; true if there are none. */
export function namedBy(patterns: readonly string[]): (name: string) => boolean {
  const all = patterns.map(one => one.split('*'))
  return name => all.length === 0 || all.some(parts => matches(parts, name))
}

/** Whether a name consists of these parts, with any text between them. */
function matches([first = '', ...more]: readonly string[], id: string): boolean {
  const last = more.at(-1)
  if (last === undefined) return id === first
  if (!id.startsWith(first) || !id.endsWith(last) || id.length < first.length + last.length) return false
  let at = first.length
  for (const part of more.slice(0, -1)) {
    const found = id.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return at <= id.length - last.length
}
