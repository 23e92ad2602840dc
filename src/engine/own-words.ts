import type { Body, Json } from '../domain/index.ts'

/** Longer requests are not compared with the answer: all others would wait. */
const charsMax = 65_536
/** A shorter run is an ordinary word. */
const repeatedMin = 16
/** Every run of so many holds a whole window, wherever it begins. */
const window = repeatedMin / 2
/** Places of the request at which one window is tried. */
const triesMax = 8

/** The words of a request, except the model's name; undefined where it was not read, or is very long. */
export function ownWords(body: Body | undefined): string | undefined {
  if (!body || body.kind === 'none') return ''
  const said: string[] = []
  let left = charsMax
  if (body.kind === 'json')
    for (const name of body.json.names()) {
      if (name === 'model') continue
      left -= body.json.raw(name)?.length ?? 0
      if (left < 0) return undefined
      gather(body.json.get(name), said)
    }
  else if (body.kind === 'form')
    for (const part of body.parts) {
      if (part.kind !== 'text' || part.name === 'model') continue
      left -= part.value.length
      if (left < 0) return undefined
      said.push(part.value)
    }
  else return undefined
  return said.join('\n').replaceAll(/\s+/g, ' ')
}

function gather(value: Json | undefined, into: string[]): void {
  const todo: (Json | undefined)[] = [value]
  while (todo.length > 0) {
    const one = todo.pop()
    if (typeof one === 'string') into.push(one)
    else if (typeof one === 'object' && one !== null) todo.push(...Object.values(one))
  }
}

/** A line without what it repeats of a request, run by run. */
export function withoutRepeats(line: string, own: string, hidden: string): string {
  let bare = ''
  let kept = 0
  for (let at = 0; at + window <= line.length; ) {
    const [from, until] = longestRun(line, own, at, kept)
    if (until - from < repeatedMin) {
      at += window
      continue
    }
    bare += line.slice(kept, from) + hidden
    kept = at = until
  }
  return bare + line.slice(kept)
}

/** The longest run around a window that the request has too; it begins at `least` or later. */
function longestRun(line: string, own: string, at: number, least: number): readonly [from: number, until: number] {
  const words = line.slice(at, at + window)
  let best: readonly [number, number] = [at, at]
  let found = own.indexOf(words)
  for (let tries = 0; found >= 0 && tries < triesMax; tries++) {
    let [from, until] = [at, at + window]
    while (from > least && line[from - 1] === own[found - (at - from) - 1]) from--
    while (until < line.length && line[until] === own[found + until - at]) until++
    if (until - from > best[1] - best[0]) best = [from, until]
    found = own.indexOf(words, found + 1)
  }
  return best
}
