import type { Awaitable } from '../util/index.ts'
import { alpha } from './alpha.ts'
import { beta } from './beta.ts'
import type { SimulatorName } from './names.ts'
import { text } from './text/upstream.ts'
import type { SimulatedUpstream } from './upstream.ts'

/**
 * Every simulated upstream, by its name after `simulator:` in an upstream's url. A simulated vendor is loaded at its
 * first request, so that it does not delay the start of a gateway.
 */
const upstreams: { readonly [name in SimulatorName]: () => Awaitable<SimulatedUpstream> } = {
  alpha: () => alpha,
  beta: () => beta,
  text: () => text,
  gemini: async () => (await import('./vendors/gemini.ts')).gemini,
  flux: async () => (await import('./vendors/flux.ts')).flux,
  fal: async () => (await import('./vendors/fal.ts')).fal,
  'fal-queue': async () => (await import('./vendors/fal.ts')).falQueue,
  qwen: async () => (await import('./vendors/qwen.ts')).qwen,
  seedream: async () => (await import('./vendors/seedream.ts')).seedream,
  xai: async () => (await import('./vendors/xai.ts')).xai,
  openrouter: async () => (await import('./vendors/openrouter.ts')).openrouter,
  replicate: async () => (await import('./vendors/replicate.ts')).replicate,
  stability: async () => (await import('./vendors/stability.ts')).stability,
  azure: async () => (await import('./vendors/azure.ts')).azure,
  openai: async () => (await import('./vendors/openai.ts')).openai,
  recraft: async () => (await import('./vendors/recraft.ts')).recraft,
  ideogram: async () => (await import('./vendors/ideogram.ts')).ideogram,
  minimax: async () => (await import('./vendors/minimax.ts')).minimax,
  bedrock: async () => (await import('./vendors/bedrock.ts')).bedrock,
  luma: async () => (await import('./vendors/luma.ts')).luma,
  kling: async () => (await import('./vendors/kling.ts')).kling,
  tencent: async () => (await import('./vendors/tencent.ts')).tencent,
  leonardo: async () => (await import('./vendors/leonardo.ts')).leonardo,
  runway: async () => (await import('./vendors/runway.ts')).runway,
}

/** Undefined if there is no upstream with this name. */
export async function findUpstream(name: string): Promise<SimulatedUpstream | undefined> {
  return Object.hasOwn(upstreams, name) ? await upstreams[name as SimulatorName]() : undefined
}
