import { type Family, imageOperations, type Problem } from '../../src/kit/index.ts'
import { readSize } from './read-size.ts'
import type { SizeFacet } from './schema.ts'
import { asSent, placeholdersOf } from './send-fields.ts'
import { parseRatio } from './snap.ts'

/** What is wrong with a facet beyond its schema. */
export function inspect(facet: SizeFacet, family: Pick<Family, 'forward'>): readonly Problem[] {
  return [
    ...inspectRatios(facet),
    ...(facet.rule === 'snap' ? inspectSnap(facet) : inspectRatioRule(facet)),
    ...inspectPixels(facet),
    ...inspectOperations(facet, family),
  ]
}

function problem(code: string, path: Problem['path'], message: string, remedy: string): Problem {
  return { severity: 'error', code, message, remedy, path }
}

function inspectRatios({ ratios }: SizeFacet): readonly Problem[] {
  const problems: Problem[] = []
  const seen = new Map<number, string>()
  for (const [i, text] of ratios.entries()) {
    const value = parseRatio(text)?.value
    if (value === undefined) {
      const remedy = 'write "width:height" with two numbers over 0, as in "16:9"'
      problems.push(problem('ratio_malformed', ['ratios', i], `'${text}' is not a ratio`, remedy))
      continue
    }
    const first = seen.get(value)
    if (first === undefined) seen.set(value, text)
    else
      problems.push(
        problem('ratio_repeated', ['ratios', i], `'${text}' is '${first}', which stands above`, 'keep one of the two'),
      )
  }
  return problems
}

function inspectSnap(facet: SizeFacet): readonly Problem[] {
  const problems: Problem[] = []
  for (const key of ['pixels_min', 'within_percent'] as const)
    if (facet[key] !== undefined)
      problems.push(
        problem('key_unfit', [key], `'${key}' has no meaning with rule snap`, 'take it out, or write rule: ratio'),
      )
  if (facet.resolutions === undefined) {
    const remedy = 'add resolutions: [{ label: 1k, long_edge_max: 1024 }, { label: 2k }]'
    return [...problems, problem('resolutions_missing', ['rule'], 'rule snap needs resolutions', remedy)]
  }
  const labels = facet.resolutions.map(({ label }) => label)
  if (facet.otherwise !== undefined && !labels.includes(facet.otherwise)) {
    const remedy = `write one of ${labels.join(', ')}`
    problems.push(
      problem('resolution_unknown', ['otherwise'], `'${facet.otherwise}' is not one of the resolutions`, remedy),
    )
  }
  return [...problems, ...inspectResolutions(facet.resolutions), ...inspectTemplates(facet)]
}

function inspectResolutions(rows: NonNullable<SizeFacet['resolutions']>): readonly Problem[] {
  const problems: Problem[] = []
  let below = 0
  for (const [i, { label, long_edge_max: max }] of rows.entries()) {
    const path = ['resolutions', i]
    const last = i === rows.length - 1
    if (readSize(label, []).size.kind !== 'unread' || label !== label.trim())
      problems.push(
        problem(
          'label_unfit',
          [...path, 'label'],
          `'${label}' would be read as a size of its own`,
          'write a name such as 2k',
        ),
      )
    if (rows.slice(0, i).some(row => row.label.toLowerCase() === label.toLowerCase()))
      problems.push(
        problem(
          'label_repeated',
          [...path, 'label'],
          `'${label}' stands above already`,
          'give each resolution a name of its own',
        ),
      )
    if (last && max !== undefined)
      problems.push(
        problem(
          'threshold_unfit',
          [...path, 'long_edge_max'],
          'the last resolution has a long_edge_max, so that larger sizes have none',
          'take it out',
        ),
      )
    if (!last && max === undefined)
      problems.push(
        problem(
          'threshold_missing',
          path,
          `'${label}' has no long_edge_max, so that nothing reaches the rows below`,
          'add long_edge_max',
        ),
      )
    if (max !== undefined && max <= below)
      problems.push(
        problem(
          'thresholds_not_rising',
          [...path, 'long_edge_max'],
          `${max} is not more than ${below}, which stands above`,
          'list the resolutions from small to large',
        ),
      )
    below = Math.max(below, max ?? 0)
  }
  return problems
}

function inspectTemplates({ send }: SizeFacet): readonly Problem[] {
  const problems: Problem[] = []
  for (const [field, template] of Object.entries(send)) {
    if (template === asSent) {
      if (field !== 'size')
        problems.push(
          problem(
            'template_unfit',
            ['send', field],
            'only size can be sent as-sent',
            'write "{resolution}" or "{ratio}"',
          ),
        )
      continue
    }
    const wrong = placeholdersOf(template).find(name => name !== 'resolution' && name !== 'ratio')
    if (wrong !== undefined || /[{}]/.test(template.replaceAll(/\{\w+\}/g, '')))
      problems.push(
        problem(
          'template_unknown',
          ['send', field],
          wrong === undefined ? `'${template}' has a brace without its other half` : `'{${wrong}}' is not known here`,
          'write "{resolution}" or "{ratio}"',
        ),
      )
  }
  return problems
}

function inspectRatioRule(facet: SizeFacet): readonly Problem[] {
  const problems: Problem[] = []
  if (facet.resolutions !== undefined)
    problems.push(
      problem(
        'key_unfit',
        ['resolutions'],
        "'resolutions' has no meaning with rule ratio",
        'take it out, or write rule: snap',
      ),
    )
  if (facet.otherwise !== undefined && !parseRatio(facet.otherwise))
    problems.push(
      problem(
        'ratio_malformed',
        ['otherwise'],
        `'${facet.otherwise}' is not a ratio`,
        'write "width:height", as in "1:1"',
      ),
    )
  for (const [field, template] of Object.entries(facet.send))
    if (field !== 'size' || template !== asSent)
      problems.push(
        problem(
          'template_unfit',
          ['send', field],
          'rule ratio sends size as it came',
          'write send: { size: as-sent }, or rule: snap',
        ),
      )
  return problems
}

function inspectPixels({ rule, ratios, resolutions = [], otherwise, pixels = {} }: SizeFacet): readonly Problem[] {
  const shapes = new Set(
    rule === 'snap'
      ? resolutions.flatMap(({ label }) => ratios.map(ratio => `${label} ${ratio}`))
      : [...ratios, ...(otherwise === undefined ? [] : [otherwise])],
  )
  const remedy =
    rule === 'snap'
      ? 'write a label and a ratio from the lists above, as in "2k 16:9"'
      : 'write a ratio from the list above'
  return Object.keys(pixels)
    .filter(shape => !shapes.has(shape))
    .map(shape => problem('shape_unknown', ['pixels', shape], `'${shape}' is nothing that this rule comes to`, remedy))
}

function inspectOperations({ applies_to }: SizeFacet, { forward }: Pick<Family, 'forward'>): readonly Problem[] {
  const known = new Set<string>([...imageOperations, ...forward.keys()])
  return applies_to
    .map((operation, i) => ({ operation, i }))
    .filter(({ operation }) => !known.has(operation))
    .map(({ operation, i }) =>
      problem(
        'operation_unknown',
        ['applies_to', i],
        `'${operation}' is not an operation of this family`,
        `write one of ${[...known].join(', ')}`,
      ),
    )
}
