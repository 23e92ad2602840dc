import type { Finding } from '../../api/shapes.ts'
import { Status } from '../../kit/status.tsx'

/** What is wrong with a configuration, where, and what would be right. */
export function Findings({ of }: { readonly of: readonly Finding[] }) {
  if (of.length === 0) return null
  return (
    <ul class="bare notes">
      {of.map((finding, i) => (
        <li key={i} class={`note ${finding.severity === 'error' ? 'bad' : 'warn'}`}>
          <span class="inline">
            <Status name={finding.severity} tone={finding.severity === 'error' ? 'bad' : 'warn'} />
            {finding.line !== null && (
              <a href={`#L${finding.line}`}>
                {finding.line}
                {finding.col !== null && `:${finding.col}`}
              </a>
            )}
            {finding.path && <code class="theirs">{finding.path}</code>}
          </span>
          <p class="theirs">{finding.message}</p>
          {finding.remedy && <p class="theirs quiet">{finding.remedy}</p>}
        </li>
      ))}
    </ul>
  )
}
