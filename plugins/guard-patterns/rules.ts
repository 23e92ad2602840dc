import type { Edit, PartVerdict, Side, Verdict } from '../../src/guardrails/index.ts'
import { compile, type Pattern, patternOfWords } from './compile.ts'
import type { PatternsFacet, RuleFacet } from './schema.ts'

type Rule = Pick<RuleFacet, 'name' | 'do' | 'put' | 'on'> & { readonly pattern: Pattern }

export type Rules = { readonly rules: readonly Rule[]; readonly longest: number }

/** @throws Error for an invalid pattern */
export function buildRules({ rules, longest }: PatternsFacet): Rules {
  return { longest, rules: rules.map(buildRule) }
}

function buildRule({ name, pattern, words, ignore_case: ignoreCase, do: act, put, on }: RuleFacet): Rule {
  const compiled = pattern === undefined ? compile(patternOfWords(words ?? []), true) : compile(pattern, ignoreCase)
  return { name, do: act, put, on, pattern: compiled }
}

export function readsSide({ rules }: Rules, side: Side): boolean {
  return rules.some(({ on }) => on.includes(side))
}

export function judgeWhole(rules: Rules, texts: readonly string[], side: Side): Verdict {
  let isEdited = false
  const edited: string[] = []
  for (const text of texts) {
    const found = findMatches(rules, text, side)
    if (found.rule !== undefined) return { kind: 'block', rule: found.rule }
    isEdited ||= found.edits.length > 0
    edited.push(applyEdits(text, found.edits))
  }
  return isEdited ? { kind: 'edit', texts: edited } : { kind: 'pass' }
}

/** A match that ends within the last characters may go on: its beginning is not released. */
export function judgePart(rules: Rules, text: string, isEnd: boolean): PartVerdict {
  const { edits, rule } = findMatches(rules, text, 'response')
  if (rule !== undefined) return { kind: 'block', rule }
  let upTo = isEnd ? text.length : Math.max(0, text.length - rules.longest)
  for (const { from, to } of edits) if (from < upTo && to > upTo) upTo = from
  return { kind: 'release', upTo, edits: edits.filter(({ to }) => to <= upTo) }
}

/** What to replace, in order and without overlaps, or the first rule that blocks. */
function findMatches(
  { rules }: Rules,
  text: string,
  side: Side,
): { readonly edits: readonly Edit[]; readonly rule?: string } {
  const edits: Edit[] = []
  for (const rule of rules) {
    if (!rule.on.includes(side)) continue
    const matcher = rule.pattern.matcher(text)
    while (matcher.find()) {
      const [from, to] = [matcher.start(), matcher.end()]
      if (from === to) continue
      if (rule.do === 'block') return { edits: [], rule: rule.name }
      if (edits.every(edit => to <= edit.from || from >= edit.to)) edits.push({ from, to, put: rule.put })
    }
  }
  return { edits: edits.sort((a, b) => a.from - b.from) }
}

function applyEdits(text: string, edits: readonly Edit[]): string {
  let edited = ''
  let at = 0
  for (const { from, to, put } of edits) {
    edited += text.slice(at, from) + put
    at = to
  }
  return edited + text.slice(at)
}
