import { basename, dirname, relative, resolve } from 'node:path'
import type { KeptText, CompiledConfig } from '../domain/index.ts'
import type { PartTexts } from './compose/part-files.ts'
import type { SettingsFile } from './compose/include.ts'
import { showSourceFile } from './edit/shown-lines.ts'
import type { Secrets } from './secrets.ts'
import { showOwnText } from './show.ts'
import type { Source } from './source.ts'

/** Longer files, such as price tables, are listed by name only. */
const textBytesMax = 1024 * 1024
/** The limit of all files together. */
const allBytesMax = 4 * 1024 * 1024

type Read = {
  readonly source: Source
  readonly secrets: Secrets
  readonly sourceFiles: readonly Pick<SettingsFile, 'start' | 'text'>[]
  /** Includes price tables. */
  readonly parts: PartTexts
}

/** By plan: the texts are kept while their plan is in use, and are not read again. */
const readOf = new WeakMap<CompiledConfig, Read>()

/** Stores the texts of a plan for `shownTextsOf`. */
export function noteTexts(plan: CompiledConfig, { source, secrets, sourceFiles, parts }: Read): void {
  // Results that are computed from the texts are not kept.
  readOf.set(plan, { source, secrets, sourceFiles: sourceFiles.map(({ start, text }) => ({ start, text })), parts })
}

/**
 * The files of a plan without their secrets, the main one first; nothing for a plan that was not read from files.
 */
export function shownTextsOf(plan: CompiledConfig): readonly KeptText[] {
  const read = readOf.get(plan)
  if (!read) return []
  const { source, secrets, sourceFiles, parts } = read
  const main = resolve(source.file)
  const folder = dirname(main)
  const byPath = new Map(
    sourceFiles.map(sourceFile => [resolve(source.sourceFileOf(sourceFile.start).file), sourceFile]),
  )
  let left = allBytesMax
  const show = (path: string, given: string, write: () => string): KeptText => {
    const file = relative(folder, path) || basename(path)
    const bytes = Buffer.byteLength(given)
    if (bytes > Math.min(textBytesMax, left)) return { file, text: null }
    left -= bytes
    return { file, text: write() }
  }
  return [
    show(main, source.ownText, () => showOwnText(source.ownText, secrets)),
    ...Object.entries(parts)
      .filter(([path]) => path !== main)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([path, text]) => {
        const sourceFile = byPath.get(path)
        return show(path, text, () =>
          sourceFile
            ? showSourceFile(sourceFile, secrets)
                .map(line => line.text)
                .join('\n')
            : secrets.maskAmongText(text),
        )
      }),
  ]
}
