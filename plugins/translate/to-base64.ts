/**
 * Converts bytes to base64 as they pass: three bytes are four characters, so the joined pieces are the base64 of the
 * whole.
 */
export async function* toBase64(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const joined = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const whole = joined.length - (joined.length % 3)
    if (whole > 0) yield Buffer.from(joined.toString('base64', 0, whole), 'latin1')
    // The chunk may be lent memory, so the rest is copied.
    rest = Buffer.from(joined.subarray(whole))
  }
  if (rest.length > 0) yield Buffer.from(rest.toString('base64'), 'latin1')
}
