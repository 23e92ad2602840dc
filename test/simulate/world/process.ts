import { AsyncLocalStorage } from 'node:async_hooks'

import type { Happening } from './happening.ts'

/** A resource that can be destroyed with its process. */
type Held = { crash(): void }

/** A process of the world: its events stop when it is dead. */
export class Process {
  readonly name: string
  dead = false
  /** Runs nothing; events due meanwhile are due when it resumes (`Time.thaw`). */
  frozen = false
  readonly missed: Happening<Process>[] = []
  /** The difference of its wall clock from the world's, in milliseconds. */
  skewMs = 0
  readonly sockets = new Set<Held>()

  constructor(name: string) {
    this.name = name
  }

  /** Stops it between two instructions: none of its code runs again, and its peers notice. */
  crash(): void {
    this.dead = true
    for (const socket of this.sockets) socket.crash()
    this.sockets.clear()
  }
}

const running = new AsyncLocalStorage<Process>()

/** The process whose code is running; undefined for the world's own. */
export function runningProcess(): Process | undefined {
  return running.getStore()
}

export function runAs<T>(process: Process | undefined, run: () => T): T {
  return process ? running.run(process, run) : running.exit(run)
}
