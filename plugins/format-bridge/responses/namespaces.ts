import type { JsonObject, Tool } from '../neutral/index.ts'

/** The name of a tool in a namespace, for formats without namespaces. */
export function joinedName(space: string, own: string): string {
  return space.endsWith('__') ? `${space}${own}` : `${space}__${own}`
}

/** The members of a call with the name of its tool, grouped as the client groups its tools. */
export function namesOfTool(name: string, tools: readonly Tool[]): JsonObject {
  const space = tools.find(tool => tool.name === name)?.space
  return space ? { namespace: space.name, name: space.own } : { name }
}
