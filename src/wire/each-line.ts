import { setImmediate as nextTurn } from 'node:timers/promises'
import { joined } from './joined.ts'

const lineFeed = 0x0a
/** Bytes that are read in one turn of the event loop. */
const turnBytes = 262_144

/**
 * Calls back with each line that is not blank, in order. Long texts are read in several turns of the event loop.
 * @param tooLong is called for a line of more than `bytesMax`, and throws
 */
export async function eachLine(
  source: AsyncIterable<Buffer> | Iterable<Buffer>,
  { bytesMax, tooLong }: { readonly bytesMax: number; readonly tooLong: (line: number) => Error },
  onLine: (line: Buffer, number: number) => void | Promise<void>,
): Promise<void> {
  let pieces: Buffer[] = []
  let bytes = 0
  let number = 0
  let sinceTurn = 0
  const finish = async (): Promise<void> => {
    const line = joined(pieces, bytes)
    pieces = []
    bytes = 0
    number++
    if (line.every(byte => byte <= 0x20)) return
    await onLine(line, number)
    sinceTurn += line.length
    if (sinceTurn < turnBytes) return
    sinceTurn = 0
    await nextTurn()
  }
  for await (const chunk of source) {
    let from = 0
    for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, from)) {
      pieces.push(chunk.subarray(from, at))
      bytes += at - from
      await finish()
      from = at + 1
    }
    if (from === chunk.length) continue
    // The chunk's memory may be used again.
    pieces.push(Buffer.from(chunk.subarray(from)))
    bytes += chunk.length - from
    if (bytes > bytesMax) throw tooLong(number + 1)
  }
  if (bytes > 0) await finish()
}
