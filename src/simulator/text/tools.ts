import type { Marks, ToolCall } from './marks.ts'
import { sampleOf } from './sample.ts'

/** A function that the client offers. */
export type Tool = { readonly name: string; readonly schema: unknown }

/**
 * Calls the tool that the prompt demands; otherwise the tool that the request forces or that the prompt names.
 * @param forced the name of a tool, or true for any tool
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
