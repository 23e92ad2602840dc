/** The names of the simulated upstreams, in a module that does not load the code that draws pictures. */
export const simulatorNames = [
  'alpha',
  'beta',
  'text',
  'gemini',
  'flux',
  'fal',
  'fal-queue',
  'qwen',
  'seedream',
  'xai',
  'openrouter',
  'replicate',
  'stability',
  'azure',
  'openai',
  'recraft',
  'ideogram',
  'minimax',
  'bedrock',
  'luma',
  'kling',
  'tencent',
  'leonardo',
  'runway',
] as const

export type SimulatorName = (typeof simulatorNames)[number]
