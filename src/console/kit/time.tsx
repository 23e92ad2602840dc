import { language } from '../words/index.ts'

/** A moment in the reader's own time; UTC when pointed at. */
export function Time({ at, seconds = false }: { readonly at: string | null; readonly seconds?: boolean }) {
  if (at === null) return <>–</>
  const moment = new Date(at)
  if (Number.isNaN(moment.getTime())) return <>{at}</>
  const text = new Intl.DateTimeFormat(language.value === 'zh' ? 'zh-CN' : 'en-GB', {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    ...(seconds && { second: '2-digit' }),
    hourCycle: 'h23',
  }).format(moment)
  return (
    <time dateTime={moment.toISOString()} title={moment.toISOString().replace('T', ' ').replace('Z', ' UTC')}>
      {text}
    </time>
  )
}
