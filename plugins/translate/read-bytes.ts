import { type Heard, sniff } from '../../src/kit/index.ts'
import { fail } from './errors.ts'
import type { PictureWriter } from './picture-writer.ts'

/** Enough to tell what a picture is. */
const headBytes = 16

/** An answer that is the picture itself, written as base64 while it passes. @throws Failure upstream_answer_undescribed where it is none */
export async function* readBytes(heard: Heard, writer: PictureWriter): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  let isOpen = false
  for await (const chunk of heard.body) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    if (!isOpen) {
      if (rest.length < headBytes) continue
      checkPicture(rest)
      isOpen = true
      writer.open()
    }
    // Three bytes are four characters: pieces put together are the base64 of the whole.
    const whole = rest.length - (rest.length % 3)
    writer.piece(Buffer.from(rest.toString('base64', 0, whole), 'latin1'))
    rest = rest.subarray(whole)
    yield* writer.take()
  }
  if (!isOpen) checkPicture(rest)
  if (rest.length > 0) writer.piece(Buffer.from(rest.toString('base64'), 'latin1'))
  writer.close({ size: undefined, texts: [] })
  yield* writer.take()
}

function checkPicture(head: Buffer): void {
  if (!sniff(head).type.startsWith('image/'))
    throw fail('upstream_answer_undescribed', { shape: 'bytes that are no picture' })
}
