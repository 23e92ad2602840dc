import { readFile } from 'node:fs/promises'
import { showConfig } from '../config/index.ts'

/**
 * Where the gateway of a configuration listens for operators, as seen from its machine; undefined when the file says
 * none. Read from the file as far as it can be read: a command may lack the secrets that the gateway has.
 */
export async function findOpsUrl(file: string, env: NodeJS.ProcessEnv = process.env): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const { origins } = await showConfig(file, text, env)
  const address = origins.find(({ path }) => path === 'server.ops')?.value
  if (address === undefined || address === 'off' || address === 'false') return undefined
  return `http://${address.replace(/^(?:0\.0\.0\.0|\[::\]|\*)?:/, '127.0.0.1:')}`
}
