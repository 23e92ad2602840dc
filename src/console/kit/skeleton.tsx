import { t } from '../words/index.ts'

/** The outline of a page, from top to bottom: lines of text, a chart, figures, a heading, rows of a table. */
const shapes = {
  line: ['line'],
  lines: ['line', 'line', 'line'],
  bars: ['bars'],
  chart: ['card'],
  rows: ['rows'],
  costs: ['figures', 'card', 'rows'],
  page: ['heading', 'rows'],
} as const

export type Shape = keyof typeof shapes

const figures = 3
const rows = 8

/** A placeholder of about the final size, so that nothing moves when the content is shown. */
export function Skeleton({ shape = 'lines' }: { readonly shape?: Shape }) {
  return (
    <div class="loading" role="status">
      <span class="unseen">{t('loading')}</span>
      {shapes[shape].map((piece, i) => (
        <div key={i} class={`ghost ${piece}`} aria-hidden="true">
          {Array.from({ length: { rows, figures, card: 1 }[piece as string] ?? 0 }, (_, at) => (
            <div key={at} />
          ))}
        </div>
      ))}
    </div>
  )
}
