import type { Marks, ToolCall } from './marks.ts'
import { sampleOf } from './sample.ts'

/** A function that the caller offers. */
export type Tool = { readonly name: string; readonly schema: unknown }

/**
 * Calls the tool that a mark of the prompt demands, else the one whose name the prompt contains or the request forces.
 * @param forced a tool's name, or true for any
 */
export function callTool(
  tools: readonly Tool[],
  { calls, text }: Pick<Marks, 'calls' | 'text'>,
  forced: string | boolean | undefined,
): ToolCall | undefined {
  const demanded = calls.find(call => tools.some(({ name }) => name === call.name))
  if (demanded) return demanded
  const tool = tools.find(({ name }) => (typeof forced === 'string' ? name === forced : text.includes(name)))
  const chosen = tool ?? (forced === true ? tools[0] : undefined)
  return chosen && { name: chosen.name, input: sampleOf(chosen.schema ?? { type: 'object' }, text) }
}
