import { formatText } from '../../config/format-text.ts'
import { readYaml } from '../../config/load.ts'
import { findNode, toValue } from '../../config/tree.ts'
import { overlaps } from './overlay.ts'
import { keepEntries, type Merged, mergeRecipes, takingJson } from './merge-recipe.ts'
import type { Recipe } from './read-recipes.ts'

/** Puts recipes into the shipped configuration, in place of its fictitious vendors. */
export function draftVendors(shipped: string, recipes: readonly Recipe[]): Merged {
  const used = new Set(recipes.flatMap(({ texts }) => texts.flatMap(familiesUsed)))
  let text = keepEntries(shipped, 'upstreams', () => false)
  text = keepEntries(text, 'models', () => false)
  text = keepEntries(text, 'families', name => used.has(name))
  const merged = mergeAll(takingJson(text), recipes, shipped)
  const formatted = formatText(merged.text)
  return formatted.ok ? { ...merged, text: formatted.text } : merged
}

/** Adds recipes to an existing file. @throws MergeError if the file does not permit that */
export function mergeAll(text: string, recipes: readonly Recipe[], shipped: string): Merged {
  const fragments = new Set(recipes.flatMap(own => own.texts.filter(text => !isLaidOver(text, own, recipes))))
  return mergeRecipes(text, fragments, shipped)
}

/** Whether another recipe has the same lines and more: the lines of a part replace those of its page. */
function isLaidOver(text: string, { page }: Recipe, recipes: readonly Recipe[]): boolean {
  const others = recipes.filter(one => one.page === page).flatMap(({ texts }) => texts)
  return others.some(other => other.length > text.length && overlaps(text, other))
}

function familiesUsed(fragment: string): readonly string[] {
  const { root } = readYaml(fragment)
  const models = root ? toValue(findNode(root, ['models']).node) : {}
  return Object.values(models as { readonly [name: string]: { readonly family?: unknown } | null }).map(model =>
    String(model?.family),
  )
}
