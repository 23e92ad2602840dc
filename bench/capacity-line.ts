import { figure } from './figures.ts'

/** The state of a database after this many charges. Bytes are of a table with its indexes. */
export type Point = {
  readonly keys: number
  readonly charges: number
  readonly bytes: { readonly [table: string]: number }
  /** Of the largest tables. */
  readonly rows: { readonly [table: string]: number }
  /** Time to post the charges since the previous point, and to add up their costs. */
  readonly postSeconds: number
  readonly addUpSeconds: number
  /** One key by its id. */
  readonly lookupMicros: number
}

const sum = (bytes: Point['bytes']): number => Object.values(bytes).reduce((all, one) => all + one, 0)

/** One row a point: size, rates since the point before, lookup. */
export function describePoints(points: readonly Point[]): string {
  const lines = points.map((point, i) => {
    const added = point.charges - (points[i - 1]?.charges ?? 0)
    const cells = [
      point.charges,
      figure(sum(point.bytes) / 1e6),
      figure(added / point.postSeconds),
      figure(added / point.addUpSeconds),
      figure(point.lookupMicros),
    ]
    return `| ${cells.join(' | ')} |`
  })
  const head = ['| charges | MB | charges posted/s | charges added up/s | key lookup µs |', '|---|---|---|---|---|']
  return `${[...head, ...lines].join('\n')}\n`
}

/**
 * A table a row: bytes for each key and for each charge by the last two points, and the gigabytes at `goal` by the
 * straight line through them. Tables smaller than a thousandth of the whole are one row.
 */
export function lineThrough(
  points: readonly Point[],
  goal: { readonly keys: number; readonly charges: number },
): string {
  const [empty, before, last] = [points[0], points.at(-2), points.at(-1)]
  if (!empty || !before || !last || last.charges === before.charges) throw new Error('a line needs two points')
  const least = sum(last.bytes) / 1000
  const names = Object.keys(last.bytes).filter(name => (last.bytes[name] ?? 0) >= least)
  const other = (point: Point): number =>
    sum(point.bytes) - names.reduce((all, name) => all + (point.bytes[name] ?? 0), 0)
  const row = (name: string, of: (point: Point) => number): string => {
    const perCharge = (of(last) - of(before)) / (last.charges - before.charges)
    const perKey = of(empty) / empty.keys
    const gigabytes = (of(last) + perCharge * (goal.charges - last.charges) + perKey * (goal.keys - last.keys)) / 1e9
    const rows = last.rows[name]
    return `| ${name} | ${rows ?? '–'} | ${figure(of(last) / 1e6)} | ${figure(perKey)} | ${figure(perCharge)} | ${figure(gigabytes)} |`
  }
  const head = [
    `| table | rows | MB | bytes a key | bytes a charge | GB at ${goal.keys} keys, ${goal.charges} charges |`,
    '|---|---|---|---|---|---|',
  ]
  const each = names.map(name => row(name, point => point.bytes[name] ?? 0))
  return `${[...head, ...each, row('all others', other), row('together', point => sum(point.bytes))].join('\n')}\n`
}
