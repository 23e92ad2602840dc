/** What an upstream sent is not HTTP/1.1 as it should be. */
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
  /** All who wait now will have been served in so many milliseconds, as far as it is known. */
  readonly againMs: number | undefined

  constructor(againMs?: number) {
    super()
    this.againMs = againMs
  }
}

/** A request that cannot be written as it is: a fault of its maker. */
export class UnsendableRequest extends Error {
  override readonly name = 'UnsendableRequest'
}
