import { phasesOf } from '../../../domain/phases.ts'
import type { LogRecord } from '../../api/shapes.ts'
import { duration } from '../../numbers.ts'
import { translate } from '../../words/index.ts'

/** The minimum width, in percent of the bar, which an instant gets too. */
const least = 0.8

/** The phases of a request, one below the other, at their times. */
export function Waterfall({ of }: { readonly of: LogRecord }) {
  const phases = phasesOf(of)
  const all = Math.max(of.duration_ms, 1)
  if (phases.length === 0) return null
  return (
    <ol class="waterfall">
      {phases.map(({ name, from, ms }) => {
        const start = Math.min((from / all) * 100, 100 - least)
        return (
          <li key={name}>
            <span>{translate(`phase.${name}`)}</span>
            <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
              <rect class="track" x={0} y={0} width={100} height={10} />
              <rect x={start} y={0} width={Math.max(Math.min((ms / all) * 100, 100 - start), least)} height={10} />
            </svg>
            <span class="numeric">{duration(ms)}</span>
          </li>
        )
      })}
    </ol>
  )
}
