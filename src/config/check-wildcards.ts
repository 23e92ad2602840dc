import { isUnpriced, type Model, parseWildcard, starsIn } from '../domain/index.ts'
import { groupModels, type Parts } from './build.ts'
import type { Report } from './report.ts'

/** The number of names that a finding lists. */
const namedMost = 6

/** Checks models whose names contain `*`. */
export function checkWildcards({ models, wildcards = [] }: Parts, report: Report): void {
  for (const { name } of wildcards) {
    if (starsIn(name) < 2) continue
    const message = `the model '${name}' has ${starsIn(name)} stars in its name`
    report.atKey(['models', name], { code: 'wildcard_stars', message, remedy: 'keep one *' })
  }
  for (const name of models.keys()) {
    if (!report.has(['models', name, 'listed'])) continue
    report.atKey(['models', name, 'listed'], {
      severity: 'note',
      code: 'listed_without_wildcard',
      message: `'listed' has no effect on '${name}', which has no * in its name`,
      remedy: 'remove it, or use a name with *',
    })
  }
  checkOverlaps(wildcards, report)
  const named = new Set([...models.values()].map(({ wildcard }) => wildcard))
  for (const wildcard of wildcards) {
    const { name, enabled } = wildcard
    if (!enabled || !isUnpriced(wildcard) || named.has(name)) continue
    report.atKey(['models', name], {
      severity: 'warning',
      code: 'wildcard_unpriced',
      message: `every name of '${name}' is refused: no row of price_tables fits, and it has no price for other names`,
      remedy: 'add a price table with such names, prices for all of them, or price: free',
    })
  }
}

/**
 * Reports wildcards such as `vendor-*` and `*-mini`: for names that match both, the longer text before the star
 * decides, which may not be intended.
 */
function checkOverlaps(wildcards: readonly Model[], report: Report): void {
  const names = new Set(wildcards.map(({ name }) => name))
  const parsed = [...names].flatMap(name => {
    const parts = starsIn(name) === 1 && parseWildcard(name)
    return parts ? { name, ...parts } : []
  })
  const byPrefix = Map.groupBy(parsed, ({ prefix }) => prefix)
  // If the longer prefix does not begin with the shorter one, no name matches both.
  for (const { name, prefix, suffix } of parsed)
    for (let length = prefix.length - 1; length >= 0; length--)
      for (const other of byPrefix.get(prefix.slice(0, length)) ?? []) {
        if (suffix.endsWith(other.suffix) || !other.suffix.endsWith(suffix)) continue
        const both = `${prefix}*${other.suffix}`
        if (names.has(both)) continue
        report.atKey(['models', other.name], {
          severity: 'warning',
          code: 'wildcard_ambiguous',
          message: `names that fit '${both}' fit '${name}' and '${other.name}': '${name}' serves them`,
          remedy: `add an entry '${both}' that decides, or change one of the two`,
        })
      }
}

/** Names from tables are not offered if their family cannot charge their prices; a note lists them. */
export function withoutUncharged(parts: Parts, uncharged: ReadonlySet<string>, report: Report): Parts {
  if (uncharged.size === 0) return parts
  const { models, wildcards = [] } = parts
  const of = (wildcard: string) =>
    [...models.values()].filter(one => one.wildcard === wildcard && uncharged.has(one.name)).map(({ name }) => name)
  for (const { name, family } of wildcards) {
    const names = of(name)
    if (names.length === 0) continue
    const shown = names.slice(0, namedMost).join(', ') + (names.length > namedMost ? ' …' : '')
    report.atKey(['models', name], {
      severity: 'note',
      code: 'wildcard_uncharged',
      message: `priced names of '${name}' that family '${family.name}' cannot charge are not offered (${names.length}): ${shown}`,
      remedy: 'choose rows with listed: { modes: […] }, or add entries with another family for these names',
    })
  }
  const offered = [...models.values()].map(model => (uncharged.has(model.name) ? { ...model, enabled: false } : model))
  return { ...parts, ...groupModels([...offered, ...wildcards]) }
}
