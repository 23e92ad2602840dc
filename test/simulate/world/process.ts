import { AsyncLocalStorage } from 'node:async_hooks'

import type { Happening } from './happening.ts'

/** Something that can be destroyed with its process. */
type Held = { crash(): void }

/** A process of the world: what happens for it stops happening when it is dead. */
export class Process {
  readonly name: string
  dead = false
  /** Nothing of it runs; what is due meanwhile is due when it is thawed (`Time.thaw`). */
  frozen = false
  readonly missed: Happening<Process>[] = []
  /** By how much its clock on the wall is wrong beside the world's, in milliseconds. */
  skewMs = 0
  readonly sockets = new Set<Held>()

  constructor(name: string) {
    this.name = name
  }

  /** It stops between two instructions: nothing of it runs again, and its peers find out. */
  crash(): void {
    this.dead = true
    for (const socket of this.sockets) socket.crash()
    this.sockets.clear()
  }
}

const running = new AsyncLocalStorage<Process>()

/** Whose code runs; undefined for the world's own. */
export function runningProcess(): Process | undefined {
  return running.getStore()
}

export function runAs<T>(process: Process | undefined, run: () => T): T {
  return process ? running.run(process, run) : running.exit(run)
}
