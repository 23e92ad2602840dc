import { readFile } from 'node:fs/promises'
import { showBroken, showConfig } from '../config/index.ts'

/**
 * The address of a gateway's operators' listener on its own machine; undefined if the file has none. Reads the file as
 * far as possible, because a command may lack the gateway's secrets, and a gateway runs on when its file gets an error.
 */
export async function findOpsUrl(file: string, env: NodeJS.ProcessEnv = process.env): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const { origins } = await showConfig(file, text, env)
  const address =
    origins.length > 0
      ? origins.find(({ path }) => path === 'server.ops')?.value
      : showBroken(text, ['server', 'ops'], env)
  if (address === undefined || address === 'off' || address === 'false') return undefined
  return `http://${address.replace(/^(?:0\.0\.0\.0|\[::\]|\*)?:/, '127.0.0.1:')}`
}
