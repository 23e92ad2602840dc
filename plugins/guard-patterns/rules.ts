import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Awaitable } from '../../src/plugin-api/index.ts'
import type { Edit, PartVerdict, Side, Verdict } from '../../src/guardrails/index.ts'
import { compile, type Pattern, patternOfWords } from './compile.ts'
import { normalize, type Normalized, normalForm } from './normalize.ts'
import type { PatternsFacet, RuleFacet } from './schema.ts'

type Rule = Pick<RuleFacet, 'name' | 'do' | 'put' | 'on'> & { readonly pattern: Pattern }

/** ASCII and Chinese characters that `\b` does not take for a part of a word. */
const separator = /[\0-/:-@[-^`{-\x7f\u4e00-\u9fff]/

/** The characters that are searched at once, in some 50 ms: more would stop the event loop for all clients. */
const pieceChars = 65_536
/** In longer texts, a longer match may pass. */
const longestOfPieces = 4_096

export type Rules = { readonly rules: readonly Rule[] } & Pick<PatternsFacet, 'longest' | 'normalize'>

/** @throws Error for an invalid pattern */
export function buildRules({ rules, longest, normalize: isNormalized }: PatternsFacet): Rules {
  return { longest, normalize: isNormalized, rules: rules.map(rule => buildRule(rule, isNormalized)) }
}

function buildRule(rule: RuleFacet, isNormalized: boolean): Rule {
  const { name, pattern, words = [], ignore_case: ignoreCase, do: act, put, on } = rule
  // Both forms, because rules read the original text too.
  const spelled = isNormalized ? words.map(normalForm).filter((word, i) => word !== '' && word !== words[i]) : []
  const compiled =
    pattern === undefined ? compile(patternOfWords([...words, ...spelled]), true) : compile(pattern, ignoreCase)
  return { name, do: act, put, on, pattern: compiled }
}

export function readsSide({ rules }: Rules, side: Side): boolean {
  return rules.some(({ on }) => on.includes(side))
}

/** Searches long texts in pieces, each in a turn of its own. */
export function checkTexts(rules: Rules, texts: readonly string[], side: Side): Awaitable<Verdict> {
  const chars = texts.reduce((sum, text) => sum + text.length, 0)
  return chars <= pieceChars ? checkWhole(rules, texts, side) : checkInTurns(rules, texts, side)
}

async function checkInTurns(rules: Rules, texts: readonly string[], side: Side): Promise<Verdict> {
  const ofPieces = { ...rules, longest: Math.max(rules.longest, longestOfPieces) }
  const edited: string[] = []
  let [isEdited, searched] = [false, 0]
  for (const text of texts) {
    let [read, at, size] = ['', 0, pieceChars]
    do {
      const piece = text.slice(at, at + size)
      const verdict = checkPart(ofPieces, piece, at + size >= text.length, side)
      if (verdict.kind === 'block') return verdict
      const { upTo, edits } = verdict
      isEdited ||= edits.length > 0
      read += applyEdits(piece.slice(0, upTo), edits)
      at += upTo
      // A match that fills a whole piece goes on in the next one.
      size = upTo === 0 ? size * 2 : pieceChars
      searched += piece.length
      if (searched >= pieceChars) {
        searched = 0
        await nextTurn()
      }
    } while (at < text.length)
    edited.push(read)
  }
  return isEdited ? { kind: 'edit', texts: edited } : { kind: 'pass' }
}

export function checkWhole(rules: Rules, texts: readonly string[], side: Side): Verdict {
  let isEdited = false
  const edited: string[] = []
  for (const text of texts) {
    const found = findMatches(rules, text, rules.normalize ? normalize(text) : undefined, { side, open: 0 })
    if (found.rule !== undefined) return { kind: 'block', rule: found.rule }
    isEdited ||= found.edits.length > 0
    edited.push(applyEdits(text, found.edits))
  }
  return isEdited ? { kind: 'edit', texts: edited } : { kind: 'pass' }
}

/** A match that ends within the last characters may continue: its beginning is not released. */
export function checkPart(rules: Rules, text: string, isEnd: boolean, side: Side = 'response'): PartVerdict {
  const { longest } = rules
  const normalized = rules.normalize ? normalize(text) : undefined
  const { edits, rule } = findMatches(rules, text, normalized, { side, open: isEnd ? 0 : longest })
  if (rule !== undefined) return { kind: 'block', rule }
  let upTo = isEnd ? text.length : wordFrom(text, heldFrom(text, normalized, longest), longest)
  for (const { from, to } of edits) if (from < upTo && to > upTo) upTo = from
  return { kind: 'release', upTo, edits: edits.filter(({ to }) => to <= upTo) }
}

/** The beginning of the last characters; invisible ones do not count. */
function heldFrom(text: string, normalized: Normalized | undefined, longest: number): number {
  const last = text.length - longest
  const lastSpelled = normalized ? (normalized.from[normalized.text.length - longest] ?? 0) : last
  return Math.max(0, Math.min(last, lastSpelled))
}

/**
 * The beginning of the word at a position: the rest of a longer word would be taken for a word. The position itself if
 * the word begins more than `longest` characters before.
 */
function wordFrom(text: string, position: number, longest: number): number {
  for (let at = position; at >= Math.max(0, position - longest); at--)
    if (at === 0 || separator.test(text.charAt(at - 1))) return at
  return position
}

type Found = Edit & { readonly order: number }

/** `open`: more text follows, which may change matches at the end that are shorter than this; 0 if none follows. */
type Searched = { readonly side: Side; readonly open: number }

/** The edits, in order and without overlaps, or the first rule that blocks. */
function findMatches(
  { rules }: Rules,
  text: string,
  normalized: Normalized | undefined,
  { side, open }: Searched,
): { readonly edits: readonly Edit[]; readonly rule?: string } {
  const found: Found[] = []
  for (const [order, { name, do: act, put, on, pattern }] of rules.entries()) {
    if (!on.includes(side)) continue
    // Searches the original text too: a pattern may look for characters that normalization removes.
    for (const seen of normalized ? [undefined, normalized] : [undefined]) {
      const searched = seen?.text ?? text
      const matcher = pattern.matcher(searched)
      while (matcher.find()) {
        const [from, to] = [matcher.start(), matcher.end()]
        // A word at the end may be the beginning of a longer one.
        if (from === to || (to === searched.length && to - from < open)) continue
        if (act === 'block') return { edits: [], rule: name }
        found.push({ from: seen?.from[from] ?? from, to: seen?.to[to - 1] ?? to, put, order })
      }
    }
  }
  return { edits: joinEdits(found) }
}

/** Joins overlapping matches, with the replacement of the first rule: no part of either stays readable. */
function joinEdits(found: Found[]): readonly Edit[] {
  const joined: Found[] = []
  for (const edit of found.sort((a, b) => a.from - b.from)) {
    const last = joined.at(-1)
    if (!last || edit.from >= last.to) {
      joined.push(edit)
      continue
    }
    const { put, order } = edit.order < last.order ? edit : last
    joined[joined.length - 1] = { from: last.from, to: Math.max(last.to, edit.to), put, order }
  }
  return joined
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
