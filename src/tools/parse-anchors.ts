import type { Anchor, ChainEnd } from '../domain/index.ts'

/**
 * The anchors of a text, one on each line: as `ledger anchor` prints them, or lines of the gateway's log.
 * @throws Error that names the line
 */
export function parseAnchors(text: string): readonly Anchor[] {
  return text.split('\n').flatMap((line, at) => readLine(line, at + 1) ?? [])
}

/** The same of a text in pieces: a gateway's log may be longer than a string can be. */
export async function readAnchors(pieces: AsyncIterable<string>): Promise<readonly Anchor[]> {
  const anchors: Anchor[] = []
  let line: string[] = []
  let number = 0
  const endLine = (): void => {
    const found = readLine(line.join(''), ++number)
    if (found) anchors.push(found)
    line = []
  }
  for await (const piece of pieces)
    for (const [i, part] of piece.split('\n').entries()) {
      if (i > 0) endLine()
      line.push(part)
    }
  endLine()
  return anchors
}

function readLine(line: string, number: number): Anchor | undefined {
  if (line.trim() === '') return undefined
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    // The gateway writes text to its log when it starts. An anchor that was cut still has one of its braces.
    const piece = line.trim()
    if (!piece.startsWith('{') && !piece.endsWith('}')) return undefined
    throw new Error(`line ${number} is not JSON`)
  }
  if (typeof value !== 'object' || value === null) throw new Error(`line ${number} is not an anchor`)
  // A log line without an anchor.
  if ('msg' in value && !('anchor' in value)) return undefined
  const anchor = 'anchor' in value ? value.anchor : value
  if (!isAnchor(anchor)) throw new Error(`line ${number} is not an anchor`)
  return anchor
}

function isAnchor(value: unknown): value is Anchor {
  if (typeof value !== 'object' || value === null) return false
  const { time, database, chains } = value as { readonly [name: string]: unknown }
  return typeof time === 'string' && typeof database === 'string' && Array.isArray(chains) && chains.every(isEnd)
}

function isEnd(value: unknown): value is ChainEnd {
  if (typeof value !== 'object' || value === null) return false
  const { chain, position, head } = value as { readonly [name: string]: unknown }
  return typeof chain === 'string' && Number.isSafeInteger(position) && typeof head === 'string'
}
