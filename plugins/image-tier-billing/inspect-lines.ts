import { type Diagnostic, type Family, metadataNames } from '../../src/plugin-api/index.ts'
import { isForwarded } from './request-fields.ts'
import { note, problem } from './diagnostic.ts'
import { type LineFacet, nameOf } from './line-rules.ts'
import type { BillingFacet } from './schema.ts'
import { shapeOf } from './what-charges.ts'

type Per = LineFacet['per']

const keysOf: { readonly [per in Per]: readonly string[] } = {
  input_image: ['free', 'once', 'fields', 'max'],
  request: [],
  megapixel: ['of', 'once', 'fields', 'round', 'first', 'pixels', 'otherwise', 'max'],
  step: ['from', 'once', 'otherwise', 'max'],
  second: ['from', 'once', 'otherwise', 'max'],
  token: ['from', 'otherwise', 'max'],
}

/** Checks additional charges: each has a quantity, a maximum if the answer reports the quantity, and a unique name. */
export function inspectLines(facet: BillingFacet, family: Family): readonly Diagnostic[] {
  const seen = new Set<string>()
  return (facet.lines ?? []).flatMap((line, i) => {
    const path = ['lines', i]
    const found: Diagnostic[] = []
    for (const name of [nameOf(line), ...(line.first === undefined ? [] : [line.first])]) {
      if (seen.has(name))
        found.push(
          problem(
            'line_twice',
            `two charge items have the price ${name}`,
            path,
            'give one of them a different price: NAME',
          ),
        )
      if (facet.tiers?.some(row => row.tier === name))
        found.push(
          problem(
            'line_name_taken',
            `${name} is both a tier and the price of a charge item`,
            path,
            'give the charge item a different price: NAME',
          ),
        )
      seen.add(name)
    }
    return [...found, ...keyDiagnostics(line, path), ...countDiagnostics(line, path, facet, family)]
  })
}

function keyDiagnostics(line: LineFacet, path: readonly (string | number)[]): readonly Diagnostic[] {
  const known = ['per', 'price', ...keysOf[line.per]]
  const isOutput = line.per === 'megapixel' && line.of !== 'input'
  const unknown = Object.keys(line).filter(
    key => !known.includes(key) || (isOutput && (key === 'once' || key === 'fields')),
  )
  return unknown.map(key =>
    problem(
      'line_key_unused',
      `${key} has no effect on ${line.per}${isOutput ? ' of the output' : ''}`,
      [...path, key],
      'remove it',
    ),
  )
}

function countDiagnostics(
  line: LineFacet,
  path: readonly (string | number)[],
  facet: BillingFacet,
  family: Family,
): readonly Diagnostic[] {
  const found: Diagnostic[] = []
  const { from, max, otherwise, per } = line
  if (max !== undefined && otherwise !== undefined && otherwise > max) {
    const text = `otherwise is ${otherwise}, but at most ${max} are charged`
    found.push(problem('line_otherwise_beyond', text, [...path, 'otherwise'], `at most ${max}`))
  }
  if (per === 'megapixel') return [...found, ...pixelDiagnostics(line, path)]
  if (per === 'input_image' || per === 'request') return found
  if (per === 'token' && line.price === undefined)
    found.push(problem('line_unnamed', 'tokens need a price name', path, 'add price: NAME, such as input_text'))
  if (from === undefined) {
    found.push(
      problem(
        'line_uncounted',
        `the number of ${per}s has no source`,
        path,
        'add from: a field of the request or a fact of the response',
      ),
    )
    return found
  }
  const isReported = metadataNames(family).facts.has(from)
  if (isReported && max === undefined) {
    const text = `the response reports ${from}, but the hold for it has no upper limit`
    found.push(problem('line_unbounded', text, path, 'add max: the largest quantity of one response'))
  }
  if (!isReported && otherwise === undefined) {
    const text = `a request without ${from} would not be charged for it`
    found.push(problem('line_otherwise_missing', text, path, "add otherwise: the vendor's default"))
  }
  if (!isReported && isUnseen(facet, family, from))
    found.push(
      note(
        'line_from_unseen',
        `${from} is not forwarded to any upstream, and no response reports it`,
        [...path, 'from'],
        'add it to forward',
      ),
    )
  return found
}

function pixelDiagnostics(
  { of, max, otherwise }: LineFacet,
  path: readonly (string | number)[],
): readonly Diagnostic[] {
  if (of === 'input') {
    if (otherwise !== undefined) return []
    const text = 'an image that is sent as a link cannot be measured, so it would have no size'
    return [problem('line_otherwise_missing', text, path, 'add otherwise: the megapixels of such an image')]
  }
  if (max !== undefined) return []
  const text = 'the megapixels of an image, and so the hold for it, have no upper limit'
  return [problem('line_unbounded', text, path, 'add max: the largest image of the model, in megapixels')]
}

/** Whether no image operation forwards a field. */
export function isUnseen(facet: BillingFacet, family: Family, path: string): boolean {
  return (
    operationsOf(facet, family).length > 0 &&
    unseenIn(facet, family, path).length === operationsOf(facet, family).length
  )
}

/** The image operations that do not forward a field. */
export function unseenIn(facet: BillingFacet, family: Family, path: string): readonly string[] {
  const [first = ''] = path.split('.')
  return operationsOf(facet, family).filter(operation => !isForwarded(family.forward.get(operation), first))
}

function operationsOf(facet: BillingFacet, { forward }: Family): readonly string[] {
  return [...forward.keys()].filter(operation => shapeOf(operation, facet) === 'data')
}
