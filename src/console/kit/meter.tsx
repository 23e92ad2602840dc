/** From this percentage on, a bar is nearly full: the same for every bar. */
const nearPercent = 80n

/** The colour of a bar: red if nothing is left, yellow from 80 percent on. */
function toneOf(taken: bigint, whole: bigint): 'idle' | 'warn' | 'bad' {
  if (taken >= whole) return 'bad'
  return taken * 100n >= whole * nearPercent ? 'warn' : 'idle'
}

/** The used part of a whole and its forecast, drawn next to the same figures. */
export function Meter({
  whole,
  used,
  held,
  forecast,
  tone = toneOf(used + held, whole),
}: {
  readonly whole: bigint
  readonly used: bigint
  readonly held: bigint
  readonly forecast: bigint | null
  /** For bars whose colour depends on more than the share. */
  readonly tone?: 'idle' | 'warn' | 'bad'
}) {
  const at = (part: bigint): number => {
    if (whole <= 0n) return part > 0n ? 100 : 0
    return Math.min(100, Number((part * 1000n) / whole) / 10)
  }
  const [usedAt, heldAt] = [at(used), at(used + held)]
  return (
    <svg class={`meter ${tone}`} viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="whole" width="100" height="8" />
      <rect class="held" x={usedAt} width={heldAt - usedAt} height="8" />
      <rect class="used" width={usedAt} height="8" />
      {forecast !== null && <rect class="forecast" x={Math.min(99, at(forecast))} width="0.8" height="8" />}
    </svg>
  )
}
