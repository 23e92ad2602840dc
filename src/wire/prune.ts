import { findStringEnd } from './string-end.ts'

const quote = 0x22
const openObject = 0x7b
const closeObject = 0x7d
const openArray = 0x5b
const closeArray = 0x5d
const comma = 0x2c

/** Members with longer names, in their JSON form, are kept without a check. */
const nameBytesMax = 256

/** Bytes to leave out: a member, and the comma next to it. */
export type Cut = { readonly from: number; readonly to: number }

/** Decides by a member's name, and its path: names separated by dots, `[]` for an element of a list. */
export type Drops = (name: string, path: () => string) => boolean

/** One open object or list. */
type Level = {
  readonly isObject: boolean
  /** Whether a member that stays precedes this position. */
  kept: boolean
  comma: number
  name: string
}

/**
 * Finds the members, at any depth, to leave out of a validated JSON text: one pass that parses nothing, whatever its
 * length. Does not search inside a member that is left out. It does not use JsonWalk, which would check the grammar
 * again: 2.4 times the cost for a list of numbers (`docs/decisions/0015-one-of-each-reader.md`).
 */
export function findCuts(bytes: Buffer, drops: Drops): readonly Cut[] {
  const levels: Level[] = []
  const cuts: Cut[] = []
  const path = (): string => writePath(levels)
  let level: Level | undefined
  let isName = false
  /** The member that is being left out: its beginning, and its depth. */
  let from = -1
  let depth = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte === quote) {
      const end = findStringEnd(bytes, at + 1)
      if (end < 0) break
      if (isName && level) {
        isName = false
        if (from < 0) {
          level.name = end - at > nameBytesMax ? '' : readName(bytes, at, end)
          if (level.name !== '' && drops(level.name, path)) {
            from = level.kept ? level.comma : at
            depth = levels.length
          } else level.kept = true
        }
      }
      at = end
    } else if (byte === openObject || byte === openArray) {
      isName = byte === openObject
      level = { isObject: isName, kept: false, comma: -1, name: '' }
      levels.push(level)
    } else if (byte === comma || byte === closeObject || byte === closeArray) {
      if (from >= 0 && depth === levels.length) {
        cuts.push({ from, to: byte === comma && !level?.kept ? at + 1 : at })
        from = -1
      }
      if (byte === comma) {
        if (level) level.comma = at
        isName = level?.isObject === true
      } else {
        levels.pop()
        level = levels.at(-1)
        isName = false
      }
    }
  }
  return cuts
}

/** The bytes without the cuts. */
export function cutOut(bytes: Buffer, cuts: readonly Cut[]): Buffer {
  const pieces: Buffer[] = []
  let from = 0
  for (const cut of cuts) {
    pieces.push(bytes.subarray(from, cut.from))
    from = cut.to
  }
  return Buffer.concat([...pieces, bytes.subarray(from)])
}

/** Maps positions in the bytes to those after the cuts; for increasing positions. */
export function createShift(cuts: readonly Cut[]): (place: number) => number {
  let next = 0
  let gone = 0
  return place => {
    for (;;) {
      const cut = cuts[next]
      if (!cut || cut.to > place) return place - gone - (cut && cut.from < place ? place - cut.from : 0)
      gone += cut.to - cut.from
      next++
    }
  }
}

function writePath(levels: readonly Level[]): string {
  let path = ''
  for (const { isObject, name } of levels) path += isObject ? `${path === '' ? '' : '.'}${name}` : '[]'
  return path
}

function readName(bytes: Buffer, from: number, to: number): string {
  const text = bytes.toString('utf8', from, to + 1)
  return text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1)
}
