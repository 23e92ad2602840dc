import { addPackage, layProject, type Project } from './project.ts'
import type { Edits } from './start.ts'

const example = new URL('../../docs/examples/plugin-call-fee/', import.meta.url)
const name = 'tollgate-plugin-call-fee'

/** The shipped configuration with the plugin in its pipeline by its path, and one family and its model charged by it. */
const charged: Edits = [
  ['multipart-rewrite, ', `multipart-rewrite, ./node_modules/${name}/index.js, `],
  [/forward: { rerank: { all: true } }\n {4}token-usage: {}/, 'forward: { rerank: { all: true } }\n    call-fee: {}'],
  ['prices: { search_unit: "0.002" }', 'prices: { call: "0.05" }'],
]

/** Lays out a folder with the billing plugin of the examples, as somebody has it who copied it: `sim-rerank` costs by the call. */
export async function layCallFee(folder: string): Promise<Project> {
  const project = await layProject(folder, charged)
  await addPackage(project, example, name)
  return project
}
