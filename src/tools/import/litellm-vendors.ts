import type { Style } from './styles.ts'

/** The connection to an upstream that LiteLLM selects by the prefix of a model's name. */
export type Vendor = {
  /** Absent if the file has to contain it. */
  readonly url?: string
  readonly style: Style
  /** The variable from which LiteLLM reads the key if the file has none. */
  readonly key?: string
  /** The path between the address in the file and the paths of routes. */
  readonly path?: string
  /** `/chat/completions` is appended to its address, without `/v1`. */
  readonly isBare?: true
  /** The only mode that it serves. */
  readonly only?: string
  /** `outcomes` of the upstream, as YAML: the meaning of refusals that the usual table does not have. */
  readonly outcomes?: string
  /** Operators run it on their own machines, unless its address differs. */
  readonly isLocal?: true
}

/** Addresses to which the paths of routes (`/v1/…`) are appended. */
export const vendors: { readonly [prefix: string]: Vendor } = {
  anthropic: { url: 'https://api.anthropic.com', style: 'anthropic', key: 'ANTHROPIC_API_KEY', only: 'chat' },
  azure_ai: { style: 'openai', key: 'AZURE_AI_API_KEY', path: '/openai' },
  azure: { style: 'openai', key: 'AZURE_API_KEY', path: '/openai' },
  cerebras: { url: 'https://api.cerebras.ai', style: 'openai', key: 'CEREBRAS_API_KEY', only: 'chat' },
  cohere: { url: 'https://api.cohere.com', style: 'cohere', key: 'COHERE_API_KEY' },
  dashscope: {
    url: 'https://dashscope-intl.aliyuncs.com/compatible-mode',
    style: 'openai',
    key: 'DASHSCOPE_API_KEY',
  },
  deepinfra: {
    url: 'https://api.deepinfra.com/v1/openai',
    style: 'openai',
    key: 'DEEPINFRA_API_KEY',
    isBare: true,
  },
  deepseek: { url: 'https://api.deepseek.com', style: 'openai', key: 'DEEPSEEK_API_KEY', only: 'chat' },
  elevenlabs: {
    url: 'https://api.elevenlabs.io',
    style: 'elevenlabs',
    key: 'ELEVENLABS_API_KEY',
    // A shorter text may cost no more than the remaining quota.
    outcomes: '[{ status: 401, codes: [quota_exceeded], class: not_sold, key: no_credit, confirm: true }]',
  },
  fireworks_ai: { url: 'https://api.fireworks.ai/inference', style: 'openai', key: 'FIREWORKS_AI_API_KEY' },
  gemini: { url: 'https://generativelanguage.googleapis.com', style: 'google', key: 'GEMINI_API_KEY' },
  groq: { url: 'https://api.groq.com/openai', style: 'openai', key: 'GROQ_API_KEY' },
  hosted_vllm: { style: 'openai', isLocal: true },
  litellm_proxy: { style: 'openai' },
  llamafile: { url: 'http://127.0.0.1:8080', style: 'openai', isLocal: true },
  lm_studio: { style: 'openai', isLocal: true },
  mistral: { url: 'https://api.mistral.ai', style: 'openai', key: 'MISTRAL_API_KEY' },
  moonshot: { url: 'https://api.moonshot.ai', style: 'openai', key: 'MOONSHOT_API_KEY', only: 'chat' },
  nvidia_nim: { url: 'https://integrate.api.nvidia.com', style: 'openai', key: 'NVIDIA_NIM_API_KEY' },
  ollama: { url: 'http://127.0.0.1:11434', style: 'openai', isLocal: true },
  ollama_chat: { url: 'http://127.0.0.1:11434', style: 'openai', only: 'chat', isLocal: true },
  openai: { url: 'https://api.openai.com', style: 'openai', key: 'OPENAI_API_KEY' },
  openai_like: { style: 'openai' },
  openrouter: { url: 'https://openrouter.ai/api', style: 'openai', key: 'OPENROUTER_API_KEY' },
  perplexity: {
    url: 'https://api.perplexity.ai',
    style: 'openai',
    key: 'PERPLEXITYAI_API_KEY',
    only: 'chat',
    isBare: true,
  },
  sambanova: { url: 'https://api.sambanova.ai', style: 'openai', key: 'SAMBANOVA_API_KEY' },
  together_ai: { url: 'https://api.together.xyz', style: 'openai', key: 'TOGETHERAI_API_KEY' },
  vllm: { style: 'openai', isLocal: true },
  xai: { url: 'https://api.x.ai', style: 'openai', key: 'XAI_API_KEY' },
}
