import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'

/** The paths of programs with these names in the PATH, in order; a name with a path is only looked up there. */
export function standing(...names: readonly string[]): readonly string[] {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const all = names.flatMap(name => (isAbsolute(name) ? [name] : folders.map(folder => join(folder, name))))
  return all.filter(existsSync)
}

/** The first of these programs that runs on this machine; undefined for none. */
export function findProgram(...names: readonly string[]): string | undefined {
  return standing(...names).find(runs)
}

function runs(path: string): boolean {
  try {
    execFileSync(path, ['--version', '--no-sandbox'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
