import type { QueryProgram } from '../query.ts'
import type { Connection } from './connect.ts'

const stepsTogether = 8

/**
 * Runs steps on a database that no other process uses: other work of this process, such as a progress report, runs in
 * between.
 */
export async function runInTurns<T>(connection: Connection, steps: QueryProgram<T>): Promise<T> {
  let next = steps.next()
  for (let turns = 1; next.done !== true; turns++) {
    next = steps.next(connection.all(next.value))
    if (turns % stepsTogether === 0) await new Promise(resolve => setImmediate(resolve))
  }
  return next.value
}
