import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseSync } from 'vite'

/** A sentence of a finding in the sources, with a sample value for each placeholder. */
export type FindingSentence = { readonly file: string; readonly text: string }

type Node = { readonly type: string; readonly [field: string]: unknown }
/** The values of names: of constants, and of the file's properties with that name. */
type Names = ReadonlyMap<string, readonly string[]>

const root = resolve(import.meta.dirname, '../..')
/** The files that create findings: the configuration, its plugins, and the gateway's checks of them. */
const makers =
  /^src\/config\/(?!format-).*\.ts$|^plugins\/.*\/(?:inspect[\w-]*|plugin)\.ts$|\/(?:signers|create-plugins|build-pipeline|other-currency)\.ts$/
const calls = new Set(['problem', 'note', 'unpriced', 'diagnostic'])
const displayed = new Set(['message', 'remedy', 'text'])
/** Sample texts for placeholders that a function fills. */
const made: { readonly [name: string]: readonly string[] } = {
  near: ["did you mean 'p1'?"],
  spaces: ['4 spaces'],
  unitOf: ['per million output tokens', 'per million characters', 'for 4K'],
}
const sample = 'p1'

/** Every sentence that a finding can have: in its message and in its remedy, each branch separately. */
export function findingSentences(): readonly FindingSentence[] {
  const listed = execFileSync('git', ['ls-files', '-z', 'src/config', 'src/gateway', 'plugins'], {
    cwd: root,
    encoding: 'utf8',
  })
  const found = new Map<string, FindingSentence>()
  for (const file of listed.split('\0').filter(one => makers.test(one)))
    for (const text of sentencesIn(file)) if (/\S \S/.test(text)) found.set(`${file} ${text}`, { file, text })
  return [...found.values()]
}

function sentencesIn(file: string): readonly string[] {
  const source = readFileSync(join(root, file), 'utf8')
  const { program, errors } = parseSync(file, source)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`)
  const found: string[] = []
  const tree = program as unknown as Node
  walk(tree, propertiesIn(tree), (node, names) => {
    for (const spoken of spokenIn(node)) found.push(...(valuesOf(spoken, names) ?? []))
  })
  return found
}

/** Parts of a node that are displayed unchanged. */
function spokenIn(node: Node): readonly Node[] {
  if (node.type === 'Property') return displayed.has(nameOf(node['key'])) ? [node['value'] as Node] : []
  if (node.type === 'CallExpression' && calls.has(nameOf(node['callee']))) return (node['arguments'] as Node[]).slice(1)
  if (node.type === 'VariableDeclarator')
    return displayed.has(nameOf(node['id'])) && node['init'] ? [node['init'] as Node] : []
  return []
}

function nameOf(node: unknown): string {
  const { name, property } = (node ?? {}) as { readonly name?: unknown; readonly property?: unknown }
  return typeof name === 'string' ? name : property === undefined ? '' : nameOf(property)
}

function walk(node: Node, names: Names, visit: (node: Node, names: Names) => void): void {
  const inside = withConstants(node, names)
  visit(node, inside)
  for (const part of partsOf(node)) walk(part, inside, visit)
}

function partsOf(node: Node): readonly Node[] {
  return Object.values(node).flatMap(value => [value].flat().filter(isNode))
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

function withConstants(node: Node, names: Names): Names {
  const statements = [node['body'] ?? node['consequent'] ?? []].flat().filter(isNode)
  const declared = statements.filter(({ type }) => type === 'VariableDeclaration')
  if (declared.length === 0) return names
  const all = new Map(names)
  for (const { id, init } of declared.flatMap(one => one['declarations'] as Node[])) {
    const values = isNode(init) ? valuesOf(init, all) : undefined
    if (values) all.set(nameOf(id), values)
    else all.delete(nameOf(id))
  }
  return all
}

/** Text literals of a property anywhere in a file: `words: 'is never reached behind'`. */
function propertiesIn(tree: Node): Names {
  const found = new Map<string, readonly string[]>(Object.entries(made))
  walk(tree, new Map(), (node, names) => {
    if (node.type !== 'Property' || nameOf(node['key']) !== 'words') return
    const values = valuesOf(node['value'] as Node, names)
    if (values) found.set('words', [...(found.get('words') ?? []), ...values])
  })
  return found
}

/** All possible texts of an expression; undefined if it is not a text from this file. */
function valuesOf(node: Node, names: Names): readonly string[] | undefined {
  switch (node.type) {
    case 'Literal':
      return typeof node['value'] === 'string' ? [node['value']] : undefined
    case 'ConditionalExpression': {
      const both = [node['consequent'], node['alternate']].map(one => valuesOf(one as Node, names))
      return both.every(one => one === undefined) ? undefined : both.flatMap(one => one ?? [])
    }
    case 'ParenthesizedExpression':
      return valuesOf(node['expression'] as Node, names)
    case 'Identifier':
      return names.get(nameOf(node))
    case 'CallExpression':
      return made[nameOf(node['callee'])]
    case 'MemberExpression':
      return nameOf(node) === 'words' ? names.get('words') : undefined
    case 'TemplateLiteral':
      return templateOf(node, names)
    default:
      return undefined
  }
}

function templateOf(node: Node, names: Names): readonly string[] {
  const places = node['expressions'] as Node[]
  const pieces = (node['quasis'] as { readonly value: { readonly cooked: string } }[]).map(({ value }) => value.cooked)
  return pieces.reduce<readonly string[]>(
    (texts, piece, i) => {
      const before = i === 0 ? [''] : (valuesOf(places[i - 1] as Node, names) ?? [sample])
      return texts.flatMap(text => before.map(value => `${text}${value}${piece}`))
    },
    [''],
  )
}
