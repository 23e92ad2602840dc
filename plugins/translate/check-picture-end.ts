import { sniff } from '../../src/plugin-api/index.ts'
import { fail } from './errors.ts'

/** More bytes than any format ends with, and enough to detect it. */
const keptBytes = 16

/**
 * Passes a picture whose end is only marked by the end of the connection: half a picture would look complete.
 * @throws Failure upstream_answer_unreadable, after its last byte, if it does not end as its format does
 */
export async function* withCheckedEnd(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let head: Buffer = Buffer.alloc(0)
  let tail: Buffer = Buffer.alloc(0)
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (head.length < keptBytes) head = Buffer.concat([head, chunk.subarray(0, keptBytes - head.length)])
    tail = Buffer.concat([tail, chunk.subarray(-keptBytes)]).subarray(-keptBytes)
    yield chunk
  }
  if (!endsWell(head, tail, bytes))
    throw fail('upstream_answer_unreadable', { why: 'nothing says that its picture is whole' })
}

function endsWell(head: Buffer, tail: Buffer, bytes: number): boolean {
  const { type } = sniff(head)
  const end = tail.toString('latin1')
  if (type === 'image/png') return end.endsWith('IEND\xae\x42\x60\x82')
  if (type === 'image/jpeg') return end.endsWith('\xff\xd9')
  if (type === 'image/gif') return end.endsWith(';')
  return type === 'image/webp' && head.readUInt32LE(4) + 8 <= bytes
}
