import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readYaml } from '../../config/load.ts'
import { toValue } from '../../config/tree.ts'
import { findPackage } from '../../gateway/package-root.ts'
import { overlay, overlaps } from './overlay.ts'
import { membersOf } from '../../util/index.ts'

/**
 * Lines of `docs/recipes` that are merged into a gateway.yaml: the first block of a page, or the block below one of its
 * headings.
 */
export type Recipe = {
  /** `fal`; `gemini-image/on-vertex` for a part below a heading of a page, with the lines of its first block. */
  readonly name: string
  readonly title: string
  readonly page: string
  /** Fragments of gateway.yaml. */
  readonly texts: readonly string[]
  readonly models: readonly { readonly name: string; readonly operations: readonly string[] }[]
  readonly variables: readonly RecipeVariable[]
}

/** A variable that a recipe reads from the environment. */
export type RecipeVariable = {
  readonly name: string
  /** Whether the configuration is invalid without it. */
  readonly required: boolean
  /** For an address: until it is set, the simulator of this name replaces the vendor. */
  readonly simulator: string | null
  /** Its description on the page; null if there is none. */
  readonly means: string | null
}

type Named = { readonly [name: string]: unknown }

/** Every recipe, by name. Pages without models, such as those of proxies, are not recipes. */
export async function readRecipes(): Promise<readonly Recipe[]> {
  const { root } = await findPackage()
  const folder = join(root, 'docs/recipes')
  const shipped = treeOf(await readFile(join(root, 'gateway.yaml'), 'utf8'))
  const pages = (await readdir(folder)).filter(name => name.endsWith('.md') && name !== 'README.md').sort()
  const texts = await Promise.all(pages.map(page => readFile(join(folder, page), 'utf8')))
  return pages.flatMap((page, i) => recipesOf(page, texts[i] ?? '', membersOf(shipped['families'])))
}

function recipesOf(page: string, markdown: string, shipped: Named): readonly Recipe[] {
  const [head = '', ...parts] = markdown.split(/^## /m)
  const main = blocksOf(head)
  const name = page.slice(0, -'.md'.length)
  const title = /^# (.+)$/m.exec(head)?.[1] ?? name
  if (main.length === 0 || !main.some(text => 'models' in treeOf(text))) return []
  const first = recipe({ name, title, page, texts: main }, shipped)
  const before = [...main]
  const others = parts.flatMap(part => {
    const [heading = ''] = part.split('\n', 1)
    const own = blocksOf(part)
    if (own.length === 0) return []
    const texts = own.reduce((under, text) => compose(under, before, text), main)
    before.push(...own)
    return [recipe({ name: `${name}/${slugOf(heading)}`, title: heading, page, texts }, shipped)]
  })
  return [first, ...others]
}

/** A block after those that it builds on; merges it into blocks that it extends. */
function compose(under: readonly string[], before: readonly string[], text: string): readonly string[] {
  const missing = before.filter(one => !under.includes(one) && overlaps(one, text))
  const all = [...under, ...missing]
  const at = all.findIndex(one => overlaps(one, text))
  return at < 0 ? [...all, text] : all.map((one, i) => (i === at ? overlay(one, text) : one))
}

function blocksOf(markdown: string): readonly string[] {
  const [, ...blocks] = markdown.split('```yaml\n')
  return blocks.map(block => block.split('```', 1)[0] ?? '')
}

function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
}

function recipe(own: Pick<Recipe, 'name' | 'title' | 'page' | 'texts'>, shipped: Named): Recipe {
  const trees = own.texts.map(treeOf)
  const families = Object.assign({}, shipped, ...trees.map(tree => membersOf(tree['families']))) as Named
  const models = trees.flatMap(tree =>
    Object.entries(membersOf(tree['models'])).map(([name, model]) => {
      const family = membersOf(families[String(membersOf(model)['family'])])
      return { name, operations: Object.keys(membersOf(family['forward'])) }
    }),
  )
  return { ...own, models, variables: variablesOf(own.texts.join('\n')) }
}

function treeOf(text: string): Named {
  const { root } = readYaml(text)
  return root ? membersOf(toValue(root)) : {}
}

/** `${FAL_URL:-simulator:fal}    # https://fal.run`, `${KEY:?the key of a project}`. */
function variablesOf(text: string): readonly RecipeVariable[] {
  const found = new Map<string, RecipeVariable>()
  for (const line of text.split('\n')) {
    const [settings = '', comment] = line.split(/\s#\s/, 2)
    for (const [, name = '', sign, rest = ''] of settings.matchAll(/\$\{([A-Z][A-Z0-9_]*)(?::([-?])([^}$]*))?\}/g)) {
      if (found.has(name)) continue
      const simulator = /^simulator:([\w-]+)$/.exec(rest)?.[1] ?? null
      const means = sign === '?' ? rest : simulator === null ? null : (comment ?? null)
      found.set(name, { name, required: sign !== '-', simulator, means })
    }
  }
  return [...found.values()]
}
