import { type Problem, problem, type DescribedOperation } from './problem.ts'
import { pathsOf } from './inspect-answer.ts'
import { normalPath } from '../../src/wire/index.ts'
import { parsePictureRef, pictureFields } from './scope.ts'
import { compileTemplate } from './template.ts'

type At = Problem['path']
type Text = { readonly path: At; readonly text: string; readonly isKey: boolean }

/** Fields that depend on a size: one of the sections that read sizes must describe it. */
const sizeRefs = /^(?:width|height|ratio|ratio\.width|ratio\.height|resolution|expected\.width|expected\.height)$/
const sizeWords: ReadonlySet<string> = new Set(['width', 'height', 'ratio', 'resolution', 'expected'])
const pictureParts = 'data_url, base64, mime, url, file'

/** Checks the sent body: its placeholders, the fields that it leaves out, and the count. */
export function requestIn(described: DescribedOperation): readonly Problem[] {
  const { request } = described.section
  const texts = request === undefined ? [] : [...textsOf(request, ['request'])]
  return [
    ...texts.flatMap(text => textProblems(text, described)),
    ...countIn(described, texts),
    ...restIn(described),
    ...valuesIn(described),
  ]
}

function* textsOf(value: unknown, path: At): Generator<Text> {
  if (typeof value === 'string') yield { path, text: value, isKey: false }
  else if (Array.isArray(value)) for (const [i, item] of value.entries()) yield* textsOf(item, [...path, i])
  else if (typeof value === 'object' && value !== null)
    for (const [name, own] of Object.entries(value)) {
      if (compileTemplate(name).refs.size > 0) yield { path: [...path, name], text: name, isKey: true }
      yield* textsOf(own, [...path, name])
    }
}

function textProblems({ path, text, isKey }: Text, described: DescribedOperation): readonly Problem[] {
  if (isKey) {
    const message = `'${text}' is a name, and names are sent unchanged`
    return [problem('placeholder_unread', path, message, 'use the placeholder in its value')]
  }
  const unread = /\{([^{}"]{1,60})\}/.exec(text.replaceAll(/\{\{|\}\}|\{[A-Za-z_][\w.-]*\}/g, ''))
  const refs = [...compileTemplate(text).refs].flatMap(ref => refProblems(ref, path, described))
  if (!unread) return refs
  const message = `'${unread[0]}' is not a placeholder, so it would be sent unchanged`
  return [...refs, problem('placeholder_unread', path, message, `write {${unread[1]?.trim()}}, or {{ for a brace`)]
}

function refProblems(ref: string, path: At, described: DescribedOperation): readonly Problem[] {
  const { section, fields, family } = described
  const values = section.values?.[ref] as { readonly absent?: unknown } | undefined
  if (ref === 'n' || ref === 'model' || values?.absent !== undefined) return []
  const [first = '', ...more] = ref.split('.')
  if (sizeWords.has(first)) return sizeProblems(ref, path, described)
  const picture = parsePictureRef(ref)
  const isPicture = pictureFields.some(field => field === first)
  if (isPicture && (!picture || picture.which === '0')) {
    const remedy = `write {${first}.url} or another of ${pictureParts}; {${first}.1.url} for the first, {${first}.only.url}, {${first}.several.url}`
    return [problem('placeholder_unknown', path, `'{${ref}}' is not a property of an image`, remedy)]
  }
  if (!fields || fields.has(first) || (isPicture && fields.has(`${first}s`))) return []
  if (more.length === 0 && isPicture) return []
  const message = `'{${ref}}' never has a value: no operation forwards ${first}`
  const remedy = `add ${first} to forward of ${[...family.forward.keys()].join(' or ')}, or remove the placeholder`
  return [{ ...problem('placeholder_unknown', path, message, remedy), everywhere: true }]
}

function sizeProblems(ref: string, path: At, { family, operation }: DescribedOperation): readonly Problem[] {
  if (!sizeRefs.test(ref)) {
    const remedy = 'write {width}, {height}, {ratio}, {ratio.width}, {ratio.height}, {resolution} or {expected.width}'
    return [problem('placeholder_unknown', path, `'{${ref}}' is not a property of a size`, remedy)]
  }
  const section = family.facets.get('size-normalize') as SizeSection | undefined
  const isRead = section && (section.applies_to ?? [operation]).includes(operation)
  if (!isRead) {
    const message = `'{${ref}}' never has a value: the family has no section size-normalize`
    const remedy = 'add size-normalize: { rule: snap, ratios: […], resolutions: […] } to the family'
    return [{ ...problem('placeholder_unknown', path, message, remedy), everywhere: true }]
  }
  if (ref !== 'resolution' || section.rule === 'snap') return []
  const message = `'{${ref}}' never has a value: rule ${section.rule} of size-normalize has no resolutions`
  return [problem('placeholder_unknown', path, message, 'set rule: snap with resolutions, or remove it')]
}

type SizeSection = { readonly rule?: string; readonly applies_to?: readonly string[] }

/** A client that requests three pictures gets three, or an error that only one is possible. */
function countIn({ section, family, forwards }: DescribedOperation, texts: readonly Text[]): readonly Problem[] {
  const { request, rest, fan_out: fanOut } = section
  if (family.nMax <= 1 || fanOut !== undefined) return []
  const isNamed = texts.some(({ text }) => compileTemplate(text).refs.has('n'))
  if (isNamed || ((request === undefined || rest !== undefined) && forwards('n'))) return []
  const message = `clients can request ${family.nMax} images, but the number is never sent to the vendor`
  const remedy =
    'use "{n}" for the field with the count, fan_out: 4 if the vendor makes one at a time, or n_max: 1 for the family'
  return [problem('count_unsent', request === undefined ? [] : ['request'], message, remedy)]
}

function restIn({ section: { request, rest } }: DescribedOperation): readonly Problem[] {
  if (rest === undefined) return []
  if (request === undefined) {
    const message = 'without a request, the body is sent unchanged with all forwarded fields'
    return [problem('key_unfit', ['rest'], message, 'remove rest, or add request')]
  }
  const flaws = pathsOf(rest, ['rest'])
  if (flaws.length > 0) return flaws
  const there = memberAt(request, normalPath(rest))
  if (there === undefined || (typeof there === 'object' && there !== null && !Array.isArray(there))) return []
  const message = `the request has no mapping at '${rest}' for the fields`
  return [problem('rest_unfit', ['rest'], message, 'write the path of a mapping, or `.` for the top')]
}

function memberAt(value: unknown, path: string): unknown {
  let there = value
  for (const name of path === '' ? [] : path.split('.')) {
    if (typeof there !== 'object' || there === null || Array.isArray(there)) return there
    there = (there as { readonly [name: string]: unknown })[name]
  }
  return there
}

/** Reports `values` of a field that is not sent. */
function valuesIn({ section, fields }: DescribedOperation): readonly Problem[] {
  const { values = {}, request, rest } = section
  const refs = request === undefined ? new Set<string>() : compileTemplate(request).refs
  return Object.keys(values).flatMap(name => {
    const isRest = request !== undefined && rest !== undefined && (!fields || fields.has(name))
    if (refs.has(name) || isRest) return []
    const message = `'{${name}}' is not used in the request`
    const remedy = 'use it there, or remove its values'
    return [{ ...problem('values_unused', ['values', name], message, remedy), everywhere: true as const }]
  })
}
