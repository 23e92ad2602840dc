import type { Body, Json, Stage } from '../domain/index.ts'
import { strikeOut } from './redact.ts'

/** How much of an answer is read: the error is at its beginning. */
const bytesMax = 8_192
/** Where API formats have their messages, outermost first. */
const places = ['error', 'errors', 'message', 'detail', 'details', 'msg', 'title'] as const
const depthMax = 4
/** Members that repeat the request. */
const echoed = /"(?:inputs?|messages|contents|request|body)"\s*:/

/**
 * Collects the message of an upstream's refusal for the log: only the text at its beginning. Runs after the stage that
 * removes our keys, and passes everything on unchanged.
 */
export class ErrorSnippet implements Stage {
  readonly letsGo = true
  readonly #secrets: readonly string[]
  readonly #own: string | undefined
  #kept: Buffer = Buffer.alloc(0)

  /** `own`: the request's words; if they are unknown nothing is kept. */
  constructor(secrets: readonly string[], own: string | undefined) {
    this.#secrets = secrets
    this.#own = own
  }

  write(chunk: Buffer): Buffer {
    const room = bytesMax - this.#kept.length
    // A copy: the memory of what is passed on may be reused by the time it is read.
    if (room > 0) this.#kept = Buffer.concat([this.#kept, chunk.subarray(0, room)])
    return chunk
  }

  end(): readonly Buffer[] {
    return []
  }

  /** Null without a readable message. */
  get words(): string | null {
    if (this.#own === undefined) return null
    const found = findWords(this.#kept.toString())
    // Again: JSON may have escaped a key in a way that the bytes did not show.
    return found === undefined ? null : clipSnippet(strikeOut(found, this.#secrets), this.#own)
  }
}

function findWords(text: string): string | undefined {
  try {
    return findMessage(JSON.parse(text), 0)
  } catch {
    // A page for people, or an answer longer than the kept part.
    const [own = ''] = text.split(echoed, 1)
    const named = /"(?:message|msg|detail|error)"\s*:\s*"((?:[^"\\]|\\.){1,1000})/.exec(own)?.[1]
    if (named !== undefined) return unescaped(named)
    const plain = text.trim()
    return plain === '' || /^(?:[<{]|\[\s*[{"])/.test(plain) ? undefined : plain
  }
}

function unescaped(text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    return text
  }
}

function findMessage(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value
  if (typeof value !== 'object' || value === null || depth > depthMax) return undefined
  if (Array.isArray(value)) return findMessage(value[0], depth + 1)
  for (const place of places) {
    const found = findMessage((value as { readonly [name: string]: unknown })[place], depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

const snippetCharsMax = 300
/** Possibly a client's own words: the log keeps none of them. */
const quotedMax = 60
const hidden = '…'
/** An opening quote and its closing one. */
const marks: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["'", "'"],
  ['`', '`'],
  ['“', '”'],
  ['‘', '’'],
  ['«', '»'],
])
const ofWord = /\w/
// Too short for a key, and without quotes: most values of a refusal, so that these cost nothing.
const shortWord = /^[\w.]{0,10}$/
const encoded = /[A-Za-z0-9+/_-]{40,}={0,2}/g
const keys = /\b(?:(?:sk|pk|key)[-_]|Bearer )[\w-]{8,}/g
// A link may give access to its holder: its query is dropped.
const query = /(https?:\/\/[^\s?]{1,200})\?\S+/g

/**
 * A foreign message as the log keeps it: one line of at most 300 characters, without long quotations (which may be the
 * client's), without what it repeats of `own`, the request's words, without encoded text, and without anything that
 * looks like a key.
 */
export function clipSnippet(text: string, own = ''): string {
  if (own === '' && shortWord.test(text)) return text
  const line = text
    .slice(0, 4 * snippetCharsMax)
    .replaceAll(/\s+/g, ' ')
    .trim()
  const bare = hideQuoted(withoutRepeats(line, own, hidden))
    .replaceAll(query, `$1?${hidden}`)
    .replaceAll(keys, hidden)
    .replaceAll(encoded, hidden)
  return bare.length > snippetCharsMax ? `${bare.slice(0, snippetCharsMax)}${hidden}` : bare
}

/** Handles each kind of quote once, in order: a truncated quotation extends to the end. */
function hideQuoted(line: string): string {
  let bare = ''
  let at = 0
  while (at < line.length) {
    const mark = line.charAt(at)
    const last = marks.get(mark)
    const end = last === undefined || isApostrophe(line, at, mark) ? at + 1 : endOfQuote(line, at + 1, last)
    bare += end - at < quotedMax ? line.slice(at, end) : `${mark}${hidden}${line.charAt(end - 1) === last ? last : ''}`
    at = end
  }
  return bare
}

function endOfQuote(line: string, from: number, last: string): number {
  for (let at = line.indexOf(last, from); at >= 0; at = line.indexOf(last, at + 1))
    if (!isApostrophe(line, at, last)) return at + 1
  return line.length
}

/** An apostrophe inside a word. */
function isApostrophe(line: string, at: number, mark: string): boolean {
  if (mark !== "'" && mark !== '’') return false
  return ofWord.test(line.charAt(at - 1)) && ofWord.test(line.charAt(at + 1))
}

/** Longer requests are not compared with the answer: that would block the event loop. */
const requestCharsMax = 65_536
/** A shorter run is an ordinary word. */
const repeatedMin = 16
/** Every run of this length contains a whole window. */
const window = repeatedMin / 2
/** Positions of the request that are tried for one window. */
const triesMax = 8

/** The words of a request, except the model's name; undefined if it was not read, or is very long. */
export function requestWords(body: Body | undefined): string | undefined {
  if (!body || body.kind === 'none') return ''
  const texts: string[] = []
  let left = requestCharsMax
  if (body.kind === 'json')
    for (const name of body.json.names()) {
      if (name === 'model') continue
      left -= body.json.raw(name)?.length ?? 0
      if (left < 0) return undefined
      gather(body.json.get(name), texts)
    }
  else if (body.kind === 'form')
    for (const part of body.parts) {
      if (part.kind !== 'text' || part.name === 'model') continue
      left -= part.value.length
      if (left < 0) return undefined
      texts.push(part.value)
    }
  else return undefined
  return texts.join('\n').replaceAll(/\s+/g, ' ')
}

function gather(value: Json | undefined, into: string[]): void {
  const todo: (Json | undefined)[] = [value]
  while (todo.length > 0) {
    const one = todo.pop()
    if (typeof one === 'string') into.push(one)
    else if (typeof one === 'object' && one !== null) todo.push(...Object.values(one))
  }
}

/** A line without the runs that it repeats from a request. */
function withoutRepeats(line: string, own: string, hidden: string): string {
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

/** The longest run around a window that the request also has; it begins at `least` or later. */
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
