import type { Finding } from '../../api/shapes.ts'
import { FindingText } from '../../kit/finding-text.tsx'
import { Status } from '../../kit/status.tsx'

const tones = {
  error: { note: 'bad', status: 'bad' },
  warning: { note: 'warn', status: 'warn' },
  note: { note: '', status: 'idle' },
} as const

/** Findings of a configuration: the problem, its position, and the remedy. */
export function Findings({
  of,
  linked = true,
}: {
  readonly of: readonly Finding[]
  /** Whether the page shows the text with the findings. */
  readonly linked?: boolean
}) {
  if (of.length === 0) return null
  return (
    <ul class="bare notes">
      {of.map((finding, i) => (
        <li key={i} class={`note ${tones[finding.severity].note}`}>
          <span class="inline">
            <Status name={finding.severity} tone={tones[finding.severity].status} />
            {linked ? <a href={`#L${finding.line}`}>{placeOf(finding)}</a> : <code>{placeOf(finding)}</code>}
            {finding.path && <code class="theirs">{finding.path}</code>}
          </span>
          <FindingText of={finding} />
        </li>
      ))}
    </ul>
  )
}

function placeOf({ line, col }: Finding): string {
  return `${line}:${col}`
}
