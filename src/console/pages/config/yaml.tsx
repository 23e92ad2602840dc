import { useEffect, useRef } from 'preact/hooks'
import { t } from '../../words/index.ts'

/** Text with line numbers. `sought`: the line of the link's target. */
export function Yaml({
  text,
  wrong,
  sought = 0,
}: {
  readonly text: string
  readonly wrong: ReadonlySet<number>
  readonly sought?: number
}) {
  const box = useRef<HTMLElement>(null)
  useEffect(() => {
    box.current?.querySelector(`#L${sought}`)?.scrollIntoView({ block: 'center' })
  }, [sought])
  return (
    <section ref={box} class="yaml" tabIndex={0} aria-label={t('config.file')}>
      <ol translate={false}>
        {text.split('\n').map((line, i) => (
          <li key={i} id={`L${i + 1}`} class={wrong.has(i + 1) ? 'wrong' : i + 1 === sought ? 'sought' : ''}>
            <span aria-hidden="true">{i + 1}</span>
            <span>{line}</span>
          </li>
        ))}
      </ol>
    </section>
  )
}
