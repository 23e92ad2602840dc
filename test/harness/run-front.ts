import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { EndedEarly } from './free-port.ts'

/** A folder for the files of a proxy, deleted with the test. */
export async function frontFolder(t: Pick<Test, 'teardown'>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-front-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Runs a proxy that listens on a port of 127.0.0.1, until the test ends. @throws EndedEarly */
export async function runFront(
  t: Pick<Test, 'teardown'>,
  port: number,
  program: string,
  args: readonly string[],
): Promise<void> {
  const child = spawn(program, args, { stdio: 'ignore' })
  const gone = once(child, 'exit')
  // When this process ends, so does the proxy.
  const end = (): void => void child.kill('SIGTERM')
  process.on('exit', end)
  t.teardown(async () => {
    process.off('exit', end)
    end()
    await gone
  })
  await answering(port, child)
}

/** Sends no request, because it would reach the servers of the proxy. */
async function answering(port: number, child: ChildProcess): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isOpen) return
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  throw new EndedEarly(`${child.spawnfile} ended with ${child.exitCode}`)
}
