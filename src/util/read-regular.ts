import { readFile, stat } from 'node:fs/promises'

/**
 * Reads a file that may be read again. @throws the error of the system, or one with the code `ENOTFILE`: reading a pipe
 * may block and empties it, and a device has no end.
 */
export async function readRegular(path: string): Promise<string> {
  const facts = await stat(path)
  if (facts.isFile() || facts.isDirectory()) return readFile(path, 'utf8')
  throw Object.assign(new Error(`${path} is not a regular file`), { code: 'ENOTFILE' })
}
