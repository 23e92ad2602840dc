import type { ChildProcess } from 'node:child_process'

/**
 * Closes the last connection that a worker was sent if the worker is killed: Node closes it only once it is accepted, so
 * its client would wait forever. A worker gets the next connection only after it has accepted or refused the last one.
 * One that ends by itself has refused it, so that it is for another worker.
 */
export function closeLost(child: ChildProcess): void {
  const send = child.send.bind(child) as (...message: unknown[]) => boolean
  let last: { close(): void } | undefined
  child.send = (...message: unknown[]) => {
    // Our own messages have no second argument; that of Node's is a connection.
    last = (message[1] as typeof last) ?? last
    return send(...message)
  }
  child.once('exit', (_, signal) => {
    // Closing one again has no effect.
    if (signal !== null) last?.close()
  })
}
