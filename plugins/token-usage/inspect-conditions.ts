import { factNames, type Diagnostic, isTimeZone, type Model, type PriceConditions } from '../../src/plugin-api/index.ts'
import { daysOf, listOf, parseHours } from '../../src/pricing/index.ts'
import { priceNames } from './usage-rule.ts'

type Found = Pick<Diagnostic, 'code' | 'message' | 'remedy'> & { readonly path: readonly (string | number)[] }

/** Errors in the overrides and factors of a model that the schema cannot check. */
export function* conditionDiagnostics(model: Model): Iterable<Diagnostic> {
  const { overrides = [], times = [] } = model
  const all = [
    ...overrides.map((one, i) => ({ ...one, path: ['overrides', i] })),
    ...times.map((one, i) => ({ ...one, path: ['times', i] })),
  ]
  for (const { if: conditions, path } of all)
    for (const found of faultsOf(conditions))
      yield diagnosticOf(model, { ...found, path: [...path, 'if', ...found.path] })
  for (const [i, { prices }] of overrides.entries())
    for (const unit of prices.keys())
      if (!priceNames.includes(unit)) yield diagnosticOf(model, unknownUnit(unit, ['overrides', i, unit]))
  for (const [i, override] of overrides.entries()) {
    const earlier = overrides.slice(0, i).findIndex(one => covers(one.if, override.if))
    if (earlier >= 0) yield diagnosticOf(model, shadowed(i, earlier))
  }
}

function diagnosticOf({ name }: Model, { path, ...found }: Found): Diagnostic {
  return { severity: 'error', model: name, ...found, path: [...path] }
}

export function unknownUnit(unit: string, path: readonly (string | number)[]): Found {
  return {
    code: 'usage_unit_unknown',
    message: `no API format reports '${unit}', so it is never charged`,
    remedy: `use ${priceNames.join(', ')}`,
    path,
  }
}

function shadowed(i: number, earlier: number): Found {
  return {
    code: 'override_shadowed',
    message: `overrides[${i}] never applies: overrides[${earlier}] always matches first`,
    remedy: 'put the narrower condition first',
    path: ['overrides', i],
  }
}

function* faultsOf(conditions: PriceConditions): Iterable<Found> {
  const { days, hours, zone } = conditions
  if (days !== undefined && daysOf(days).size === 0)
    yield never('days', `'${listOf(days).join(', ')}' is not a list of weekdays`, 'write mon-fri, or [sat, sun]')
  for (const text of hours === undefined ? [] : listOf(hours))
    if (!parseHours(text)) yield never('hours', `'${text}' is not a span of hours`, 'write "00:00-08:00"')
  if ((days !== undefined || hours !== undefined) && zone === undefined)
    yield {
      code: 'window_without_zone',
      message: 'days and hours need a time zone',
      remedy: "add zone: UTC, or the vendor's time zone",
      path: [],
    }
  if (zone !== undefined && !isTimeZone(zone))
    yield never('zone', `there is no time zone '${zone}'`, 'write an IANA time zone, such as Asia/Shanghai')
  if (zone !== undefined && days === undefined && hours === undefined)
    yield never('zone', 'a zone needs days or hours', 'add days or hours, or remove zone')
}

function never(name: string, message: string, remedy: string): Found {
  return { code: 'condition_never_holds', message, remedy, path: [name] }
}

/** Whether the first condition holds whenever the second one does. */
function covers(wide: PriceConditions, narrow: PriceConditions): boolean {
  return (Object.keys(wide) as (keyof PriceConditions)[]).every(name => {
    if (name === 'zone') return wide.zone === narrow.zone
    const other = narrow[name]
    if (name === 'input_above' || name === 'input_from') {
      const least = leastOf(narrow)
      return least !== undefined && least >= (leastOf({ [name]: wide[name] as number }) ?? 0)
    }
    if (other === undefined) return false
    const names = listOf(wide[name] as string | readonly string[])
    if ((factNames as readonly string[]).includes(name))
      return listOf(other as string | readonly string[]).every(one => names.includes(one))
    return JSON.stringify(wide[name]) === JSON.stringify(other)
  })
}

/** The minimum input tokens for which a condition can hold. */
function leastOf({ input_above: above, input_from: from }: PriceConditions): number | undefined {
  if (above === undefined && from === undefined) return undefined
  return Math.max(above === undefined ? 0 : above + 1, from ?? 0)
}
