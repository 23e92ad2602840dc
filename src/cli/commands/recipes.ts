import { listRecipes, type Recipe, type RecipeVariable } from '../../index.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { formatTable, nameSome } from '../table.ts'

/** Lists the recipes for `init --vendor`, or prints the lines of one of them. */
export async function recipes(name: string | undefined, { format }: { readonly format: string }): Promise<void> {
  if (name !== undefined) return show(await findRecipe(name), format)
  const all = await listRecipes()
  if (format === 'json') return print(JSON.stringify(all.map(recipeJson), undefined, 2))
  print(formatTable(['recipe', 'models', 'operations', 'needs'], all.map(rowOf)))
  say('\nRecipes with an address are simulated until you set it. tollgate recipes NAME prints the lines;')
  say('tollgate init --vendor NAME writes a gateway.yaml with them, or adds them to an existing one.')
}

/** @throws Exit 2 for an unknown name */
export async function findRecipe(name: string): Promise<Recipe> {
  const all = await listRecipes()
  const found = all.find(recipe => recipe.name === name)
  if (found) return found
  throw new Exit(
    exitCodes.usage,
    `error: unknown recipe '${name}'; expected one of ${all.map(recipe => recipe.name).join(', ')}`,
  )
}

function show(recipe: Recipe, format: string): void {
  if (format === 'json') return print(JSON.stringify({ ...recipeJson(recipe), lines: recipe.texts }, undefined, 2))
  print(recipe.texts.join('\n').trimEnd())
  for (const one of recipe.variables) say(`set ${describeVariable(one)}`)
}

function recipeJson({ name, title, page, models, variables }: Recipe): object {
  return { name, title, page: `docs/recipes/${page}`, models, needs: variables }
}

function rowOf({ name, models, variables }: Recipe): readonly string[] {
  const operations = [...new Set(models.flatMap(model => model.operations))]
  const [first, ...more] = models.map(model => model.name)
  return [
    name,
    more.length > 0 ? `${first} and ${more.length} more` : (first ?? ''),
    nameSome(operations),
    variables.map(variable => variable.name).join(' '),
  ]
}

/** `FAL_URL: https://fal.run (simulated until then)`. */
export function describeVariable({ name, means, simulator }: RecipeVariable): string {
  const what = means === null ? name : `${name}: ${means}`
  return simulator === null ? what : `${what} (simulated until it is set)`
}
