import { createHash } from 'node:crypto'
import { globSync, lstatSync, readFileSync, watch } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { say } from './exit.ts'

const restMs = 200

/** Further files of a configuration, and patterns that others may match. */
export type Belonging = { readonly named: readonly string[]; readonly patterns: readonly string[] }

/**
 * Calls `onChange` when the content of a file, or of a file that belongs to it, has changed and then stayed the same
 * for a moment; editors write in several steps. The returned function sets the files that belong to it now.
 */
export function watchFile(file: string, onChange: () => void): (belonging: Belonging) => void {
  const path = resolve(file)
  let belonging: Belonging = { named: [], patterns: [] }
  let known = new Map<string, string | undefined>()
  let rest: NodeJS.Timeout | undefined
  const watched = new Set<string>()

  const all = (): readonly string[] => [path, ...belonging.named, ...belonging.patterns.flatMap(one => globSync(one))]
  const readAll = () => new Map(all().map(one => [one, one === path ? readText(one) : digest(readText(one))]))

  const look = (): void => {
    rest = undefined
    const now = readAll()
    // Between two steps of an editor the file may be missing or empty; only the content at rest counts.
    if (now.get(path) === undefined || isSame(now, known)) return
    known = now
    onChange()
  }

  const lookSoon = (): void => {
    clearTimeout(rest)
    rest = setTimeout(look, restMs)
  }

  /** Watches the folder, not the file: an editor that replaces the file would end a watch on it. */
  const watchFolder = (folder: string): void => {
    if (watched.has(folder)) return
    try {
      watch(folder, { persistent: false }, (_event, name) => {
        const one = name === null ? undefined : resolve(folder, name)
        const isOwn =
          one === undefined || known.has(one) || belonging.patterns.some(pattern => folderOfPattern(pattern) === folder)
        // The target of a link may change under another name: Kubernetes replaces a folder next to it. Frequent changes
        // of other files do not postpone the check.
        if (!isOwn && (rest !== undefined || ![...known.keys()].some(own => dirname(own) === folder && isLink(own))))
          return
        lookSoon()
      })
      watched.add(folder)
    } catch (error) {
      say(`changes in ${folder} cannot be watched (${String(error)}); send SIGHUP to reload`)
      watched.add(folder)
    }
  }

  known = readAll()
  watchFolder(dirname(path))
  return now => {
    belonging = now
    const content = readAll()
    const before = known
    // Changes that were saved during the read count as new.
    known = new Map([...content].map(([one, own]) => [one, before.has(one) ? before.get(one) : own]))
    for (const one of content.keys()) watchFolder(dirname(one))
    for (const pattern of now.patterns) watchFolder(folderOfPattern(pattern))
    if (!isSame(content, known)) lookSoon()
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/** A digest instead of the text, because price tables may be long. */
function digest(text: string | undefined): string | undefined {
  return text === undefined ? undefined : createHash('sha256').update(text).digest('base64')
}

function isSame(one: ReadonlyMap<string, unknown>, other: ReadonlyMap<string, unknown>): boolean {
  return one.size === other.size && [...one].every(([key, value]) => other.has(key) && other.get(key) === value)
}

/** The part of a pattern's path before its first wildcard. */
function folderOfPattern(pattern: string): string {
  const parts = dirname(pattern).split('/')
  const wild = parts.findIndex(part => /[*?[{]/.test(part))
  return wild === -1 ? dirname(pattern) : parts.slice(0, wild).join('/') || '/'
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
}
