import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { parseSync } from '@swc/core'
import t from 'tap'

// If assertions in a loop over cases do not name their case, a failure does not show which case failed.

/** The number of arguments of an assertion with a message. */
const argumentCounts: { readonly [assertion: string]: number } = {
  ...Object.fromEntries(['ok', 'notOk', 'doesNotThrow'].map(name => [name, 2])),
  ...Object.fromEntries(
    ['equal', 'not', 'same', 'notSame', 'strictSame', 'strictNotSame', 'match', 'notMatch', 'has', 'hasStrict'].map(
      name => [name, 3],
    ),
  ),
  ...Object.fromEntries(['throws', 'rejects', 'type'].map(name => [name, 3])),
}

type Node = { readonly type?: string; readonly [member: string]: unknown }

/** The assertions in loops of a test's source that do not name their case, with their code. */
function untold(source: string): readonly string[] {
  const found: string[] = []
  const walk = (at: unknown, isInLoop: boolean): void => {
    if (Array.isArray(at)) return at.forEach(one => walk(one, isInLoop))
    if (typeof at !== 'object' || at === null) return
    const node = at as Node
    const { object, method, given } = callOf(node)
    if (isInLoop && object === 't' && given < (argumentCounts[method] ?? 0)) found.push(method)
    const inside =
      method === 'test' ? false : isInLoop || /^For(?:Of|In)?Statement$/.test(node.type ?? '') || method === 'forEach'
    for (const [name, value] of Object.entries(node)) if (name !== 'span') walk(value, inside)
  }
  walk(parseSync(source, { syntax: 'typescript', target: 'es2024' }).body, false)
  return found
}

function callOf(node: Node): { readonly object: string; readonly method: string; readonly given: number } {
  const callee = node['callee'] as Node | undefined
  if (node.type !== 'CallExpression' || callee?.type !== 'MemberExpression') return { object: '', method: '', given: 0 }
  const nameOf = (part: unknown): string => {
    const { value } = part as { readonly value?: unknown }
    return typeof value === 'string' ? value : ''
  }
  return {
    object: nameOf(callee['object']),
    method: nameOf(callee['property']),
    given: (node['arguments'] as unknown[]).length,
  }
}

const files = execFileSync('git', ['ls-files', 'test/**/*.test.ts'], { encoding: 'utf8' }).trim().split('\n')

t.test('an assertion in a loop names its case', t => {
  t.ok(files.length > 100)
  for (const file of files) t.strictSame(untold(readFileSync(file, 'utf8')), [], file)
  t.end()
})

t.test('finds an assertion that does not name its case, except in a test of its own', t => {
  t.strictSame(untold('for (const a of b) t.equal(a, 1)'), ['equal'])
  t.strictSame(untold('b.forEach(a => t.ok(a))'), ['ok'])
  t.strictSame(untold('for (const a of b) t.equal(a, 1, a)'), [])
  t.strictSame(untold('for (const a of b) t.test(a, t => { t.equal(a, 1) })'), [])
  t.end()
})
