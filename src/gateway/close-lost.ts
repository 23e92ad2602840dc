import type { ChildProcess } from 'node:child_process'

/**
 * Closes the connections that a worker was sent and had not accepted when it ended: Node closes one only once it is
 * accepted, so its client would wait forever. A connection that a closing worker refused is for another worker.
 */
export function closeLost(child: ChildProcess): void {
  const sent = new Map<unknown, { close(): void }>()
  const send = child.send.bind(child) as (...message: unknown[]) => boolean
  child.send = (...message: unknown[]) => {
    const [{ seq }, connection] = message as [{ seq?: number }, { close(): void } | undefined]
    if (connection) sent.set(seq, connection)
    return send(...message)
  }
  child.on('internalMessage', ({ ack }: { ack?: number }) => sent.delete(ack))
  // Its last messages have arrived by then; `disconnect` is missing after a kill.
  child.once('exit', () => {
    for (const connection of sent.values()) connection.close()
  })
}
