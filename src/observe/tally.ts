/** Labels of one series, in the order of the family's label names. */
type Labels = readonly string[]

/** A metric in the shape that the exposition library takes over from another process. */
export type Snapshot = {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary'
  /** How values of several processes of one gateway are combined. */
  readonly aggregator: 'sum' | 'average' | 'max' | 'min'
  readonly values: readonly {
    readonly labels: { readonly [label: string]: string | number }
    readonly value: number
    readonly metricName?: string
  }[]
}

const seriesMax = 2000

/** A node of the tree of label values. */
type Place<Cell> = { readonly next: Map<string, Place<Cell>>; readonly cells: Map<string, Cell> }

function createPlace<Cell>(): Place<Cell> {
  return { next: new Map(), cells: new Map() }
}

/** A counter or a histogram that callers hold by reference, so that counting needs no hash. */
export class Family<Cell> {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  readonly cells: { readonly labels: Labels; readonly cell: Cell }[] = []
  /** The same cells by one label after the other: a combined key would be created again for each lookup. */
  readonly #places = createPlace<Cell>()
  #create: () => Cell

  constructor(name: string, help: string, labels: readonly string[], create: () => Cell) {
    this.name = name
    this.help = help
    this.labels = labels
    this.#create = create
  }

  /** The cell of one combination of labels. Past 2,000 combinations all new ones share the cell `other`. */
  at(...labels: Labels): Cell {
    let place = this.#places
    const last = labels.length - 1
    for (let i = 0; i < last; i++) {
      const next = place.next.get(labels[i] as string)
      if (!next) return this.#add(labels)
      place = next
    }
    return place.cells.get(labels[last] as string) ?? this.#add(labels)
  }

  #add(labels: Labels): Cell {
    if (this.cells.length >= seriesMax && labels.some(label => label !== 'other'))
      return this.at(...labels.map(() => 'other'))
    const cell = this.#create()
    let place = this.#places
    for (const label of labels.slice(0, -1)) {
      const next = place.next.get(label) ?? createPlace<Cell>()
      place.next.set(label, next)
      place = next
    }
    place.cells.set(labels.at(-1) as string, cell)
    this.cells.push({ labels, cell })
    return cell
  }

  labelled(labels: Labels): { [label: string]: string } {
    return Object.fromEntries(this.labels.map((name, i) => [name, labels[i] ?? '']))
  }
}

export class Count {
  value = 0
}

export function counters(name: string, help: string, labels: readonly string[]): Family<Count> {
  return new Family(name, help, labels, () => new Count())
}

export class Histogram {
  readonly bounds: readonly number[]
  /** One more than bounds: the last counts values above all of them. */
  readonly counts: number[]
  sum = 0
  total = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  add(value: number): void {
    let i = 0
    while (i < this.bounds.length && value > (this.bounds[i] as number)) i++
    this.counts[i] = (this.counts[i] as number) + 1
    this.sum += value
    this.total++
  }
}

export function histograms(
  name: string,
  help: string,
  labels: readonly string[],
  bounds: readonly number[],
): Family<Histogram> {
  return new Family(name, help, labels, () => new Histogram(bounds))
}

export function countersSnapshot(family: Family<Count>): Snapshot {
  return {
    name: family.name,
    help: family.help,
    type: 'counter',
    aggregator: 'sum',
    values: family.cells.map(({ labels, cell }) => ({
      labels: family.labelled(labels),
      value: cell.value,
    })),
  }
}

export function histogramsSnapshot(family: Family<Histogram>): Snapshot {
  const values = family.cells.flatMap(({ labels, cell }) => {
    const named = family.labelled(labels)
    let below = 0
    const buckets = cell.bounds.map((bound, i) => {
      below += cell.counts[i] as number
      return { labels: { ...named, le: bound }, value: below, metricName: `${family.name}_bucket` }
    })
    return [
      ...buckets,
      { labels: { ...named, le: '+Inf' }, value: cell.total, metricName: `${family.name}_bucket` },
      { labels: named, value: cell.sum, metricName: `${family.name}_sum` },
      { labels: named, value: cell.total, metricName: `${family.name}_count` },
    ]
  })
  return { name: family.name, help: family.help, type: 'histogram', aggregator: 'sum', values }
}

/** A gauge of several series, one for each set of labels. */
export function labelledGauge(
  name: string,
  help: string,
  aggregator: Snapshot['aggregator'],
  values: Snapshot['values'],
): Snapshot {
  return { name, help, type: 'gauge', aggregator, values }
}

export function gaugeSnapshot(
  name: string,
  help: string,
  value: number,
  aggregator: Snapshot['aggregator'] = 'sum',
): Snapshot {
  return { name, help, type: 'gauge', aggregator, values: [{ labels: {}, value }] }
}
