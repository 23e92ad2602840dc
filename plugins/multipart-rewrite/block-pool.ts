/**
 * The bytes of one read or write of the disk: large, because a call through the thread pool costs as much as copying
 * 100 KiB, and no larger, because each upload has several: with 512 KiB, 64 uploads took 20 MB more and were not
 * faster.
 */
export const blockBytes = 256 * 1024
/** Free blocks for the next upload: 24 MiB. */
const sparesMax = 96

const spares: Buffer[] = []

/** Memory of `blockBytes`, with its earlier contents. */
export function takeBlock(): Buffer {
  return spares.pop() ?? Buffer.allocUnsafeSlow(blockBytes)
}

/**
 * Takes back a block of which no part is used elsewhere. If the garbage collector freed them, the blocks of 30 MB of
 * uploads would cause a full collection.
 */
export function giveBlock(block: Buffer): void {
  if (block.buffer.byteLength === blockBytes && spares.length < sparesMax) spares.push(Buffer.from(block.buffer))
}
