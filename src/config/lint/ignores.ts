import type { Token } from '../read-tokens.ts'
import type { Source } from '../source.ts'

/** `# tollgate-ignore: RULE reason`, at the end of a line or above it. */
export type Ignore = {
  readonly rules: readonly string[]
  readonly reason: string
  readonly file: string
  /** The lines to which it applies. */
  readonly lines: readonly number[]
  readonly at: number
}

const words = /^#\s*tollgate-ignore:\s*([\w-]+(?:\s*,\s*[\w-]+)*)(.*)/s

/** Every ignore comment of a file. */
export function readIgnores(tokens: readonly Token[], source: Source): readonly Ignore[] {
  const contents = tokens.filter(token => token.kind === 'value' || token.kind === 'mark')
  return tokens.flatMap(({ kind, text, at }) => {
    const match = kind === 'comment' ? words.exec(text) : null
    if (!match) return []
    const own = source.locate(at).line
    const isTrailing = contents.some(token => token.at < at && source.locate(token.at).line === own)
    const below = isTrailing ? undefined : contents.find(token => token.at > at)
    const lines = below ? [own, source.locate(below.at).line] : [own]
    return [
      {
        rules: (match[1] ?? '').split(',').map(rule => rule.trim()),
        reason: (match[2] ?? '').trim(),
        file: source.locate(at).file,
        lines,
        at,
      },
    ]
  })
}
