import { momentText } from '../words/moment.ts'

/** A moment in the reader's own time; the tooltip has UTC. */
export function Time({ at, seconds = false }: { readonly at: string | null; readonly seconds?: boolean }) {
  if (at === null) return <>–</>
  const moment = new Date(at)
  if (Number.isNaN(moment.getTime())) return <>{at}</>
  const text = momentText(moment, seconds)
  const end = text.lastIndexOf(' ')
  // In a narrow column the time is below the date, which stays whole.
  return (
    <time dateTime={moment.toISOString()} title={moment.toISOString().replace('T', ' ').replace('Z', ' UTC')}>
      <span class="whole">{text.slice(0, end)}</span>
      {text.slice(end)}
    </time>
  )
}
