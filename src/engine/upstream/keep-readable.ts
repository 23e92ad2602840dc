import type { Socket } from 'node:net'

type WriteCallback = (error?: Error | null) => void

/** The other side reads no more; its answer may still be in the receive buffer. */
const deaf: ReadonlySet<string | undefined> = new Set(['EPIPE', 'ECONNRESET'])

/**
 * Keeps a socket readable after a write on it has failed: an upstream that answers early and closes (413 while we
 * upload) has its answer waiting. Reading ends the socket soon.
 * @param onDeaf called for each lost write
 */
export function keepReadable(socket: Socket, onDeaf: () => void): void {
  let last: WriteCallback | undefined
  let patient: WriteCallback | undefined
  // A stream always passes the same function, so that one closure serves all writes.
  const swallow = (done: WriteCallback): WriteCallback => {
    if (patient && last === done) return patient
    last = done
    patient = error => {
      if (!error || !deaf.has((error as NodeJS.ErrnoException).code)) return done(error)
      onDeaf()
      done()
    }
    return patient
  }
  const write = socket._write.bind(socket)
  socket._write = (chunk, encoding, done) => write(chunk, encoding, swallow(done))
  const writev = socket._writev?.bind(socket)
  if (writev) socket._writev = (chunks, done) => writev(chunks, swallow(done))
}
