import type { Socket } from 'node:net'

type WriteCallback = (error?: Error | null) => void

/** The other side reads no more; what it has said may lie in the receive buffer still. */
const deaf: ReadonlySet<string | undefined> = new Set(['EPIPE', 'ECONNRESET'])

/**
 * Keeps a socket readable after a write on it has failed: an upstream that answers early and closes (413 while we upload)
 * has its answer waiting. Reading ends the socket soon enough.
 * @param onDeaf called for each write that was lost so
 */
export function makePatient(socket: Socket, onDeaf: () => void): void {
  let last: WriteCallback | undefined
  let patient: WriteCallback | undefined
  // A stream calls with one and the same function, so that one closure does for all writes.
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
