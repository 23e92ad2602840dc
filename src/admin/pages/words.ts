import type { SizeMismatch } from '../../kit/index.ts'
import { operations } from '../../operations/index.ts'
import type { Language } from './language.ts'

type Sources = readonly ('output' | 'request')[]

/** What the operations are called whose prices go by sizes. */
function choicesOf(language: Language): { readonly [name: string]: string } {
  const choices = operations.map(({ name, words }) => [name, words[language].choice] as const)
  return Object.fromEntries(choices.flatMap(([name, choice]) => (choice === undefined ? [] : [[name, choice]])))
}

const en = {
  frame: {
    name: 'English',
    skip: 'To the content',
    site: 'Pages',
    language: 'Language',
    pages: { '/pricing': 'Prices', '/docs': 'API reference', '/console': 'Console' },
  },
  pricing: {
    title: 'Prices',
    description: 'What every model costs, how the tier of an image is decided, and a calculator.',
    lead: (currency: string) =>
      `All amounts are in ${currency}. This page is computed by the functions that charge, from the configuration in use.`,
    calculator: 'What will it cost?',
    model: 'Model',
    operation: 'Operation',
    operations: choicesOf('en'),
    size: 'Size',
    sizeHint: (labels: readonly string[]) =>
      `Width x height, as in 1024x1024${labels.map(label => `, or ${label}`).join('')}; may be empty.`,
    count: 'Images',
    calculate: 'Calculate',
    refused: 'The gateway would refuse this request:',
    countWrong: 'The number of images is a whole number of 1 or more.',
    expected: (tier: string, source: string) => `Tier ${tier}, decided by ${source}.`,
    sources: {
      output: 'the image that comes back',
      request: 'the size asked for',
      default: 'the rule for requests without a size',
    } as { [source: string]: string },
    comesBack: (size: string) => `Comes back as ${size}.`,
    undecided: 'Only the image that comes back decides its tier.',
    atMost: (amount: string) =>
      `At most ${amount} is reserved before the request goes out; images that do not come back are not charged.`,
    images: 'Image models',
    perImage:
      'An image is charged by the tier of its long edge, and only when it comes back. Tokens do not count, and group multipliers do not apply: the price shown is the price.',
    family: (name: string) => `Family ${name}`,
    tier: 'Tier',
    longEdge: 'Long edge',
    edges: {
      first: (to: number) => `up to ${to} px`,
      middle: (from: number, to: number) => `${from} to ${to} px`,
      last: (from: number) => `from ${from} px`,
      all: 'any',
    },
    price: 'Price',
    pricePerImage: 'Price per image',
    remark: 'Remark',
    never: (edge: number) => `Cannot occur: the long edge of these images is never below ${edge} px.`,
    rare: (edge: number) => `Practically never: the longest edge in the table of sizes is ${edge} px.`,
    rule: (from: Sources, otherwise: string): string => {
      const [first, second] = from
      if (first === 'output' && !second)
        return `The image that comes back sets the price: its pixels are measured, whatever size was asked for. An image whose pixels cannot be read is charged as ${otherwise}.`
      if (first === 'request' && !second)
        return `The size asked for sets the price, by its long edge, whatever comes back. Without a size it is ${otherwise}.`
      if (first === 'output')
        return `The image that comes back sets the price; where its pixels cannot be read, the size asked for does; without one it is ${otherwise}.`
      return `The size asked for sets the price; without one, the image that comes back does; where its pixels cannot be read it is ${otherwise}.`
    },
    sizes: 'What sizes come to',
    asked: 'Size asked for',
    noSize: 'none',
    returned: (operation: string) => `${operation}: comes back`,
    shape: (resolution: string | null, ratio: string | null): string => {
      if (ratio !== null) return resolution === null ? ratio : `${resolution}, ${ratio}`
      return resolution === null ? 'the model decides' : `${resolution}, the model picks the shape`
    },
    inPractice: (tier: string) => `${tier} in practice`,
    byImage: 'by the image',
    mismatch: ({ kind, billed, made, returned, cheaper }: SizeMismatch): string => {
      if (kind === 'ignored') return `The size does not set the price: ${returned} comes back, which is ${made}.`
      if (kind === 'dearer')
        return `Charged ${billed}, but no more than ${made} is made of it${returned ? ` (${returned})` : ''}. Ask for ${cheaper}: the same pixels, charged ${made}.`
      return `Charged ${billed} by the size asked for, although ${returned} comes back (${made} by its long edge).`
    },
    notes: 'Good to know',
    use: 'Models charged by use',
    useLead: "Amounts are multiplied by the multiplier of the caller's group.",
    unit: 'What is charged',
    units: {
      input: 'Input tokens',
      cached_input: 'Cached input tokens',
      output: 'Output tokens',
      character: 'Characters',
      second: 'Audio',
      search_unit: 'Search units',
      request: 'Requests',
    } as { [unit: string]: string },
    per: {
      input: 'per million',
      cached_input: 'per million',
      output: 'per million',
      character: 'per million',
      second: 'per second',
      search_unit: 'each',
      request: 'each',
    } as { [unit: string]: string },
    free: 'free',
    nothing: 'No model is on offer.',
    json: 'The same as JSON',
  },
}

