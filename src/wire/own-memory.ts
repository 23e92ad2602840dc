/** A smaller chunk may be a slice of shared memory, such as Node's pool, and is left to the garbage collector. */
const freedBytesMin = 16_384

/** Whether a chunk is large and is all of its memory. */
export function ownsMemory(chunk: Buffer): boolean {
  return chunk.length >= freedBytesMin && chunk.length === chunk.buffer.byteLength
}

/**
 * Frees a chunk's memory, if the chunk is all of it; code that still has the chunk finds it empty. Otherwise the
 * garbage collector counts passing data as growth of the heap, and each 90 MB of it cause a full collection: half the
 * CPU of an answer of 22 MB.
 */
export function freeMemory(chunk: Buffer): void {
  if (ownsMemory(chunk)) (chunk.buffer as ArrayBuffer).transfer(0)
}
