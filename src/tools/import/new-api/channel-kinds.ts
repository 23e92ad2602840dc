import type { Style } from '../styles.ts'

/** The two gateways: they number their vendors differently. */
export type Kind = 'new-api' | 'one-api'

/** How to connect to a channel of a type. */
export type ChannelKind = {
  readonly name: string
  /** The default address of the channel; absent if each channel needs one. */
  readonly url?: string
  readonly style: Style
  /** `/chat/completions` is appended to its address and this, without `/v1`. */
  readonly bare?: string
  /** The path between the address of the channel and the paths of routes. */
  readonly path?: string
  readonly isLocal?: true
}

const kind = (name: string, url?: string, more: Partial<ChannelKind> = {}): ChannelKind => ({
  name,
  ...(url !== undefined && { url }),
  style: 'openai',
  ...more,
})

const openai = kind('openai', 'https://api.openai.com')
const azure = kind('azure', undefined, { path: '/openai' })
const ollama = kind('ollama', 'http://127.0.0.1:11434', { isLocal: true })
const anthropic = kind('anthropic', 'https://api.anthropic.com', { style: 'anthropic' })
const ali = kind('dashscope', 'https://dashscope.aliyuncs.com', { path: '/compatible-mode' })
const openrouter = kind('openrouter', 'https://openrouter.ai/api')
const gemini = kind('gemini', 'https://generativelanguage.googleapis.com', { style: 'google' })
const moonshot = kind('moonshot', 'https://api.moonshot.cn')
const lingyi = kind('lingyiwanwu', 'https://api.lingyiwanwu.com')
const cohere = kind('cohere', 'https://api.cohere.com', { style: 'cohere' })
const siliconflow = kind('siliconflow', 'https://api.siliconflow.cn')
const mistral = kind('mistral', 'https://api.mistral.ai')
const deepseek = kind('deepseek', 'https://api.deepseek.com')
const volc = kind('volcengine', 'https://ark.cn-beijing.volces.com', { bare: '/api/v3' })
const xai = kind('xai', 'https://api.x.ai')
const own = kind('custom')
const qianfan = kind('qianfan', 'https://qianfan.baidubce.com', { bare: '/v2' })
const perplexity = kind('perplexity', 'https://api.perplexity.ai', { bare: '' })
const zhipu = kind('zhipu', 'https://open.bigmodel.cn', { bare: '/api/paas/v4' })

/** By the number in `channels.type`: only types that need an address and a key, and no translation of bodies. */
export const channelKinds: { readonly [K in Kind]: { readonly [type: string]: ChannelKind } } = {
  'new-api': {
    1: openai,
    3: azure,
    4: ollama,
    6: own,
    7: own,
    14: anthropic,
    17: ali,
    20: openrouter,
    24: gemini,
    25: moonshot,
    26: zhipu,
    27: perplexity,
    31: lingyi,
    34: cohere,
    40: siliconflow,
    42: mistral,
    43: deepseek,
    45: volc,
    46: qianfan,
    47: own,
    48: xai,
  },
  'one-api': {
    1: openai,
    3: azure,
    14: anthropic,
    20: openrouter,
    24: gemini,
    25: moonshot,
    28: mistral,
    29: kind('groq', 'https://api.groq.com/openai'),
    30: ollama,
    31: lingyi,
    32: kind('stepfun', 'https://api.stepfun.com'),
    35: cohere,
    36: deepseek,
    39: kind('together', 'https://api.together.xyz'),
    40: volc,
    44: siliconflow,
    45: xai,
    47: qianfan,
    49: ali,
    50: own,
  },
}
