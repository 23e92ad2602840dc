import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { Histogram, Step } from '../api/shapes.ts'
import { roundBelow } from '../numbers.ts'
import { theme } from '../theme.ts'
import { viewerZone } from '../zone.ts'
import { language, t } from '../words/index.ts'
import { Table } from './table.tsx'
import { Time } from './time.tsx'

const heightPx = 76

/** Requests and errors over time as bars, and the same as a table for screen readers. */
export function Chart({ of, label }: { readonly of: Histogram; readonly label: string }) {
  const { steps, since, until, step_ms: stepMs } = of
  const place = useRef<HTMLDivElement>(null)
  const [turn, setTurn] = useState(0)
  const shownTheme = theme.value
  const shownLanguage = language.value
  useEffect(() => {
    const box = place.current
    if (!box || steps.length === 0) return undefined
    const plot = draw(box, steps, [Date.parse(since) / 1000, (Date.parse(until) + stepMs) / 1000], stepMs / 1000)
    // The canvas does not follow the system's theme automatically.
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const again = () => setTurn(before => before + 1)
    dark.addEventListener('change', again)
    const resize = new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: heightPx }))
    resize.observe(box)
    return () => {
      dark.removeEventListener('change', again)
      resize.disconnect()
      plot.destroy()
    }
  }, [steps, since, until, stepMs, shownTheme, shownLanguage, turn])
  return (
    <figure class="chart">
      <figcaption>
        <strong>{label}</strong> <Time at={since} /> – <Time at={until} />{' '}
        <span class="quiet">{t('filter.zone', { zone: viewerZone() })}</span>
      </figcaption>
      <div ref={place} class="chart-place" aria-hidden="true" />
      <details>
        <summary>{t('chart.table')}</summary>
        <Table
          label={label}
          rows={steps.filter(step => step.requests > 0)}
          rowKey={step => step.from}
          columns={[
            { head: t('time'), cell: step => <Time at={step.from} /> },
            { head: t('requests'), cell: step => step.requests, numeric: true },
            { head: t('errors'), cell: step => step.errors, numeric: true },
          ]}
        />
      </details>
    </figure>
  )
}

/** The share of a step that its bar fills, and the width of the axes in pixels. */
const fill = 0.75
const axesPx = 70

function draw(box: HTMLElement, steps: readonly Step[], span: [number, number], stepS: number): uPlot {
  const style = getComputedStyle(box)
  const colour = (name: string) => style.getPropertyValue(name)
  const barPx = Math.max(2, ((box.clientWidth - axesPx) * stepS * fill) / (span[1] - span[0]))
  const bars = uPlot.paths.bars?.({ size: [fill, barPx, barPx], align: 1 })
  const axis = { stroke: style.color, ticks: { show: false }, font: '12px system-ui' }
  const series = (label: string, fillColour: string) => ({
    label,
    fill: fillColour,
    width: 0,
    points: { show: false },
    ...(bars && { paths: bars }),
  })
  return new uPlot(
    {
      width: box.clientWidth,
      height: heightPx,
      cursor: { show: false },
      legend: { show: false },
      scales: { x: { range: span }, y: { range: (_, __, max) => [0, Math.max(max, 4) * 1.05] } },
      axes: [
        {
          ...axis,
          grid: { show: false },
          space: 90,
          size: 24,
          values: (_, ticks) => ticks.map(tick => tickText(tick, span)),
        },
        {
          ...axis,
          grid: { stroke: colour('border-top-color'), width: 1 },
          size: 44,
          splits: (_, __, ___, max) => [0, roundBelow(max)],
        },
      ],
      // The browser resolves light-dark() only in real properties, so the colours are read from there.
      series: [
        {},
        series(t('requests'), colour('outline-color')),
        series(t('errors'), colour('text-decoration-color')),
      ],
    },
    [steps.map(step => Date.parse(step.from) / 1000), steps.map(step => step.requests), steps.map(step => step.errors)],
    box,
  )
}

const dayS = 86_400

/** The label of a tick: the day, or the hour in ranges of less than two days. */
function tickText(tick: number, [since, until]: [number, number]): string {
  const short = until - since < 2 * dayS
  return new Date(tick * 1000).toLocaleString(
    language.value === 'zh' ? 'zh-CN' : 'en-GB',
    short ? { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } : { month: 'short', day: 'numeric' },
  )
}
