import { sampleOf } from './sample.ts'

/** A function that the caller offers. */
export type Tool = { readonly name: string; readonly schema: unknown }

/** A call of one, as the simulated model makes it. */
export type ToolCall = { readonly name: string; readonly input: unknown }

/**
 * Calls the tool whose name the prompt says, or the one that the caller insists on.
 * @param forced a tool's name, or true for any
 */
export function callTool(
  tools: readonly Tool[],
  prompt: string,
  forced: string | boolean | undefined,
): ToolCall | undefined {
  const tool = tools.find(({ name }) => (typeof forced === 'string' ? name === forced : prompt.includes(name)))
  const chosen = tool ?? (forced === true ? tools[0] : undefined)
  return chosen && { name: chosen.name, input: sampleOf(chosen.schema ?? { type: 'object' }, prompt) }
}
