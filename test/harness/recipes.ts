import { readdir } from 'node:fs/promises'
import { parse } from 'yaml'
import { editShipped, readBlocks } from './project.ts'

export type Tree = { readonly [key: string]: unknown }

/** A page of `docs/recipes`: its fragments of gateway.yaml, which are merged in order. */
export type Recipe = { readonly page: string; readonly texts: readonly string[]; readonly fragments: readonly Tree[] }

const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Merges a fragment: below the key of the same name, as the recipes instruct. */
export function merge(whole: Tree, fragment: Tree): Tree {
  const merged: { [key: string]: unknown } = { ...whole }
  for (const [key, value] of Object.entries(fragment)) {
    const there = merged[key]
    merged[key] = isTree(there) && isTree(value) ? merge(there, value) : value
  }
  return merged
}

export async function readShipped(): Promise<Tree> {
  return parse(await editShipped([])) as Tree
}

export async function readRecipes(): Promise<readonly Recipe[]> {
  const names = await readdir(new URL('../../docs/recipes/', import.meta.url))
  const pages = names.filter(name => name.endsWith('.md') && name !== 'README.md').sort()
  return await Promise.all(pages.map(readRecipe))
}

export async function readRecipe(page: string): Promise<Recipe> {
  const texts = await readBlocks(`recipes/${page}`, 'yaml')
  return { page, texts, fragments: texts.map(text => parse(text) as Tree) }
}

/** Variables with the simulators' addresses for a fragment. */
export function simulatedIn(text: string): readonly (readonly [variable: string, simulator: string])[] {
  return [...text.matchAll(/\$\{(\w+):-simulator:([\w-]+)\}/g)].map(([, variable = '', name = '']) => [variable, name])
}
