/**
 * The values of `gen_ai.provider.name` in the conventions, by the host that is called. Hosts of others have no value there:
 * the name of the upstream is used.
 */
const providers: readonly (readonly [host: RegExp, provider: string])[] = [
  [/^api\.openai\.com$/, 'openai'],
  [/\.openai\.azure\.com$/, 'azure.ai.openai'],
  [/\.(?:inference|services)\.ai\.azure\.com$/, 'azure.ai.inference'],
  [/^api\.anthropic\.com$/, 'anthropic'],
  [/^generativelanguage\.googleapis\.com$/, 'gcp.gemini'],
  [/(?:^|-)aiplatform\.googleapis\.com$/, 'gcp.vertex_ai'],
  [/^bedrock(?:-runtime)?\.[\w-]+\.amazonaws\.com$/, 'aws.bedrock'],
  [/^api\.cohere\.(?:com|ai)$/, 'cohere'],
  [/^api\.deepseek\.com$/, 'deepseek'],
  [/^api\.groq\.com$/, 'groq'],
  [/^api\.mistral\.ai$/, 'mistral_ai'],
  [/^api\.perplexity\.ai$/, 'perplexity'],
  [/^api\.x\.ai$/, 'x_ai'],
]

/** Where an upstream is, as the conventions describe it. Undefined for a simulated one. */
export type Server = { readonly provider: string | undefined; readonly address: string; readonly port: number }

export function serverOf(url: string): Server | undefined {
  if (!URL.canParse(url)) return undefined
  const { hostname, port, protocol } = new URL(url)
  if (hostname === '') return undefined
  const address = hostname.replace(/^\[|\]$/g, '')
  return {
    provider: providers.find(([host]) => host.test(address))?.[1],
    address,
    port: port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port),
  }
}
