import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync, Visitor } from 'vite'
import type { Pattern } from './steps.ts'

/** An expression from which a pattern is assembled at run time. */
export type Made = { readonly file: string; readonly text: string }
export type Found = {
  readonly patterns: readonly (Pattern & { readonly file: string })[]
  readonly made: readonly Made[]
}

type Node = { readonly type: string; readonly start: number; readonly end: number; readonly [key: string]: unknown }
type Constants = ReadonlyMap<string, string>

/** Every pattern of a program: literals, and `new RegExp(…)` of texts in the same file. */
export function collectPatterns(root: string, file: string): Found {
  return readPatterns(file, readFileSync(join(root, file), 'utf8'))
}

/** @throws Error if the text is not a program */
export function readPatterns(file: string, text: string): Found {
  const { program, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`)
  const constants = new Map<string, string>()
  const patterns: (Pattern & { file: string })[] = []
  const calls: Node[] = []
  new Visitor({
    VariableDeclarator: ({ id, init }) => {
      const value = id.type === 'Identifier' && init ? valueOf(init as unknown as Node, constants) : undefined
      if (id.type === 'Identifier' && value !== undefined) constants.set(id.name, value)
    },
    Literal: node => {
      if ('regex' in node) patterns.push({ file, source: node.regex.pattern, flags: node.regex.flags })
    },
    NewExpression: node => void calls.push(node as unknown as Node),
    CallExpression: node => void calls.push(node as unknown as Node),
  }).visit(program)
  const made: Made[] = []
  for (const call of calls) {
    const { callee, arguments: given } = call as unknown as { callee: Node; arguments: readonly Node[] }
    if (callee['name'] !== 'RegExp') continue
    const [source, flags] = given.map(one => valueOf(one, constants))
    if (source === undefined || (given.length > 1 && flags === undefined))
      made.push({ file, text: text.slice(call.start, call.end) })
    else patterns.push({ file, source, flags: flags ?? '' })
  }
  return { patterns, made }
}

/** The constant text of a node, from texts, numbers, and named patterns in the same file. */
function valueOf(node: Node, constants: Constants): string | undefined {
  if (node.type === 'Literal') {
    const { regex, value } = node as unknown as { regex?: { pattern: string }; value: unknown }
    if (regex) return regex.pattern
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
  }
  if (node.type === 'Identifier') return constants.get(String(node['name']))
  if (node.type !== 'TemplateLiteral') return undefined
  const { quasis, expressions } = node as unknown as {
    quasis: readonly { value: { cooked: string } }[]
    expressions: readonly Node[]
  }
  let text = quasis[0]?.value.cooked ?? ''
  for (const [i, expression] of expressions.entries()) {
    const value = valueOf(expression, constants)
    if (value === undefined) return undefined
    text += value + (quasis[i + 1]?.value.cooked ?? '')
  }
  return text
}
