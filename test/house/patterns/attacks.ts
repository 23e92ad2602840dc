import { type AST, visitRegExpAST } from '@eslint-community/regexpp'
import type { CountedPattern } from './steps.ts'

/** A text that grows: a beginning, a repeated part, an end. */
export type Attack = { readonly before: string; readonly again: string; readonly after: string }

/** The characters to choose from: one of each kind that a pattern distinguishes. */
const alphabet = [
  ...Array.from({ length: 94 }, (_, i) => String.fromCharCode(0x21 + i)).filter(one => /[^\w]/.test(one)),
  ...Array.from('a0zZA9_fmx'),
  ...Array.from(' \t\n\r\0\u007f\u00a0\u00e9\u2028\u6e2f'),
]
const samplesMax = 4
/** `rareMax`: kinds of characters that end a text; `roundsMax`: rounds that follow each way to a loop. */
const rareMax = 4
const roundsMax = 3
/** Bounded repetition up to here is a constant factor. */
const timesMax = 20

/** Texts that may make a pattern match the same part repeatedly, for each of its repetitions. */
export function* attacksOn(pattern: CountedPattern): Iterable<Attack> {
  const { loops, sets } = partsOf(pattern.ast)
  if (loops.length === 0) return
  const kinds = kindsOf(pattern, sets)
  const rare = kinds.slice(0, rareMax)
  const ends = ['', ...rare, ...rare.map(one => `${one}\n`)]
  const tried = new Set<string>()
  for (const loop of loops) {
    const heads = headsOf(pattern, loop, kinds)
    for (const again of unitsOf(pattern, loop, kinds))
      for (const before of ['', ...heads]) {
        const key = `${before}\u0001${again}`
        if (again === '' || tried.has(key)) continue
        tried.add(key)
        for (const after of ends) yield { before, again, after }
      }
  }
}

/** @param chars the approximate length */
export function textOf({ before, again, after }: Attack, chars: number): string {
  return before + again.repeat(Math.ceil(chars / again.length)) + after
}

export function showAttack({ before, again, after }: Attack): string {
  return `${JSON.stringify(before)} + ${JSON.stringify(again)}… + ${JSON.stringify(after)}`
}

/** One character of each kind that the pattern's sets distinguish; characters in few sets come first. */
function kindsOf(pattern: CountedPattern, sets: readonly SetNode[]): readonly string[] {
  const kinds = new Map<string, string>()
  for (const one of new Set([...alphabet, ...sets.flatMap(literalOf)])) {
    const signature = sets.map(set => (pattern.isOf(set.raw, one) ? '1' : '')).join('.')
    if (!kinds.has(signature)) kinds.set(signature, one)
  }
  const having = (signature: string): number => signature.replaceAll('.', '').length
  return [...kinds].toSorted(([a], [b]) => having(a) - having(b)).map(([, one]) => one)
}

type SetNode = AST.Character | AST.CharacterClass | AST.CharacterSet

function partsOf(ast: AST.Pattern): { readonly loops: readonly AST.Quantifier[]; readonly sets: readonly SetNode[] } {
  const loops: AST.Quantifier[] = []
  const sets = new Map<string, SetNode>()
  visitRegExpAST(ast, {
    onQuantifierEnter: node => void (node.max > timesMax && loops.push(node)),
    onCharacterEnter: node => void (node.parent.type !== 'CharacterClass' && sets.set(node.raw, node)),
    onCharacterClassEnter: node => void sets.set(node.raw, node),
    onCharacterSetEnter: node => void (node.parent.type !== 'CharacterClass' && sets.set(node.raw, node)),
  })
  // A range is not an element of its own.
  for (const [raw, node] of sets)
    if (node.type === 'Character' && node.parent.type === 'CharacterClassRange') sets.delete(raw)
  return { loops, sets: [...sets.values()] }
}

function literalOf(node: SetNode): readonly string[] {
  return node.type === 'Character' ? [String.fromCodePoint(node.value)] : []
}

/** Parts to repeat: any character, a match of one round of the loop, and a match of the way to it with some rounds. */
function* unitsOf(pattern: CountedPattern, loop: AST.Quantifier, kinds: readonly string[]): Iterable<string> {
  yield* kinds
  const rounds = samplesOf(pattern, loop.element, kinds)
  yield* rounds
  for (const head of [...headsOf(pattern, loop, kinds), ...segmentsBefore(pattern, loop, kinds)]) {
    yield head
    for (const round of rounds.slice(0, roundsMax)) yield head + round.repeat(Math.max(1, loop.min))
    const [first = ''] = rounds
    for (const kind of kinds) yield head + first.repeat(Math.max(1, loop.min)) + kind
  }
}

/** Texts that match the part of the pattern before a node. */
function headsOf(pattern: CountedPattern, node: AST.Node, kinds: readonly string[]): readonly string[] {
  const { parent } = node
  if (!parent) return ['']
  const above = headsOf(pattern, parent, kinds)
  if (parent.type !== 'Alternative') return above
  const before = parent.elements.slice(0, parent.elements.indexOf(node as AST.Element))
  return joined([above, ...before.map(element => samplesOf(pattern, element, kinds))])
}

/** Matches of the siblings before a node, one for each starting sibling. */
function segmentsBefore(pattern: CountedPattern, node: AST.Quantifier, kinds: readonly string[]): readonly string[] {
  const { parent } = node
  if (parent.type !== 'Alternative') return []
  const before = parent.elements.slice(0, parent.elements.indexOf(node))
  return before.flatMap((_, i) =>
    joined(before.slice(i).map(element => samplesOf(pattern, element, kinds))).slice(0, 1),
  )
}

/** A few short texts that a node matches. */
function samplesOf(pattern: CountedPattern, node: AST.Element, kinds: readonly string[]): readonly string[] {
  switch (node.type) {
    case 'Group':
    case 'CapturingGroup':
      return few(node.alternatives.flatMap(one => alternativeSamples(pattern, one, kinds)))
    case 'Quantifier': {
      const once = samplesOf(pattern, node.element, kinds)
      const least = once.map(one => one.repeat(node.min))
      return few(node.min === 0 && node.max > 0 ? ['', ...once] : least)
    }
    case 'Assertion':
      // A lookbehind needs text before it, too, so this adds it to the beginning.
      return node.kind === 'lookbehind' && !node.negate
        ? few(node.alternatives.flatMap(one => alternativeSamples(pattern, one, kinds)))
        : ['']
    case 'Character':
      return [String.fromCodePoint(node.value)]
    case 'CharacterClass':
    case 'CharacterSet':
      return few(kinds.filter(kind => pattern.isOf(node.raw, kind)))
    default:
      return ['']
  }
}

function alternativeSamples(
  pattern: CountedPattern,
  { elements }: AST.Alternative,
  kinds: readonly string[],
): readonly string[] {
  return joined(elements.map(element => samplesOf(pattern, element, kinds)))
}

/** Concatenates one member of each list: not every combination, but each member once. */
function joined(lists: readonly (readonly string[])[]): readonly string[] {
  const most = Math.max(1, ...lists.map(list => list.length))
  if (lists.some(list => list.length === 0)) return []
  return few(Array.from({ length: most }, (_, i) => lists.map(list => list[i % list.length]).join('')))
}

function few(samples: readonly string[]): readonly string[] {
  return [...new Set(samples)].slice(0, samplesMax)
}
