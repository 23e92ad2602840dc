import { momentText } from '../words/moment.ts'

/** A moment in the reader's time zone; the tooltip has UTC. `dayOnly`: only the date. */
export function Time({
  at,
  seconds = false,
  dayOnly = false,
}: {
  readonly at: string | null
  readonly seconds?: boolean
  readonly dayOnly?: boolean
}) {
  if (at === null) return <>–</>
  const moment = new Date(at)
  if (Number.isNaN(moment.getTime())) return <>{at}</>
  const text = momentText(moment, seconds)
  const end = text.lastIndexOf(' ')
  // In a narrow column, the time is below the date, which is never broken.
  return (
    <time dateTime={moment.toISOString()} title={moment.toISOString().replace('T', ' ').replace('Z', ' UTC')}>
      <span class="whole">{dayOnly ? text.slice(0, end).replace(/,$/, '') : text.slice(0, end)}</span>
      {!dayOnly && text.slice(end)}
    </time>
  )
}
