import { createHash } from 'node:crypto'
import { globSync, readFileSync, statSync } from 'node:fs'
import { glob, stat } from 'node:fs/promises'
import { resolve } from 'node:path'

const lookMs = 250

/** Further files of a configuration, and patterns that others may match. */
export type Belonging = { readonly named: readonly string[]; readonly patterns: readonly string[] }

/**
 * Calls `onChange` when the content of a file, or of a file that belongs to it, has changed and then stayed the same
 * for a moment; editors write in several steps. The returned function sets the files that belong to it now.
 *
 * The files are polled instead of watched: a watch does not follow links and moved folders, and receives no events from
 * some network disks.
 */
export function watchFile(file: string, onChange: () => void): (belonging: Belonging) => void {
  const path = resolve(file)
  let belonging: Belonging = { named: [], patterns: [] }
  let seen = ''
  let isAtRest = true

  const readAll = () => {
    const all = [path, ...belonging.named, ...belonging.patterns.flatMap(one => globSync(one))]
    return new Map(all.map(one => [one, one === path ? readText(one) : digest(readText(one))]))
  }
  let known: ReadonlyMap<string, string | undefined> = readAll()

  const compare = (): void => {
    const now = readAll()
    // Between two steps of an editor the file may be missing or empty; only the content at rest counts.
    if (now.get(path) === undefined || isSame(now, known)) return
    known = now
    onChange()
  }

  const look = async (): Promise<void> => {
    const now = await stampsOf([path, ...belonging.named], belonging.patterns)
    if (now !== seen) isAtRest = false
    else if (!isAtRest) {
      isAtRest = true
      compare()
    }
    seen = now
  }
  // A folder that cannot be read is read again at the next look.
  const tryLook = (): void =>
    void look()
      .catch(() => undefined)
      .finally(lookSoon)
  const lookSoon = (): void => void setTimeout(tryLook, lookMs).unref()

  lookSoon()
  return now => {
    belonging = now
    const before = known
    // Changes that were saved during the read count as new.
    known = new Map([...readAll()].map(([one, own]) => [one, before.has(one) ? before.get(one) : own]))
    isAtRest = false
  }
}

/** The identity, size and times of files; they change with each write and replacement. */
async function stampsOf(named: readonly string[], patterns: readonly string[]): Promise<string> {
  const all = [...named]
  for (const pattern of patterns) for await (const one of glob(pattern)) all.push(one)
  const stamps = await Promise.all(
    all.map(async one => {
      const facts = await stat(one, { bigint: true }).catch(() => undefined)
      return facts ? [one, facts.dev, facts.ino, facts.size, facts.mtimeNs, facts.ctimeNs].join(' ') : one
    }),
  )
  return stamps.join('\n')
}

/** Empty for a pipe, a device or a folder in the place of the file: reading it may block. */
function readText(path: string): string | undefined {
  try {
    if (!statSync(path).isFile()) return ''
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
