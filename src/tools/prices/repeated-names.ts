// A word that does not end goes to the end of the text: none of it is looked at twice.
const tokens = /"(?:[^"\\]|\\[^])*(?:"|\\?$)|[{}[\],]/g

type Level = { readonly names: Set<string> | undefined; key: string; isKeyNext: boolean; count: number }

/**
 * The paths of names that a text of JSON has twice in one mapping; elements of lists are numbered. A parser keeps the last of
 * two without a word. The text is one that was parsed before.
 */
export function repeatedNames(text: string): readonly (readonly string[])[] {
  const repeated: string[][] = []
  const levels: Level[] = []
  for (const [token] of text.matchAll(tokens)) {
    const level = levels.at(-1)
    if (token === '{') levels.push({ names: new Set(), key: '', isKeyNext: true, count: 0 })
    else if (token === '[') levels.push({ names: undefined, key: '0', isKeyNext: false, count: 0 })
    else if (token === '}' || token === ']') levels.pop()
    else if (!level) continue
    else if (token === ',') {
      level.isKeyNext = level.names !== undefined
      if (!level.names) level.key = String(++level.count)
    } else if (level.isKeyNext) {
      level.key = JSON.parse(token) as string
      level.isKeyNext = false
      if (level.names?.has(level.key)) repeated.push(levels.map(one => one.key))
      level.names?.add(level.key)
    }
  }
  return repeated
}
