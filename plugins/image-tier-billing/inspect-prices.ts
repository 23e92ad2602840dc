import { type Diagnostic, type Family, type Model, metadataNames } from '../../src/plugin-api/index.ts'
import { otherNames, pricesOf } from './build-rule.ts'
import { note, problem } from './diagnostic.ts'
import { isUnseen, unseenIn } from './inspect-lines.ts'
import { imageLabel, sameLabel, wordsOf } from './price-image.ts'
import type { BillingFacet } from './schema.ts'

/** The maximum number of listed combinations; the others are only counted. */
const namedMax = 6
/** The maximum number of combinations that are checked. */
const combinationsMax = 4096

/** Checks the prices of every model: every possible outcome has one, and each belongs to a possible outcome. */
export function inspectPrices(facet: BillingFacet, family: Family, models: readonly Model[]): readonly Diagnostic[] {
  const priced = models.filter(model => !model.free)
  return [
    ...fieldDiagnostics(facet, family, priced),
    ...priced.flatMap(model => {
      const found = [...imagePrices(facet, family, model), ...namedPrices(facet, model)]
      return found.map(one => ({ ...one, model: model.name }))
    }),
  ]
}

/** Reports names in price_by and times that have no value. */
function fieldDiagnostics(facet: BillingFacet, family: Family, models: readonly Model[]): readonly Diagnostic[] {
  const { facts } = metadataNames(family)
  const found: Diagnostic[] = []
  const isOpen = models.some(model => !hasOtherwise(facet, model))
  facet.price_by?.forEach((name, i) => {
    if (name === 'tier') return
    const path = ['price_by', i]
    if (facts.has(name)) {
      if (!isOpen) return
      const text = `responses report ${name}, and a value without a price could not be charged`
      found.push(problem('combination_open', text, path, 'add otherwise: the name of the price of such an image'))
      return
    }
    const unseen = unseenIn(facet, family, name)
    if (unseen.length === 0) return
    const text = `${name} is not forwarded for ${unseen.join(', ')}, and no response reports it`
    const remedy = `add ${name} to forward`
    found.push(
      isOpen
        ? problem('price_field_unseen', `${text}: every request would be refused`, path, remedy)
        : note('price_field_unseen', text, path, remedy),
    )
  })
  facet.times?.forEach((one, i) => {
    for (const name of Object.keys(one.if)) {
      if (facts.has(name) || !isUnseen(facet, family, name)) continue
      const text = `${name} is not forwarded to any upstream, and no response reports it`
      found.push(note('condition_unseen', text, ['times', i, 'if', name], `add ${name} to forward`))
    }
  })
  return found
}

/** Whether `otherwise` gives a price to combinations without their own. */
function hasOtherwise({ otherwise, price_by }: BillingFacet, model: Model): boolean {
  if (otherwise === undefined || !price_by) return false
  return [...model.prices.keys()].some(label => sameLabel(label, otherwise, true))
}

function imagePrices(facet: BillingFacet, family: Family, model: Model): readonly Diagnostic[] {
  if (facet.price_by) return combinedPrices(facet, family, model, facet.price_by)
  const others = otherNames(facet, model)
  if (!facet.tiers) {
    const missing =
      facet.lines || model.prices.has(imageLabel)
        ? []
        : [
            unpriced(
              'image_unpriced',
              `model ${model.name} has no price for an image, and family ${family.name} has no tiers`,
              imageLabel,
            ),
          ]
    return [...missing, ...unusedPrices(facet, family, model, label => label === imageLabel || others.has(label))]
  }
  const { tiers } = facet
  const missing = tiers.filter(({ tier }) => !model.prices.has(tier))
  return [
    ...missing.map(({ tier }) =>
      unpriced('tier_unpriced', `model ${model.name} has no price for tier ${tier} of family ${family.name}`, tier),
    ),
    ...unusedPrices(facet, family, model, label => others.has(label) || tiers.some(row => row.tier === label)),
  ]
}

/** Prices of additional charges, and of refusals. */
function namedPrices(facet: BillingFacet, model: Model): readonly Diagnostic[] {
  return [...otherNames(facet, model)]
    .filter(name => !model.prices.has(name))
    .map(name => unpriced('line_unpriced', `model ${model.name} has no price for ${name}`, name))
}

function unpriced(code: string, message: string, name: string): Diagnostic {
  return problem(
    code,
    message,
    ['prices', name],
    `add ${/^[\w.-]+$/.test(name) ? name : JSON.stringify(name)}: "…" to its prices`,
  )
}

