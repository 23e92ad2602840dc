import { type UpstreamResponse, sniff } from '../../src/plugin-api/index.ts'
import type { PictureWriter } from '../../src/wire/index.ts'
import { undescribed } from './errors.ts'
import { toBase64 } from './to-base64.ts'
import { withCheckedEnd } from './check-picture-end.ts'

/** Enough bytes to detect the format of a picture. */
const headBytes = 16

/**
 * Passes an answer that is the picture itself to the writer as base64, piece by piece.
 * @throws Failure upstream_answer_undescribed if it is not a picture, upstream_answer_unreadable if nothing shows that
 * it is complete
 */
export async function* readBytes(response: UpstreamResponse, writer: PictureWriter): AsyncGenerator<void> {
  let isOpen = false
  for await (const piece of toBase64(
    checked(response.endUnknown === true ? withCheckedEnd(response.body) : response.body),
  )) {
    if (!isOpen) writer.open()
    isOpen = true
    writer.piece(piece)
    yield
  }
  writer.close({ size: undefined, texts: [] })
}

async function* checked(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let head: Buffer | undefined = Buffer.alloc(0)
  for await (const chunk of body) {
    if (head === undefined) {
      yield chunk
      continue
    }
    head = Buffer.concat([head, chunk])
    if (head.length < headBytes) continue
    checkPicture(head)
    yield head
    head = undefined
  }
  if (head === undefined) return
  checkPicture(head)
  yield head
}

function checkPicture(head: Buffer): void {
  if (!sniff(head).type.startsWith('image/')) throw undescribed('bytes that are no picture')
}
