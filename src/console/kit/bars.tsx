import { useEffect, useRef, useState } from 'preact/hooks'
import { amountOf } from '../money.ts'
import { colourOf } from './swatch.tsx'

/** One bar: its label, its tooltip, and its parts from the bottom up. */
export type Bar = {
  readonly label: string
  readonly title: string
  readonly parts: readonly bigint[]
  readonly onPick: () => void
}

const heightPx = 220
const leftPx = 64
const bottomPx = 26
const topPx = 10
const labelPx = 76
const linesMost = 4

/** Amounts as stacked bars. A table next to them has the same amounts for screen readers. */
export function Bars({ of }: { readonly of: readonly Bar[] }) {
  const place = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const box = place.current
    if (!box) return undefined
    const measure = () => setWidth(box.clientWidth)
    measure()
    const resize = new ResizeObserver(measure)
    resize.observe(box)
    return () => resize.disconnect()
  }, [])
  return (
    <div ref={place} class="bars" aria-hidden="true">
      {width > leftPx && <Drawing of={of} width={width} />}
    </div>
  )
}

function Drawing({ of, width }: { readonly of: readonly Bar[]; readonly width: number }) {
  const sums = of.map(({ parts }) => parts.reduce((sum, part) => sum + part, 0n))
  const lines = linesFor(sums.reduce((most, sum) => (sum > most ? sum : most), 0n))
  const top = lines.at(-1) ?? 1n
  const room = heightPx - bottomPx - topPx
  // The drawing may be inexact; the text is not.
  const yOf = (micros: bigint) => topPx + room - (Number(micros) / Number(top)) * room
  const stepPx = (width - leftPx) / of.length
  const barPx = Math.max(1, Math.min(stepPx * 0.76, 56))
  const each = Math.max(1, Math.ceil(labelPx / stepPx))
  return (
    <svg width={width} height={heightPx} viewBox={`0 0 ${width} ${heightPx}`}>
      {lines.map(line => (
        <g key={String(line)}>
          <line class="grid" x1={leftPx} x2={width} y1={yOf(line)} y2={yOf(line)} />
          <text class="amount" x={leftPx - 8} y={yOf(line) + 4}>
            {amountOf(line).replace(/\.00$/, '')}
          </text>
        </g>
      ))}
      {of.map(({ label, title, parts, onPick }, i) => {
        const x = leftPx + i * stepPx + (stepPx - barPx) / 2
        let below = 0n
        return (
          <g key={i} class="bar" onClick={onPick}>
            <title>{title}</title>
            <rect class="reach" x={leftPx + i * stepPx} y={topPx} width={stepPx} height={room} />
            {parts.map((part, at) => {
              if (part <= 0n) return null
              const [from, to] = [yOf(below), yOf((below += part))]
              return <rect key={at} class={colourOf(at)} x={x} y={to} width={barPx} height={Math.max(from - to, 0.5)} />
            })}
            {i % each === 0 && (
              <text class="label" x={Math.min(leftPx + (i + 0.5) * stepPx, width - labelPx / 3)} y={heightPx - 8}>
                {label}
              </text>
            )}
          </g>
        )
      })}
    </svg>
  )
}

/** The amounts of the grid lines, from 0 on: round ones, of which the last is at least the maximum. */
function linesFor(most: bigint): readonly bigint[] {
  if (most === 0n) return [0n, 1_000_000n]
  let step = 1n
  for (let power = 10n; most > step * BigInt(linesMost); power *= 10n)
    step = [power / 5n, power / 2n, power].find(one => most <= one * BigInt(linesMost)) ?? power
  const count = (most + step - 1n) / step
  return Array.from({ length: Number(count) + 1 }, (_, i) => BigInt(i) * step)
}
