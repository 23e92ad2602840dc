const tokens = /["{}[\],]/g

type Level = { readonly names: Set<string> | undefined; key: string; isKeyNext: boolean; count: number }

/**
 * The paths of names that occur twice in one object of a JSON text; elements of lists are numbered. A parser silently
 * keeps the last of two. The text must be valid JSON.
 */
export function repeatedNames(text: string): readonly (readonly string[])[] {
  const repeated: string[][] = []
  const levels: Level[] = []
  for (let at = 0; (at = nextOf(text, at)) < text.length; ) {
    const token = text[at] as string
    const begin = at
    at = token === '"' ? endOfString(text, at) : at + 1
    const level = levels.at(-1)
    if (token === '{') levels.push({ names: new Set(), key: '', isKeyNext: true, count: 0 })
    else if (token === '[') levels.push({ names: undefined, key: '0', isKeyNext: false, count: 0 })
    else if (token === '}' || token === ']') levels.pop()
    else if (!level) continue
    else if (token === ',') {
      level.isKeyNext = level.names !== undefined
      if (!level.names) level.key = String(++level.count)
    } else if (level.isKeyNext) {
      level.key = JSON.parse(text.slice(begin, at)) as string
      level.isKeyNext = false
      if (level.names?.has(level.key)) repeated.push(levels.map(one => one.key))
      level.names?.add(level.key)
    }
  }
  return repeated
}

/** The position of the next token at or after the given one; the length if there is none. */
function nextOf(text: string, from: number): number {
  tokens.lastIndex = from
  return tokens.exec(text)?.index ?? text.length
}

/** The position after a string that begins there. */
function endOfString(text: string, begin: number): number {
  let end = text.indexOf('"', begin + 1)
  for (; end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text[end - 1 - slashes] === '\\') slashes++
    if (slashes % 2 === 0) return end + 1
  }
  return text.length
}
