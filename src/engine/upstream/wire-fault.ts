/** An upstream's data is not valid HTTP/1.1. */
export class WireFault extends Error {
  override readonly name = 'WireFault'
}

/** The connection ended before the answer did. */
export class ConnectionClosed extends Error {
  override readonly name = 'ConnectionClosed'

  constructor() {
    super('the connection was closed')
  }
}

/** All connections are in use, and too many requests wait for one, or have waited for too long. */
export class QueueFull extends Error {
  override readonly name = 'QueueFull'
  /** The estimated time in which all waiting requests will be served, in milliseconds. */
  readonly againMs: number | undefined

  constructor(againMs?: number) {
    super()
    this.againMs = againMs
  }
}

/** A request that cannot be written: a fault of its creator. */
export class UnsendableRequest extends Error {
  override readonly name = 'UnsendableRequest'
}
