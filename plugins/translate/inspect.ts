import {
  type Diagnostic,
  type Family,
  type ForwardRule,
  imageOperations,
  type Model,
} from '../../src/plugin-api/index.ts'
import { sectionOf } from './describe.ts'
import { pathsIn, placesIn, refusalsIn, streamIn } from './inspect-answer.ts'
import { type Problem, problem } from './problem.ts'
import { jobIn } from './inspect-job.ts'
import { requestIn } from './inspect-request.ts'
import type { Section, TranslateFacet } from './schema.ts'

type Seen = { readonly flaw: Problem; count: number }

/** Errors of a section beyond its schema. */
export function inspect(facet: TranslateFacet, family: Family, models: readonly Model[]): readonly Diagnostic[] {
  const served = servedBy(family)
  const operations = served.filter(one => isTranslated(facet, one))
  const seen = new Map<string, Seen>()
  for (const operation of operations) {
    for (const flaw of problemsOf(facet, family, operation)) {
      const placed = { ...flaw, path: placeOf(facet, operation, flaw.path) }
      const mark = JSON.stringify([flaw.code, placed.path])
      const known = seen.get(mark)
      if (known) known.count++
      else seen.set(mark, { flaw: placed, count: 1 })
    }
  }
  const found = [...seen.values()].filter(({ flaw, count }) => {
    return flaw.everywhere !== true || count >= speakersOf(facet, operations, flaw.path)
  })
  return [
    ...operationsIn(facet, served),
    ...found.map(({ flaw }) => toDiagnostic(flaw)),
    ...factsIn(facet, family),
    ...chargesIn(facet, models),
  ]
}

function toDiagnostic({ severity, code, message, remedy, path }: Problem): Diagnostic {
  return { severity, code, message, path, ...(remedy !== undefined && { remedy }) }
}

function problemsOf(facet: TranslateFacet, family: Family, operation: string): readonly Problem[] {
  const section = sectionOf(facet, operation)
  const rule = family.forward.get(operation)
  const forwards = (name: string): boolean => isForwarded(rule, name)
  const fields = rule?.kind === 'only' ? new Set([...rule.names, ...setInOtherFacets(family)]) : undefined
  const described = { operation, section, family, fields, forwards }
  return [
    ...requestIn(described),
    ...pathsIn(section),
    ...placesIn(section),
    ...refusalsIn(section),
    ...streamIn(described),
    ...jobIn(section),
  ]
}

/** A family without `forward` serves all operations. */
function servedBy({ forward }: Family): readonly string[] {
  return forward.size > 0 ? [...forward.keys()] : [...imageOperations]
}

/** Other operations pass in the vendor's own API format, whatever the section contains. */
function isTranslated({ per_operation: own }: TranslateFacet, operation: string): boolean {
  return imageOperations.some(one => one === operation) || Object.hasOwn(own ?? {}, operation)
}

function isForwarded(rule: ForwardRule | undefined, name: string): boolean {
  if (!rule) return true
  return rule.kind === 'only' ? rule.names.has(name) : !rule.except.has(name)
}

/** Fields that other sections of the family set, by `send`. */
function setInOtherFacets({ facets }: Family): readonly string[] {
  return [...facets.values()].flatMap(facet => namesIn((facet as { readonly send?: unknown } | undefined)?.send))
}

function namesIn(value: unknown): readonly string[] {
  return typeof value === 'object' && value !== null ? Object.keys(value) : []
}

/** The place in the file: under the operation if the setting is for one, else at the top. */
function placeOf({ per_operation: own }: TranslateFacet, operation: string, path: Diagnostic['path']): Problem['path'] {
  const [key] = path
  const isOwn = key !== undefined && Object.hasOwn(own?.[operation] ?? {}, key)
  return isOwn ? ['per_operation', operation, ...path] : path
}

/** The number of operations that use the value at this path. */
function speakersOf(
  { per_operation: own }: TranslateFacet,
  operations: readonly string[],
  path: Problem['path'],
): number {
  const [key = ''] = path
  if (key === 'per_operation') return 1
  return operations.filter(operation => !Object.hasOwn(own?.[operation] ?? {}, key)).length
}

function operationsIn({ per_operation: own }: TranslateFacet, operations: readonly string[]): readonly Diagnostic[] {
  return Object.keys(own ?? {})
    .filter(name => !operations.includes(name))
    .map(name =>
      problem(
        'operation_unserved',
        ['per_operation', name],
        `the family does not serve '${name}'`,
        `write one of ${operations.join(', ')}, or add it to forward`,
      ),
    )
}

/** A fact that no price depends on makes answers wait for nothing. */
function factsIn(facet: TranslateFacet, family: Family): readonly Diagnostic[] {
  const used = new Set([...family.facets.values()].flatMap(factsUsed))
  return partsOf(facet).flatMap(({ path, part }) =>
    Object.keys(part.facts ?? {})
      .filter(name => !used.has(name))
      .map(name => ({
        severity: 'note' as const,
        code: 'fact_unused',
        path: [...path, 'facts', name],
        message: `no price depends on '${name}', but responses are held in memory until it is read`,
        remedy: 'use it in price_by, times or lines of the family, or remove it',
      })),
  )
}

type Priced = {
  readonly price_by?: readonly string[]
  readonly times?: readonly { readonly if?: object }[]
  readonly lines?: readonly { readonly from?: string }[]
}

/** The facts that a pricing section depends on, by the usual form of such sections. */
function factsUsed(facet: unknown): readonly string[] {
  const { price_by: by, times, lines } = (facet ?? {}) as Priced
  const listOf = <Item>(list: readonly Item[] | undefined): readonly Item[] => (Array.isArray(list) ? list : [])
  return [
    ...listOf(by),
    ...listOf(times).flatMap(one => namesIn(one.if)),
    ...listOf(lines).flatMap(line => line.from ?? []),
  ]
}

/** Reports names of charges for which no model has a price: such a name is a mistake. */
function chargesIn(facet: TranslateFacet, models: readonly Model[]): readonly Diagnostic[] {
  const priced = models.filter(model => !model.free)
  if (priced.length === 0) return []
  return partsOf(facet).flatMap(({ path, part }) =>
    (part.refused ?? []).flatMap(({ charge }, i) => {
      if (charge === undefined || priced.some(model => model.prices.has(charge))) return []
      const message = `no model of the family has a price '${charge}'`
      const remedy = 'add it to their prices, or remove charge, which makes the refusal free'
      return [problem('refusal_unpriced', [...path, 'refused', i, 'charge'], message, remedy)]
    }),
  )
}

type Part = { readonly path: Problem['path']; readonly part: Section }

function partsOf({ per_operation: own, ...all }: TranslateFacet): readonly Part[] {
  const parts = Object.entries(own ?? {}) as unknown as readonly (readonly [string, Section])[]
  return [{ path: [], part: all }, ...parts.map(([name, part]) => ({ path: ['per_operation', name], part }))]
}
