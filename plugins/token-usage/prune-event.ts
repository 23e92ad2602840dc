const quote = 0x22
const backslash = 0x5c
const openObject = 0x7b
const closeObject = 0x7d
const openArray = 0x5b
const closeArray = 0x5d
const comma = 0x2c

/** Longer strings say nothing of use or error. */
const stringBytesMax = 1_024
/** No usage stands deeper: `response`, `usage`, its details. */
const deepest = 4

/** Of a longer list the rest goes. */
const elementsMax = 64

/** Bytes that are looked at: in an object, in a list, in a string. */
const inObject = tableOf([quote, openObject, closeObject, openArray, closeArray])
const inList = tableOf([quote, openObject, closeObject, openArray, closeArray, comma])
const inString = tableOf([quote, backslash])

/**
 * A large event without what nobody asks it for: long strings are empty, lists short, and what is deeper than usage goes.
 * What is left is small, and parsed in no time. What is no JSON stays none, or becomes it.
 */
export function pruneEvent(data: Buffer): Buffer {
  const kept: Buffer[] = []
  let keptTo = 0
  const elements: number[] = [0]
  let depth = 0
  let wanted = inObject
  /** Where something begins that goes, and how deep that is in which it stands; -1 outside. */
  let goneFrom = -1
  let goneDepth = 0
  const cut = (from: number, to: number): void => {
    kept.push(data.subarray(keptTo, from))
    keptTo = to
  }
  for (let i = nextOf(wanted, data, 0); i < data.length; i = nextOf(wanted, data, i + 1)) {
    const byte = data[i]
    if (byte === quote) {
      const end = closing(data, i + 1)
      if (goneFrom === -1 && end - i > stringBytesMax) cut(i + 1, end)
      i = end
    } else if (byte === comma) {
      elements[depth] = (elements[depth] as number) + 1
      if ((elements[depth] as number) < elementsMax) continue
      goneFrom = i
      goneDepth = depth
      wanted = inObject
    } else if (byte === openArray || byte === openObject) {
      depth++
      if (goneFrom !== -1) continue
      // Of an object nothing is counted.
      elements[depth] = byte === openArray ? 0 : Number.NaN
      wanted = byte === openArray ? inList : inObject
      if (depth <= deepest) continue
      goneFrom = i + 1
      goneDepth = depth
      wanted = inObject
    } else {
      if (goneFrom !== -1 && depth === goneDepth) {
        cut(goneFrom, i)
        goneFrom = -1
      }
      depth = Math.max(0, depth - 1)
      if (goneFrom === -1) wanted = Number.isNaN(elements[depth]) || depth === 0 ? inObject : inList
    }
  }
  kept.push(data.subarray(keptTo))
  return Buffer.concat(kept)
}

function tableOf(bytes: readonly number[]): Uint8Array {
  const table = new Uint8Array(256)
  for (const byte of bytes) table[byte] = 1
  return table
}

function nextOf(wanted: Uint8Array, data: Buffer, from: number): number {
  let i = from
  while (i < data.length && wanted[data[i] as number] === 0) i++
  return i
}

/** The place of the quote that ends a string, or the end. */
function closing(data: Buffer, from: number): number {
  let i = nextOf(inString, data, from)
  while (i < data.length && data[i] === backslash) i = nextOf(inString, data, i + 2)
  return Math.min(i, data.length)
}
