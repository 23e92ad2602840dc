import type { Finding } from '../api/shapes.ts'
import { tFinding } from '../words/load-findings.ts'

/** A finding of a configuration with its remedy; also in the gateway's own words, if these have more detail. */
export function FindingText({ of }: { readonly of: Finding }) {
  const { message, remedy, original } = tFinding(of)
  return (
    <>
      <p class="theirs">{message}</p>
      {remedy !== null && <p class="theirs quiet">{remedy}</p>}
      {original !== null && (
        <p class="theirs quiet" lang="en">
          {original}
        </p>
      )}
    </>
  )
}
