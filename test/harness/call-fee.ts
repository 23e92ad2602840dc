import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AnyPlugin } from '../../src/index.ts'
import { addPackage, layProject, type Project } from './project.ts'
import type { Edits } from './start.ts'

const example = new URL('../../docs/examples/plugin-call-fee/', import.meta.url)
const name = 'tollgate-plugin-call-fee'
const path = `node_modules/${name}/index.js`

/** The shipped configuration with the plugin in its pipeline, and one family and its model charged per call. */
export function chargedBy(plugin: string): Edits {
  return [
    ['multipart-rewrite, ', `multipart-rewrite, ${plugin}, `],
    { 'families/rerank': { forward: { rerank: { all: true } }, 'call-fee': {} } },
    { 'models/sim-rerank/prices': { call: '0.05' } },
  ]
}

/** Creates a folder with a copy of the billing plugin of the examples: `sim-rerank` has a price per call. */
export async function layCallFee(folder: string): Promise<Project> {
  const project = await layProject(folder, chargedBy(`./${path}`))
  await addPackage(project, example, name)
  return project
}

/** The plugin in such a folder, for a gateway that takes it as an object. */
export async function loadCallFee({ folder }: Project): Promise<AnyPlugin> {
  const loaded = (await import(pathToFileURL(join(folder, path)).href)) as { readonly default: AnyPlugin }
  return loaded.default
}
