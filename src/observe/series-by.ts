import type { EndedCharge, LogRow, MetricDimension } from '../domain/index.ts'
import {
  type Count,
  counters,
  countersSnapshot,
  type Family,
  histograms,
  histogramsSnapshot,
  type Snapshot,
} from './tally.ts'

/** Returns the label for a name; all names that clients made up have one common label. */
export type Label = (name: string | null) => string

/** Series of one dimension in addition to the ordinary ones (`observability.metrics.by`). */
export type SeriesBy = {
  settled(row: LogRow, label: Label): void
  charged(charge: EndedCharge, label: Label): void
  snapshots(): readonly Snapshot[]
}

const secondsBounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

/** `model`: how long requests take, and how long until the first byte. */
function seriesByModel(): SeriesBy {
  const seconds = histograms(
    'tollgate_model_request_duration_seconds',
    'From the request headers to settlement, by model.',
    ['model', 'operation'],
    secondsBounds,
  )
  const firstByte = histograms(
    'tollgate_model_first_byte_seconds',
    'From the request headers to the first byte of the response, by model.',
    ['model', 'operation'],
    secondsBounds,
  )
  return {
    settled(row, label) {
      if (row.outcome !== 'answered' || (row.status ?? 0) >= 400) return
      const model = label(row.model)
      seconds.at(model, row.operation).add(row.durationMs / 1000)
      const first = row.marks?.firstByte
      if (typeof first === 'number') firstByte.at(model, row.operation).add(first / 1000)
    },
    charged() {},
    snapshots: () => [seconds, firstByte].map(histogramsSnapshot),
  }
}

/** `group`: requests, tokens and money of each group and model. */
function seriesByGroup(): SeriesBy {
  const requests = counters('tollgate_group_requests_total', 'Completed requests, by group.', [
    'group',
    'model',
    'outcome',
  ])
  const tokens = counters('tollgate_group_tokens_total', 'Tokens that upstreams reported, by group.', [
    'group',
    'model',
    'direction',
  ])
  const money = counters(
    'tollgate_group_charged_micros_total',
    'Money charged, in millionths of the currency, by group.',
    ['group', 'model', 'currency'],
  )
  const families: readonly Family<Count>[] = [requests, tokens, money]
  return {
    settled(row, label) {
      const [group, model] = [row.group ?? 'none', label(row.model)]
      requests.at(group, model, row.outcome).value++
      if (row.inputTokens !== null) tokens.at(group, model, 'input').value += row.inputTokens
      if (row.outputTokens !== null) tokens.at(group, model, 'output').value += row.outputTokens
    },
    charged({ state, group, model, currency, amount }, label) {
      if (state === 'settled') money.at(group, label(model), currency).value += amount
    },
    snapshots: () => families.map(countersSnapshot),
  }
}

const openSeries: { readonly [dimension in MetricDimension]: () => SeriesBy } = {
  model: seriesByModel,
  group: seriesByGroup,
}

/** The series of the dimensions that the configuration names. Those that it names no longer keep their counts. */
export class MoreSeries {
  readonly #all = new Map<MetricDimension, SeriesBy>()

  /** @returns the series that count from now on */
  use(by: Iterable<MetricDimension>): readonly SeriesBy[] {
    return [...by].map(dimension => {
      const series = this.#all.get(dimension) ?? openSeries[dimension]()
      this.#all.set(dimension, series)
      return series
    })
  }

  snapshots(): readonly Snapshot[] {
    return [...this.#all.values()].flatMap(series => series.snapshots())
  }
}
