import { hostname } from 'node:os'

/** The name of this process in messages: its host and its process id. */
export function processName(): string {
  return `${hostname()}:${process.pid}`
}
