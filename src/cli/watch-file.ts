import { lstatSync, readFileSync, watch } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { say } from './exit.ts'

const restMs = 200

/** Calls when the file's content has changed and has been at rest for a moment; editors write in several steps. */
export function watchFile(file: string, onChange: () => void): void {
  const path = resolve(file)
  const read = (): string | undefined => {
    try {
      return readFileSync(path, 'utf8')
    } catch {
      return undefined
    }
  }
  let known = read()
  let rest: NodeJS.Timeout | undefined
  const look = (): void => {
    rest = undefined
    const text = read()
    // Between two steps of an editor the file may be gone or empty; what is there at rest counts.
    if (text === undefined || text === known) return
    known = text
    onChange()
  }
  try {
    // The folder is watched, not the file: an editor that replaces the file would end a watch on it.
    watch(dirname(path), { persistent: false }, (_event, name) => {
      const isOwn = name === null || name === basename(path)
      // What a link leads to may change under another name: Kubernetes swaps a folder beside it. A busy neighbour does
      // not put the look off.
      if (!isOwn && (rest !== undefined || !isLink(path))) return
      clearTimeout(rest)
      rest = setTimeout(look, restMs)
    })
  } catch (error) {
    say(`changes of ${file} are not noticed by themselves (${String(error)}); SIGHUP reloads`)
  }
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
}
