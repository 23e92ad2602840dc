import { type ChargeItemRule, type Model, metadataNames } from '../../src/plugin-api/index.ts'
import { countPictures, parseQuantity, readQuantity, type Sent } from './request-fields.ts'
import { fail } from './errors.ts'
import { imageLabel } from './price-image.ts'
import type { BillingFacet } from './schema.ts'
import type { Size } from './tier.ts'

export type LineFacet = NonNullable<BillingFacet['lines']>[number]

const inputFields = ['image', 'images'] as const
const million = 1_000_000
/** The maximum number of steps, seconds or tokens that a request may set if the line has no `max`. */
export const quantityMax = 1_000_000

/** The sizes of the request's pictures, by the line that needs them; unmeasured ones are omitted. */
export type Measured = ReadonlyMap<LineFacet, readonly (Size | null)[]>

/** The name of a line's price. */
export function nameOf(line: LineFacet): string {
  return line.price ?? line.per
}

/** The request fields with the pictures that a line counts. */
export function fieldsOf(line: LineFacet): readonly string[] {
  return line.fields ?? inputFields
}

export function countsInput(line: LineFacet): boolean {
  return line.per === 'megapixel' && line.of === 'input'
}

/** Whether a line is charged once for each request. */
export function isOnce(line: LineFacet): boolean {
  if (line.per === 'request' || line.per === 'token') return true
  if (line.per === 'megapixel' && line.of !== 'input') return false
  return line.once ?? line.per !== 'step'
}

/**
 * The number of counted parts per unit, and the number of parts that the price covers: pixels, and thousandths of a
 * second.
 */
function scaleOf(line: LineFacet): { readonly scale: number; readonly unit: number } {
  if (line.per === 'megapixel') return { scale: line.pixels ?? million, unit: line.pixels ?? million }
  if (line.per === 'second') return { scale: 1000, unit: 1000 }
  return { scale: 1, unit: line.per === 'token' ? million : 1 }
}

/**
 * The lines of a charge, with the request's quantities.
 * @throws Failure price_missing, invalid_quantity, price_field_repeated
 */
export function lineRules(
  facet: BillingFacet,
  model: Model,
  sent: Sent | undefined,
  measured: Measured | undefined,
): readonly ChargeItemRule[] {
  if (model.free) return []
  const { facts, areSeveral } = metadataNames(model.family)
  return (facet.lines ?? []).map((line): ChargeItemRule => {
    const { scale, unit } = scaleOf(line)
    const isReported = line.from !== undefined && facts.has(line.from)
    const requested = sent && requestedQuantities(line, sent, measured, scale)
    return {
      per: line.per,
      name: nameOf(line),
      ...priceRow(model, nameOf(line)),
      unit,
      once: isOnce(line),
      ...(line.round === 'up' && { whole: true }),
      ...(line.first !== undefined && { first: { name: line.first, ...priceRow(model, line.first) } }),
      ...(line.from !== undefined && { from: line.from }),
      ...(requested && { asked: requested }),
      ...(line.otherwise !== undefined && { otherwise: toScale(line.otherwise, scale) }),
      ...(isReported && isOnce(line) && { missing: facet.missing_usage, ...(areSeveral && { each: true }) }),
      ...(line.max !== undefined && { max: toScale(line.max, scale) }),
      ...(line.free !== undefined && { free: line.free }),
      ...(line.fields !== undefined && { fields: line.fields }),
    }
  })
}

/** The price with that name, and its position in the file. @throws Failure price_missing */
export function priceRow(model: Model, name: string): { readonly price: number; readonly at: string } {
  const price = model.prices.get(name)
  if (!price && !model.free && name !== imageLabel) throw fail('price_missing', { model: model.name, tier: name })
  const { file, line } = price?.origin ?? model.origin
  return { price: price?.micros ?? 0, at: `${file}:${line}` }
}

function toScale(count: number, scale: number): number {
  return Math.ceil(count * scale)
}

function requestedQuantities(
  line: LineFacet,
  sent: Sent,
  measured: Measured | undefined,
  scale: number,
): readonly number[] | undefined {
  if (line.per === 'request') return [1]
  if (line.per === 'input_image') return [Math.max(0, countPictures(sent, fieldsOf(line)) - (line.free ?? 0))]
  if (line.per === 'megapixel') {
    if (line.of !== 'input') return undefined
    const unknown = toScale(line.otherwise ?? line.max ?? 1, scale)
    const sizes = measured?.get(line) ?? Array.from<null>({ length: countPictures(sent, fieldsOf(line)) }).fill(null)
    return sizes.map(size => (size ? size.width * size.height : unknown))
  }
  if (line.from === undefined) return undefined
  const thousandths = readQuantity(sent, line.from, line.max ?? quantityMax)
  return thousandths === undefined ? undefined : [fromThousandths(line.per, thousandths)]
}

/** A quantity in its stored form: steps and tokens are whole, seconds have thousandths. */
function fromThousandths(per: ChargeItemRule['per'], thousandths: number): number {
  return per === 'second' ? thousandths : Math.ceil(thousandths / 1000)
}

/** A number from the answer as a quantity of the line; undefined if it is not a number. */
export function reportedQuantity(per: ChargeItemRule['per'], fact: string | number | boolean): number | undefined {
  const thousandths = parseQuantity(String(fact))
  return thousandths === undefined ? undefined : fromThousandths(per, thousandths)
}