function unusedPrices(
  { price_by }: BillingFacet,
  family: Family,
  model: Model,
  isUsed: (label: string) => boolean,
): readonly Diagnostic[] {
  // Prices of other things than images belong to the usage, and are checked with it.
  if (family.facets.has('token-usage')) return []
  return [...model.prices.keys()]
    .filter(label => !isUsed(label))
    .map(label => {
      const what = price_by ? `matches no ${price_by.join(' and ')}` : 'has no tier'
      return note(
        'price_unused',
        `the price for ${label} ${what} of family ${family.name}, so it is never charged`,
        ['prices', label],
        price_by ? `name it by ${price_by.join(' and ')}, separated by a space, or remove it` : 'remove it',
      )
    })
}

function combinedPrices(
  facet: BillingFacet,
  family: Family,
  model: Model,
  by: readonly string[],
): readonly Diagnostic[] {
  // The missing tiers are already reported; all other findings would follow from that.
  if (by.includes('tier') && !facet.tiers) return []
  const rows = pricesOf(facet, model, by)
  const others = otherNames(facet, model)
  const split = (label: string) => (by.length === 1 ? [label] : wordsOf(label))
  const isOtherwise = (label: string) => facet.otherwise !== undefined && sameLabel(label, facet.otherwise, true)
  const fits = (label: string) =>
    split(label).length === by.length &&
    by.every(
      (name, i) => name !== 'tier' || facet.tiers?.some(({ tier }) => sameLabel(tier, split(label)[i] ?? '', true)),
    )
  const found = [...unusedPrices(facet, family, model, label => others.has(label) || isOtherwise(label) || fits(label))]
  const labels = rows.map(({ label }) => split(label).join(' ').toLowerCase())
  for (const [i, { label }] of rows.entries())
    if (labels.indexOf(labels[i] ?? '') !== i)
      found.push(
        problem(
          'price_twice',
          `the price ${label} is set twice, with different case`,
          ['prices', label],
          'keep one of them',
        ),
      )
  if (hasOtherwise(facet, model)) return found
  if (facet.otherwise !== undefined && !facet.tiers?.some(({ tier }) => tier === facet.otherwise)) {
    const text = `otherwise names ${facet.otherwise}, which is not a tier or a price of model ${model.name}`
    found.push(unpriced('otherwise_unpriced', text, facet.otherwise))
  }
  const fitting = rows.filter(({ label }) => fits(label)).map(({ label }) => split(label))
  if (fitting.length === 0) {
    found.push(
      unpriced(
        'combination_unpriced',
        `model ${model.name} has no price by ${by.join(' and ')}`,
        by.map(name => (name === 'tier' ? (facet.tiers?.[0]?.tier ?? name) : name.toUpperCase())).join(' '),
      ),
    )
    return found
  }
  return [...found, ...missingCombinations(facet, family, model, by, fitting)]
}

function missingCombinations(
  facet: BillingFacet,
  family: Family,
  model: Model,
  by: readonly string[],
  fitting: readonly (readonly string[])[],
): readonly Diagnostic[] {
  const values = by.map((name, i) =>
    name === 'tier' ? (facet.tiers ?? []).map(({ tier }) => tier) : unique(fitting.map(words => words[i] ?? '')),
  )
  if (values.reduce((count, some) => count * some.length, 1) > combinationsMax) return []
  let all: readonly string[] = ['']
  for (const some of values) all = all.flatMap(label => some.map(word => (label === '' ? word : `${label} ${word}`)))
  const priced = new Set(fitting.map(words => words.join(' ').toLowerCase()))
  const missing = all.filter(label => !priced.has(label.toLowerCase()))
  if (missing.length === 0) return []
  const named = missing.slice(0, namedMax).join(', ')
  const rest = missing.length > namedMax ? ` and ${missing.length - namedMax} more` : ''
  const text = `model ${model.name} has no price for ${named}${rest}`
  const remedy = 'add them to its prices, or add otherwise: the name of the price for all others'
  const { facts } = metadataNames(family)
  // A request cannot be refused in advance for a combination that only the answer decides.
  const isLate =
    by.some(name => facts.has(name)) || (by.includes('tier') && facet.tier_from?.some(from => from !== 'request'))
  return [
    isLate
      ? problem('combination_unpriced', `${text}: requests that could result in it are refused`, ['prices'], remedy)
      : note('combination_unpriced', `${text}: such requests are refused`, ['prices'], remedy),
  ]
}

function unique(words: readonly string[]): readonly string[] {
  return [...new Map(words.map(word => [word.toLowerCase(), word])).values()]
}
