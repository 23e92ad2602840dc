import { resolve } from 'node:path'
import { PartFiles } from '../compose/part-files.ts'
import type { SettingsFile } from '../compose/include.ts'
import type { Environment } from '../environment.ts'
import { readFilled } from '../read-filled.ts'
import { Report } from '../report.ts'
import { coverSpans, type Secrets } from '../secrets.ts'
import { Source } from '../source.ts'
import type { Span } from '../tree.ts'
import type { ConfigTexts } from './apply-edits.ts'
import type { ShownLine } from './show-diff.ts'

const cover = '•••'
const commentBegins = /(?<=^|\s)#/

/** The lines of a configuration's files with secrets redacted, by absolute path; other files are not shown. */
export async function shownLines(
  { file, text, parts }: ConfigTexts,
  env: Environment,
): Promise<ReadonlyMap<string, readonly ShownLine[]>> {
  const source = new Source(file, text.replace(/^\uFEFF/, ''))
  const read = await readFilled(source, env, new Report(source), { parts: new PartFiles(parts) })
  if (!read.written) return new Map()
  const { secrets, sourceFiles } = read
  return new Map(
    sourceFiles.map(sourceFile => [
      resolve(source.sourceFileOf(sourceFile.start).file),
      showSourceFile(sourceFile, secrets),
    ]),
  )
}

/** The lines of one file: `start` is its offset in the joined text of all files. */
export function showSourceFile(
  { start, text }: Pick<SettingsFile, 'start' | 'text'>,
  secrets: Secrets,
): readonly ShownLine[] {
  const { spans } = secrets
  let at = start
  let next = 0
  return text.split('\n').map(line => {
    const [from, to] = [at, at + line.length]
    at = to + 1
    const indented = Math.max(line.search(/\S/), 0)
    const own: Span[] = []
    for (let i = next; i < spans.length; i++) {
      const { start, end } = spans[i] as Span
      if (start >= to) break
      if (end <= from && i === next) next++
      const [first, last] = [Math.max(start - from, indented), Math.min(end, to) - from]
      if (first < last && /[^\s"'}]/.test(line.slice(first, last))) own.push({ start: first, end: last })
    }
    const open = coverSpans(line, own, () => cover)
    const comment = open.search(commentBegins)
    const code = comment === -1 ? open : open.slice(0, comment)
    // Values that are redacted by their place are not searched again. Comments have no places, so they are searched.
    const shown =
      amongCovers(code, part => secrets.maskAmongText(part)) +
      amongCovers(open.slice(code.length), part => secrets.mask(part))
    return { text: shown, covered: shown !== line }
  })
}

function amongCovers(text: string, mask: (part: string) => string): string {
  return text.split(cover).map(mask).join(cover)
}
