import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'

/** Where the first of these programs is that runs here, looked for in the PATH; undefined for none. */
export function findProgram(...names: readonly string[]): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const all = names.flatMap(name => (isAbsolute(name) ? [name] : folders.map(folder => join(folder, name))))
  return all.find(path => existsSync(path) && runs(path))
}

function runs(path: string): boolean {
  try {
    execFileSync(path, ['--version', '--no-sandbox'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
