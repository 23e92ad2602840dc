import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { Step } from '../api/shapes.ts'
import { theme } from '../theme.ts'
import { language, t } from '../words/index.ts'
import { Table } from './table.tsx'
import { Time } from './time.tsx'

const heightPx = 168

/** Requests and errors over time as bars, and the same as a table for whoever reads rather than looks. */
export function Chart({
  steps,
  since,
  until,
  label,
}: {
  readonly steps: readonly Step[]
  readonly since: string
  readonly until: string
  readonly label: string
}) {
  const place = useRef<HTMLDivElement>(null)
  const shownTheme = theme.value
  const shownLanguage = language.value
  useEffect(() => {
    const box = place.current
    if (!box || steps.length === 0) return undefined
    const plot = draw(box, steps, [Date.parse(since) / 1000, Date.parse(until) / 1000])
    const resize = new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: heightPx }))
    resize.observe(box)
    return () => {
      resize.disconnect()
      plot.destroy()
    }
  }, [steps, since, until, shownTheme, shownLanguage])
  return (
    <figure class="chart">
      <figcaption>{label}</figcaption>
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

function draw(box: HTMLElement, steps: readonly Step[], span: [number, number]): uPlot {
  const style = getComputedStyle(box)
  const colour = (name: string) => style.getPropertyValue(name)
  // The browser resolves light-dark() for a real property only.
  const ink = style.color
  const bars = uPlot.paths.bars?.({ size: [0.7, 32], align: 1 })
  const axis = {
    stroke: ink,
    grid: { stroke: colour('border-top-color'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui',
  }
  return new uPlot(
    {
      width: box.clientWidth,
      height: heightPx,
      cursor: { show: false },
      legend: { show: false },
      scales: { x: { range: span }, y: { range: (_, __, max) => [0, Math.max(max, 4) * 1.05] } },
      axes: [
        { ...axis, grid: { show: false }, space: 70 },
        { ...axis, size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6, 1e7] },
      ],
      series: [
        {},
        {
          label: t('requests'),
          fill: colour('outline-color'),
          stroke: 'transparent',
          ...(bars && { paths: bars }),
          points: { show: false },
        },
        {
          label: t('errors'),
          fill: colour('text-decoration-color'),
          stroke: 'transparent',
          ...(bars && { paths: bars }),
          points: { show: false },
        },
      ],
    },
    [steps.map(step => Date.parse(step.from) / 1000), steps.map(step => step.requests), steps.map(step => step.errors)],
    box,
  )
}
