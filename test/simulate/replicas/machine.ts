import net from 'node:net'
import { syncBuiltinESMExports } from 'node:module'
import { installMachine } from './globals.ts'
import { runningProcess } from '../world/process.ts'
import type { World } from '../world/world.ts'
import type { Stores } from './stores.ts'

/**
 * Replaces the machine by a world with several gateways and their servers. Call it before importing anything of a
 * gateway.
 */
export function installReplicas(world: World, stores: Stores): void {
  installMachine({ time: world.time, random: world.random })
  world.time.quiet = () => stores.quiet()
  Date.now = () => Math.floor(world.time.wall + (runningProcess()?.skewMs ?? 0))
  const Real = net.Socket
  // PostgreSQL's client creates its socket first and connects it later; no other code creates one without options.
  const sockets = new Proxy(Real, {
    construct: (target, given: readonly unknown[]) =>
      given[0] === undefined ? stores.createSocket() : new target(given[0] as net.SocketConstructorOpts),
  })
  Object.assign(net, {
    Socket: sockets,
    createConnection: (options: { readonly port: number }) =>
      (stores.createSocket() as unknown as { connect(port: number): net.Socket }).connect(options.port),
  })
  syncBuiltinESMExports()
}
