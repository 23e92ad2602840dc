import type { Anchor, ChainEnd } from '../domain/index.ts'

/**
 * The anchors of a text, one on each line: as `ledger anchor` prints them, or lines of the gateway's log.
 * @throws Error that names the line
 */
export function parseAnchors(text: string): readonly Anchor[] {
  return text.split('\n').flatMap((line, at) => {
    if (line.trim() === '') return []
    const found = readLine(line, at + 1)
    return found === undefined ? [] : [found]
  })
}

function readLine(line: string, number: number): Anchor | undefined {
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
