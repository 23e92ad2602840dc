import { momentText } from '../words/moment.ts'

/** A moment in the reader's own time; the tooltip has UTC. */
export function Time({ at, seconds = false }: { readonly at: string | null; readonly seconds?: boolean }) {
  if (at === null) return <>–</>
  const moment = new Date(at)
  if (Number.isNaN(moment.getTime())) return <>{at}</>
  return (
    <time dateTime={moment.toISOString()} title={moment.toISOString().replace('T', ' ').replace('Z', ' UTC')}>
      {momentText(moment, seconds)}
    </time>
  )
}
