import { type FirstAnswers, type FirstDraft, draftFirst, readShipped } from '../first-config.ts'
import { draftVendors, mergeAll } from './draft-vendors.ts'
import type { Merged } from './merge-recipe.ts'
import type { Recipe } from './read-recipes.ts'

export { MergeError, type Merged } from './merge-recipe.ts'
export { type Recipe, readRecipes, type RecipeVariable } from './read-recipes.ts'

/** A first configuration with these recipes, without fictitious vendors. */
export async function draftWith(
  folder: string,
  answers: FirstAnswers,
  recipes: readonly Recipe[],
): Promise<FirstDraft> {
  const edit = (shipped: string): string => draftVendors(shipped, recipes).text
  return draftFirst(folder, answers, edit)
}

/** Adds recipes to an existing file. @throws MergeError */
export async function addRecipes(text: string, recipes: readonly Recipe[]): Promise<Merged> {
  return mergeAll(text, recipes, await readShipped('gateway.yaml'))
}
