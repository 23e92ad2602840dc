import type { Finding } from '../api/shapes.ts'
import { tFinding } from '../words/load-findings.ts'

/** What is wrong with a configuration, and what would be right; in the gateway's own words, too, where these say more. */
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
