import { type Family, imageOperations, type Diagnostic } from '../../src/plugin-api/index.ts'
import { readSize } from './read-size.ts'
import type { SizeFacet } from './schema.ts'
import { asSent, placeholdersOf } from './send-fields.ts'
import { parseRatio } from './snap.ts'

/** Errors of a facet beyond its schema. */
export function inspect(facet: SizeFacet, family: Pick<Family, 'forward'>): readonly Diagnostic[] {
  return [
    ...inspectRatios(facet),
    ...(facet.rule === 'snap' ? inspectSnap(facet) : inspectRatioRule(facet)),
    ...inspectPixels(facet),
    ...inspectOperations(facet, family),
  ]
}

function diagnostic(code: string, path: Diagnostic['path'], message: string, remedy: string): Diagnostic {
  return { severity: 'error', code, message, remedy, path }
}

function inspectRatios({ ratios }: SizeFacet): readonly Diagnostic[] {
  const diagnostics: Diagnostic[] = []
  const seen = new Map<number, string>()
  for (const [i, text] of ratios.entries()) {
    const value = parseRatio(text)?.value
    if (value === undefined) {
      const remedy = 'write "width:height" with two numbers over 0, as in "16:9"'
      diagnostics.push(diagnostic('ratio_malformed', ['ratios', i], `'${text}' is not a ratio`, remedy))
      continue
    }
    const first = seen.get(value)
    if (first === undefined) seen.set(value, text)
    else
      diagnostics.push(
        diagnostic(
          'ratio_repeated',
          ['ratios', i],
          `'${text}' is the same ratio as '${first}' above`,
          'keep one of the two',
        ),
      )
  }
  return diagnostics
}

function inspectSnap(facet: SizeFacet): readonly Diagnostic[] {
  const diagnostics: Diagnostic[] = []
  for (const key of ['pixels_min', 'within_percent'] as const)
    if (facet[key] !== undefined)
      diagnostics.push(
        diagnostic('key_unfit', [key], `'${key}' has no effect with rule snap`, 'remove it, or set rule: ratio'),
      )
  if (facet.resolutions === undefined) {
    const remedy = 'add resolutions: [{ label: 1k, long_edge_max: 1024 }, { label: 2k }]'
    return [...diagnostics, diagnostic('resolutions_missing', ['rule'], 'rule snap needs resolutions', remedy)]
  }
  const labels = facet.resolutions.map(({ label }) => label)
  if (facet.otherwise !== undefined && !labels.includes(facet.otherwise)) {
    const remedy = `write one of ${labels.join(', ')}`
    diagnostics.push(
      diagnostic('resolution_unknown', ['otherwise'], `'${facet.otherwise}' is not one of the resolutions`, remedy),
    )
  }
  return [...diagnostics, ...inspectResolutions(facet.resolutions), ...inspectTemplates(facet)]
}

function inspectResolutions(rows: NonNullable<SizeFacet['resolutions']>): readonly Diagnostic[] {
  const diagnostics: Diagnostic[] = []
  let below = 0
  for (const [i, { label, long_edge_max: max }] of rows.entries()) {
    const path = ['resolutions', i]
    const last = i === rows.length - 1
    if (readSize(label, []).size.kind !== 'unread' || label !== label.trim())
      diagnostics.push(
        diagnostic('label_unfit', [...path, 'label'], `'${label}' would be read as a size`, 'use a name such as 2k'),
      )
    if (rows.slice(0, i).some(row => row.label.toLowerCase() === label.toLowerCase()))
      diagnostics.push(
        diagnostic(
          'label_repeated',
          [...path, 'label'],
          `'${label}' is already listed above`,
          'give each resolution a unique name',
        ),
      )
    if (last && max !== undefined)
      diagnostics.push(
        diagnostic(
          'threshold_unfit',
          [...path, 'long_edge_max'],
          'the last resolution has a long_edge_max, so larger sizes match no resolution',
          'remove it',
        ),
      )
    if (!last && max === undefined)
      diagnostics.push(
        diagnostic(
          'threshold_missing',
          path,
          `'${label}' has no long_edge_max, so the entries below it never match`,
          'add long_edge_max',
        ),
      )
    if (max !== undefined && max <= below)
      diagnostics.push(
        diagnostic(
          'thresholds_not_rising',
          [...path, 'long_edge_max'],
          `${max} is not greater than the ${below} of the entry above`,
          'list the resolutions in ascending order',
        ),
      )
    below = Math.max(below, max ?? 0)
  }
  return diagnostics
}

function inspectTemplates({ send }: SizeFacet): readonly Diagnostic[] {
  const diagnostics: Diagnostic[] = []
  for (const [field, template] of Object.entries(send)) {
    if (template === asSent) {
      if (field !== 'size')
        diagnostics.push(
          diagnostic(
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
      diagnostics.push(
        diagnostic(
          'template_unknown',
          ['send', field],
          wrong === undefined ? `'${template}' has an unmatched brace` : `'{${wrong}}' is not a known placeholder`,
          'write "{resolution}" or "{ratio}"',
        ),
      )
  }
  return diagnostics
}

function inspectRatioRule(facet: SizeFacet): readonly Diagnostic[] {
  const diagnostics: Diagnostic[] = []
  if (facet.resolutions !== undefined)
    diagnostics.push(
      diagnostic(
        'key_unfit',
        ['resolutions'],
        "'resolutions' has no effect with rule ratio",
        'remove it, or set rule: snap',
      ),
    )
  if (facet.otherwise !== undefined && !parseRatio(facet.otherwise))
    diagnostics.push(
      diagnostic(
        'ratio_malformed',
        ['otherwise'],
        `'${facet.otherwise}' is not a ratio`,
        'write "width:height", as in "1:1"',
      ),
    )
  for (const [field, template] of Object.entries(facet.send))
    if (field !== 'size' || template !== asSent)
      diagnostics.push(
        diagnostic(
          'template_unfit',
          ['send', field],
          'rule ratio forwards size unchanged',
          'set send: { size: as-sent }, or rule: snap',
        ),
      )
  return diagnostics
}

function inspectPixels({ rule, ratios, resolutions = [], otherwise, pixels = {} }: SizeFacet): readonly Diagnostic[] {
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
    .map(shape =>
      diagnostic('shape_unknown', ['pixels', shape], `'${shape}' is not a possible result of this rule`, remedy),
    )
}

function inspectOperations({ applies_to }: SizeFacet, { forward }: Pick<Family, 'forward'>): readonly Diagnostic[] {
  const known = new Set<string>([...imageOperations, ...forward.keys()])
  return applies_to
    .map((operation, i) => ({ operation, i }))
    .filter(({ operation }) => !known.has(operation))
    .map(({ operation, i }) =>
      diagnostic(
        'operation_unknown',
        ['applies_to', i],
        `'${operation}' is not an operation of this family`,
        `write one of ${[...known].join(', ')}`,
      ),
    )
}
