import { t } from '../words/index.ts'

/** Changed lines of a file with some context; line numbers count from 1. */
type Hunk = {
  readonly before: number
  readonly after: number
  readonly lines: readonly { readonly kind: 'same' | 'gone' | 'new'; readonly text: string }[]
}

const signs = { same: ' ', gone: '−', new: '+' } as const

/** The difference of files, each line with its number, a sign and, for screen readers, a word. */
export function Diff({ of }: { readonly of: readonly { readonly file: string; readonly hunks: readonly Hunk[] }[] }) {
  return (
    <div class="stack tight">
      {of.map(({ file, hunks }) => (
        <figure key={file}>
          <figcaption>
            <code class="theirs">{file}</code>
          </figcaption>
          <section class="yaml diff" tabIndex={0} aria-label={t('diff.of', { file })}>
            {hunks.map(hunk => (
              <ol key={`${hunk.before} ${hunk.after}`}>
                {numbered(hunk).map(({ kind, text, number }, i) => (
                  <li key={i} class={kind}>
                    <span aria-hidden="true">{number}</span>
                    <span aria-hidden="true">{signs[kind]}</span>
                    {kind === 'same' ? (
                      <span>{text}</span>
                    ) : (
                      <>
                        <span class="unseen">{t(`diff.${kind}`)} </span>
                        {kind === 'gone' ? <del>{text}</del> : <ins>{text}</ins>}
                      </>
                    )}
                  </li>
                ))}
              </ol>
            ))}
          </section>
        </figure>
      ))}
    </div>
  )
}

/** Each line with its number: the old one for a removed line, otherwise the new one. */
function numbered({ before, after, lines }: Hunk) {
  let [was, is] = [before, after]
  return lines.map(line => {
    const number = line.kind === 'gone' ? was : is
    if (line.kind !== 'new') was++
    if (line.kind !== 'gone') is++
    return { ...line, number }
  })
}
