import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Child, Role } from './storage.ts'

const childFile = fileURLToPath(new URL('./storage-child.ts', import.meta.url))

/** Runs `storage-child.ts` on a database in a process of its own. */
export function runChild(url: string, role: Role, job: string): Child {
  const given = [childFile, url, role, ...job.split(' ')]
  const child = spawn(process.execPath, given, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return {
    async line() {
      const { value, done } = await lines.next()
      if (done === true) throw new Error(`the child ended before its next line (${job})`)
      return value
    },
    async kill() {
      child.kill('SIGKILL')
      await ended
      // Unread output would keep this process alive.
      child.stdout.destroy()
    },
    signal(signal) {
      child.kill(signal)
    },
  }
}
