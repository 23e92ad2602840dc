import type { Family, Histogram } from '../tally.ts'

/** A value in OTLP's JSON, where integers are strings. */
type Value =
  | { readonly stringValue: string }
  | { readonly intValue: string }
  | { readonly doubleValue: number }
  | { readonly arrayValue: { readonly values: readonly Value[] } }
export type Attributes = { readonly [name: string]: string | number | readonly string[] | null | undefined }
type Attribute = { readonly key: string; readonly value: Value }

/** A span as OTLP's JSON has it: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding */
export type Span = {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
  readonly status: { readonly code?: number; readonly message?: string }
}

/** Cumulative: each export has all values since the start. */
const cumulative = 2

/** Leaves out null and undefined. */
export function attributes(values: Attributes): readonly Attribute[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === null || value === undefined ? [] : [{ key, value: toValue(value) }],
  )
}

function toValue(value: string | number | readonly string[]): Value {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value !== 'number') return { arrayValue: { values: value.map(toValue) } }
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}

/** Milliseconds since the epoch as nanoseconds in text: they do not fit a number. */
export function nanos(ms: number): string {
  return `${Math.floor(ms)}${String(Math.floor((ms % 1) * 1e6)).padStart(6, '0')}`
}

/** A histogram with all values since the start. */
export function encodeSpread(family: Family<Histogram>, unit: string, startedAt: number, now: number): object {
  const times = { startTimeUnixNano: nanos(startedAt), timeUnixNano: nanos(now) }
  return {
    name: family.name,
    description: family.help,
    unit,
    histogram: {
      aggregationTemporality: cumulative,
      dataPoints: family.cells.map(({ labels, cell }) => ({
        ...times,
        attributes: attributes(
          Object.fromEntries(Object.entries(family.labelled(labels)).filter(([, value]) => value !== '')),
        ),
        count: String(cell.total),
        sum: cell.sum,
        bucketCounts: cell.counts.map(String),
        explicitBounds: cell.bounds,
      })),
    },
  }
}
