import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

const tries = 5

/** A server exited before it responded: most likely another process took its port. */
export class EndedEarly extends Error {}

/** A port that is free now. Another process may take it before it is used. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Starts a server on a free port, and on another one if it exits early. @throws any other error of `start` */
export async function onFreePort<T>(start: (port: number) => Promise<T>, find = freePort): Promise<T> {
  for (let left = tries; ; left--) {
    try {
      return await start(await find())
    } catch (error) {
      if (!(error instanceof EndedEarly) || left === 1) throw error
    }
  }
}
