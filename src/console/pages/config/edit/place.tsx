import { useQuery } from '../../../query.ts'
import type { Entry } from './fields.ts'

/** The position of an entry: a file relative to the main one's folder; a position in the main file is a link. */
export function Place({
  of: { file, line },
  main,
  linked = true,
}: {
  readonly of: Entry
  readonly main: string
  /** False if leaving the page would lose typed text. */
  readonly linked?: boolean
}) {
  const { path } = useQuery()
  const folder = main.slice(0, main.lastIndexOf('/') + 1)
  const name = file.startsWith(folder) ? file.slice(folder.length) : file
  const place = (
    <code class="theirs">
      {name}:{line}
    </code>
  )
  return linked && file === main ? <a href={`${path}?tab=file&line=${line}`}>{place}</a> : place
}
