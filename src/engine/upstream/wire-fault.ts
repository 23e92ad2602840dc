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

/** A request that cannot be written as it is: a fault of whoever made it. */
export class UnsendableRequest extends Error {
  override readonly name = 'UnsendableRequest'
}
