import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AnyPlugin } from '../../src/index.ts'
import { addPackage, layProject, type Project } from './project.ts'
import type { Edits } from './start.ts'

const example = new URL('../../docs/examples/plugin-call-fee/', import.meta.url)
const name = 'tollgate-plugin-call-fee'
const path = `node_modules/${name}/index.js`

/** The shipped configuration with the plugin in its pipeline, and one family and its model charged by it: by the call. */
export function chargedBy(plugin: string): Edits {
  return [
    ['multipart-rewrite, ', `multipart-rewrite, ${plugin}, `],
    { 'families/rerank': { forward: { rerank: { all: true } }, 'call-fee': {} } },
    { 'models/sim-rerank/prices': { call: '0.05' } },
  ]
}

/** Lays out a folder with the billing plugin of the examples, as somebody has it who copied it: `sim-rerank` costs by the call. */
export async function layCallFee(folder: string): Promise<Project> {
  const project = await layProject(folder, chargedBy(`./${path}`))
  await addPackage(project, example, name)
  return project
}

/** The plugin of such a folder, for a gateway that is given it as an object. */
export async function loadCallFee({ folder }: Project): Promise<AnyPlugin> {
  const loaded = (await import(pathToFileURL(join(folder, path)).href)) as { readonly default: AnyPlugin }
  return loaded.default
}