export type Words = typeof en

const zh: Words = {
  frame: {
    name: '中文',
    skip: '跳到正文',
    site: '页面',
    language: '语言',
    pages: { '/pricing': '价格', '/docs': 'API 文档', '/console': '控制台' },
  },
  pricing: {
    title: '价格',
    description: '每个模型的价格、图片档位的判定方式，以及价格计算器。',
    lead: currency => `所有金额以 ${currency} 计。本页由实际计费所用的同一组函数根据当前配置算出。`,
    calculator: '一次请求多少钱？',
    model: '模型',
    operation: '操作',
    operations: choicesOf('zh'),
    size: '大小',
    sizeHint: labels => `宽x高，例如 1024x1024${labels.map(label => `，或 ${label}`).join('')}；可留空。`,
    count: '数量',
    calculate: '计算',
    refused: '网关会拒绝这个请求：',
    countWrong: '图片数量必须是不小于 1 的整数。',
    expected: (tier, source) => `图片档位 ${tier}，由${source}决定。`,
    sources: { output: '返回的图片', request: '请求的大小', default: '未指定大小时的规则' },
    comesBack: size => `返回 ${size}。`,
    undecided: '图片档位只能由返回的图片决定。',
    atMost: amount => `请求发出前最多预留 ${amount}；没有返回的图片不收费。`,
    images: '图片模型',
    perImage: '图片按长边所属的档位计费，只对实际返回的图片收费。不按词元计费，也不乘分组倍率：所示价格即最终价格。',
    family: name => `系列 ${name}`,
    tier: '图片档位',
    longEdge: '长边',
    edges: {
      first: to => `不超过 ${to} 像素`,
      middle: (from, to) => `${from} 至 ${to} 像素`,
      last: from => `${from} 像素及以上`,
      all: '不限',
    },
    price: '价格',
    pricePerImage: '每张价格',
    remark: '说明',
    never: edge => `不会出现：这类图片的长边不会小于 ${edge} 像素。`,
    rare: edge => `实际上不会出现：大小对照表中最长的边为 ${edge} 像素。`,
    rule: (from, otherwise) => {
      const [first, second] = from
      if (first === 'output' && !second)
        return `价格由返回的图片决定：无论请求什么大小，都以图片的实际像素为准。像素无法读取的图片按 ${otherwise} 计费。`
      if (first === 'request' && !second)
        return `价格由请求的大小按长边决定，与返回的图片无关。未指定大小时按 ${otherwise} 计费。`
      if (first === 'output')
        return `价格由返回的图片决定；像素无法读取时由请求的大小决定；也没有指定大小时按 ${otherwise} 计费。`
      return `价格由请求的大小决定；未指定时由返回的图片决定；像素也无法读取时按 ${otherwise} 计费。`
    },
    sizes: '各种大小的结果',
    asked: '请求的大小',
    noSize: '未指定',
    returned: operation => `${operation}返回`,
    shape: (resolution, ratio) => {
      if (ratio !== null) return resolution === null ? ratio : `${resolution}，${ratio}`
      return resolution === null ? '由模型决定' : `${resolution}，形状由模型决定`
    },
    inPractice: tier => `实际为 ${tier}`,
    byImage: '由图片决定',
    mismatch: ({ kind, billed, made, returned, cheaper }) => {
      if (kind === 'ignored') return `请求的大小不影响价格：返回 ${returned}，属 ${made}。`
      if (kind === 'dearer')
        return `按 ${billed} 计费，但最多只生成 ${made} 的图片${returned ? `（${returned}）` : ''}。改为请求 ${cheaper}，像素相同，按 ${made} 计费。`
      return `按请求的大小计为 ${billed}，尽管返回的是 ${returned}（按长边属 ${made}）。`
    },
    notes: '使用须知',
    use: '按用量计费的模型',
    useLead: '金额会乘以调用方所在分组的倍率。',
    unit: '计费项',
    units: {
      input: '输入词元',
      cached_input: '缓存命中的输入词元',
      output: '输出词元',
      character: '字符',
      second: '音频',
      search_unit: '检索单元',
      request: '请求',
    },
    per: {
      input: '每百万',
      cached_input: '每百万',
      output: '每百万',
      character: '每百万',
      second: '每秒',
      search_unit: '每个',
      request: '每次',
    },
    free: '免费',
    nothing: '目前没有可用的模型。',
    json: '以 JSON 查看',
  },
}

/** Every word of the pages in every language. What one language says the other has to say: the type asks for it. */
export const words: { readonly [language in Language]: Words } = { en, zh }
