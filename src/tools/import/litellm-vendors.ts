/** How an upstream is reached that LiteLLM knows by the prefix of a model's name. */
export type Vendor = {
  /** Absent where the file has to say it. */
  readonly url?: string
  /** Whose wire style it speaks: callers are passed on in it. */
  readonly style: 'openai' | 'anthropic' | 'google' | 'cohere'
  /** The variable that LiteLLM takes the key from when the file names none. */
  readonly key?: string
  /** What goes between the address in the file and the paths of routes. */
  readonly path?: string
}

/** Addresses that the paths of routes (`/v1/…`) are appended to. */
export const vendors: { readonly [prefix: string]: Vendor } = {
  anthropic: { url: 'https://api.anthropic.com', style: 'anthropic', key: 'ANTHROPIC_API_KEY' },
  azure: { style: 'openai', key: 'AZURE_API_KEY', path: '/openai' },
  cohere: { url: 'https://api.cohere.com', style: 'cohere', key: 'COHERE_API_KEY' },
  deepseek: { url: 'https://api.deepseek.com', style: 'openai', key: 'DEEPSEEK_API_KEY' },
  fireworks_ai: { url: 'https://api.fireworks.ai/inference', style: 'openai', key: 'FIREWORKS_AI_API_KEY' },
  gemini: { url: 'https://generativelanguage.googleapis.com', style: 'google', key: 'GEMINI_API_KEY' },
  groq: { url: 'https://api.groq.com/openai', style: 'openai', key: 'GROQ_API_KEY' },
  hosted_vllm: { style: 'openai' },
  litellm_proxy: { style: 'openai' },
  lm_studio: { style: 'openai' },
  mistral: { url: 'https://api.mistral.ai', style: 'openai', key: 'MISTRAL_API_KEY' },
  ollama: { url: 'http://127.0.0.1:11434', style: 'openai' },
  ollama_chat: { url: 'http://127.0.0.1:11434', style: 'openai' },
  openai: { url: 'https://api.openai.com', style: 'openai', key: 'OPENAI_API_KEY' },
  openai_like: { style: 'openai' },
  openrouter: { url: 'https://openrouter.ai/api', style: 'openai', key: 'OPENROUTER_API_KEY' },
  together_ai: { url: 'https://api.together.xyz', style: 'openai', key: 'TOGETHERAI_API_KEY' },
  vllm: { style: 'openai' },
  xai: { url: 'https://api.x.ai', style: 'openai', key: 'XAI_API_KEY' },
}
