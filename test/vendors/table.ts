/** What is tried with every vendor. */
export const operations = ['generation', 'edit', 'several', 'stream', 'refusal', 'price', 'job'] as const
export type OperationName = (typeof operations)[number]

/** What is asked in one try, beside the model and a prompt of its own. */
export type Try = {
  readonly size?: string
  readonly n?: number
  readonly more?: { readonly [field: string]: unknown }
  /** Words of the simulator that stand in the prompt. */
  readonly demand?: string
  /** How many pictures the caller sends; none for a generation. */
  readonly sends?: number
  readonly stream?: boolean
  /** How many pictures come. */
  readonly comes?: number
  /** What the pictures look like: `1024x1024 png`. */
  readonly looks?: string
  /** What the caller is charged, where it is not what the vendor charges. */
  readonly amount?: string
  /** The model, where it is another one of the vendor's. */
  readonly model?: string
}

/** Why something cannot be had. */
export type Cannot = { readonly cannot: string }

export type Row = {
  readonly vendor: string
  /** Page of docs/recipes, and the name after `simulator:`. */
  readonly page: string
  readonly simulator: string
  readonly model: string
} & { readonly [name in OperationName]: Try | Cannot }

const noJob = { cannot: 'answers at once' }
const noStream = { cannot: 'has none' }
const flat = { cannot: 'one price for all' }

export const rows: readonly Row[] = [
  {
    vendor: 'OpenAI',
    page: 'openai-gpt-image.md',
    simulator: 'openai',
    model: 'gpt-image-2',
    generation: { size: '1024x1024', looks: '1024x1024 png' },
    edit: { size: '1024x1024', sends: 2, looks: '1024x1024 png' },
    several: { size: '1024x1024', n: 2, looks: '1024x1024 png' },
    stream: { size: '1024x1024', stream: true, more: { partial_images: 2 }, looks: '1024x1024 png' },
    refusal: { demand: '[[refused]]' },
    price: { size: '1536x1024', more: { quality: 'high' }, looks: '1536x1024 png' },
    job: noJob,
  },
  {
    vendor: 'Azure OpenAI',
    page: 'openai-gpt-image.md',
    simulator: 'azure',
    model: 'gpt-image-2-azure',
    generation: { size: '1024x1024', looks: '1024x1024 png' },
    edit: { size: '1024x1024', sends: 1, looks: '1024x1024 png' },
    several: { size: '1024x1024', n: 2, looks: '1024x1024 png' },
    stream: { size: '1024x1024', stream: true, looks: '1024x1024 png' },
    refusal: { demand: '[[refused]]' },
    price: { size: '1024x1024', more: { quality: 'low' }, looks: '1024x1024 png' },
    job: noJob,
  },
  {
    vendor: 'Gemini',
    page: 'gemini-image.md',
    simulator: 'gemini',
    model: 'gemini-3.1-flash-image',
    generation: { size: '1920x1080', looks: '2752x1536 png' },
    edit: { size: '1024x1024', sends: 2, looks: '1024x1024 png' },
    several: { n: 3, demand: '[[thoughts 2]]', looks: '1024x1024 png' },
    stream: { size: '1024x1024', stream: true, demand: '[[thoughts 1]]', looks: '1024x1024 png' },
    refusal: { demand: '[[refused]]' },
    price: { size: '4K', looks: '4096x4096 png' },
    job: noJob,
  },
  {
    vendor: 'Vertex',
    page: 'gemini-image.md',
    simulator: 'gemini',
    model: 'gemini-3-pro-image-vertex',
    generation: { size: '1024x1024', looks: '1024x1024 png' },
    edit: { size: '1536x1024', sends: 1, looks: '1264x848 png' },
    several: { n: 2, looks: '1024x1024 png' },
    stream: { stream: true, looks: '1024x1024 png' },
    refusal: { demand: '[[moderated]]' },
    price: { size: '2K', looks: '2048x2048 png' },
    job: noJob,
  },
  {
    vendor: 'Seedream',
    page: 'seedream.md',
    simulator: 'seedream',
    model: 'seedream-4-0',
    generation: { size: '1024x1024', looks: '1024x1024 jpg' },
    edit: { size: '1024x1024', sends: 2, more: { response_format: 'b64_json' }, looks: '1024x1024 jpg' },
    several: { size: '1024x1024', n: 4, demand: '[[half]]', comes: 2, looks: '1024x1024 jpg' },
    stream: { size: '1024x1024', n: 3, stream: true, demand: '[[half]]', comes: 2, looks: '1024x1024 jpg' },
    refusal: { size: '1024x1024', demand: '[[refused]]' },
    price: flat,
    job: noJob,
  },
  {
    vendor: 'Qwen-Image',
    page: 'qwen-image.md',
    simulator: 'qwen',
    model: 'qwen-image-3.0',
    generation: { size: '1280x720', looks: '1280x720 png' },
    edit: { size: '1024x1024', sends: 2, more: { response_format: 'b64_json' }, looks: '1024x1024 png' },
    several: { n: 3, looks: '1024x1024 png' },
    stream: noStream,
    refusal: { demand: '[[refused]]' },
    price: flat,
    job: noJob,
  },
  {
    vendor: 'xAI',
    page: 'xai-grok-imagine.md',
    simulator: 'xai',
    model: 'grok-imagine-image-2.0',
    generation: { size: '1920x1080', looks: '2736x1536 jpg' },
    edit: { size: '1024x1024', sends: 2, more: { response_format: 'b64_json' }, looks: '1024x1024 jpg' },
    several: { n: 3, demand: '[[half]]', comes: 2, looks: '880x1184 jpg' },
    stream: noStream,
    refusal: { demand: '[[refused]]' },
    price: { size: '1536x1024', more: { quality: 'high' }, looks: '1888x1248 jpg' },
    job: noJob,
  },
  {
    vendor: 'OpenRouter',
    page: 'openrouter-image.md',
    simulator: 'openrouter',
    model: 'google/gemini-3-pro-image',
    generation: { size: '2048x1152', looks: '2736x1536 png' },
    edit: { size: '1024x1024', sends: 2, looks: '1024x1024 png' },
    several: { n: 3, demand: '[[fewer 1]]', comes: 2, looks: '1024x1024 png' },
    stream: { n: 2, stream: true, looks: '1024x1024 png' },
    refusal: { demand: '[[refused]]' },
    price: flat,
    job: noJob,
  },
  {
    vendor: 'OpenRouter, by chat',
    page: 'openrouter-image.md',
    simulator: 'openrouter',
    model: 'google/gemini-2.5-flash-image',
    generation: { size: '1024x1024', looks: '1024x1024 png' },
    edit: { size: '1536x1024', sends: 1, looks: '1248x832 png' },
    several: { n: 2, looks: '1024x1024 png' },
    stream: { stream: true, looks: '1024x1024 png' },
    refusal: { demand: '[[words-only]]' },
    price: flat,
    job: noJob,
  },
  {
    vendor: 'Stability',
    page: 'stability.md',
    simulator: 'stability',
    model: 'stable-image-ultra',
    generation: { size: '1920x1080', looks: '1344x768 png' },
    edit: { sends: 1, looks: '40x30 png' },
    several: { n: 2, looks: '1024x1024 png' },
    stream: noStream,
    refusal: { demand: '[[moderated]]' },
    price: flat,
    job: noJob,
  },
  {
    vendor: 'fal, ratio and resolution',
    page: 'fal.md',
    simulator: 'fal',
    model: 'fal-ai/nano-banana-2',
    generation: { size: '1920x1080', looks: '2736x1536 png' },
    edit: { size: '1024x1024', sends: 2, looks: '1024x1024 png' },
    several: { n: 3, demand: '[[half]]', comes: 2, looks: '1024x1024 png' },
    stream: noStream,
    refusal: { demand: '[[refused]]' },
    price: { size: '4K', looks: '4096x4096 png' },
    job: noJob,
  },
  {
    vendor: 'fal, pixels',
    page: 'fal.md',
    simulator: 'fal',
    model: 'fal-ai/flux/dev',
    generation: { size: '1280x720', looks: '1280x720 jpg' },
    // Of the vendor's own list an edit is another model, of another price.
    edit: { size: '1024x1024', sends: 1, looks: '1024x1024 jpg', amount: '0.05' },
    several: { n: 2, looks: '1024x1024 jpg' },
    stream: noStream,
    refusal: { demand: '[[refused]]' },
    price: { size: '2048x1536', looks: '2048x1536 jpg' },
    job: noJob,
  },
  {
    vendor: 'Replicate',
    page: 'replicate.md',
    simulator: 'replicate',
    model: 'black-forest-labs/flux-dev',
    generation: { size: '1920x1080', looks: '1360x768 png' },
    edit: { size: '1024x1024', sends: 1, looks: '1024x1024 png' },
    several: { n: 3, demand: '[[half]]', comes: 2, looks: '1024x1024 png' },
    stream: noStream,
    refusal: { demand: '[[refused]]' },
    price: flat,
    job: { demand: '[[late]]', looks: '1024x1024 png' },
  },
  {
    vendor: 'Recraft',
    page: 'recraft.md',
    simulator: 'recraft',
    model: 'recraftv3',
    generation: { size: '1920x1080', looks: '1820x1024 webp' },
    edit: { sends: 1, looks: '40x30 webp' },
    several: { n: 2, more: { response_format: 'b64_json' }, looks: '1024x1024 webp' },
    stream: noStream,
    refusal: { demand: '[[refused]]' },
    price: flat,
    job: noJob,
  },
  {
    vendor: 'Ideogram',
    page: 'ideogram.md',
    simulator: 'ideogram',
    model: 'ideogram-v3',
    generation: { size: '1920x1080', looks: '1376x768 png' },
    edit: { size: '1024x1024', sends: 1, looks: '1024x1024 png' },
    several: { n: 3, demand: '[[half]]', comes: 2, looks: '1024x1024 png' },
    stream: noStream,
    refusal: { demand: '[[moderated]]' },
    price: { more: { quality: 'high' }, looks: '1024x1024 png' },
    job: noJob,
  },
  {
    vendor: 'MiniMax H3',
    page: 'minimax.md',
    simulator: 'minimax',
    model: 'MiniMax-H3-Image',
    generation: { size: '1280x720', looks: '1280x720 png' },
    edit: { sends: 2, more: { response_format: 'b64_json' }, looks: '1024x1024 png' },
    several: { n: 3, looks: '1024x1024 png' },
    stream: { n: 3, stream: true, looks: '1024x1024 png' },
    refusal: { demand: '[[refused]]' },
    price: flat,
    job: noJob,
  },
  {
    vendor: 'MiniMax image-01',
    page: 'minimax.md',
    simulator: 'minimax',
    model: 'image-01',
    generation: { size: '1920x1080', looks: '1280x720 jpg' },
    edit: { cannot: 'takes a face alone' },
    several: { n: 3, demand: '[[half]]', more: { response_format: 'b64_json' }, comes: 2, looks: '1024x1024 jpg' },
    stream: noStream,
    refusal: { demand: '[[moderated]]' },
    price: flat,
    job: noJob,
  },
  {
    vendor: 'Bedrock',
    page: 'bedrock.md',
    simulator: 'bedrock',
    model: 'stable-diffusion-3.5-large',
    generation: { size: '1920x1080', looks: '1344x768 png' },
    edit: { sends: 1, looks: '40x30 png' },
    several: { n: 2, looks: '1024x1024 png' },
    stream: noStream,
    refusal: { demand: '[[refused]]' },
    price: flat,
    job: noJob,
  },
  {
    vendor: 'FLUX',
    page: 'flux.md',
    simulator: 'flux',
    model: 'flux-2-pro',
    generation: { size: '1024x1024', looks: '1024x1024 jpg' },
    edit: { size: '1024x1024', sends: 2, looks: '1024x1024 jpg' },
    several: { n: 3, looks: '1024x1024 jpg' },
    stream: noStream,
    refusal: { demand: '[[refused]]' },
    price: { size: '2048x1024', looks: '2048x1024 jpg' },
    job: { demand: '[[polls 3]]', looks: '1024x1024 jpg' },
  },
  {
    vendor: 'fal, by its queue',
    page: 'fal-queue.md',
    simulator: 'fal-queue',
    model: 'fal-ai/nano-banana-pro',
    generation: { size: '1024x1024', looks: '1024x1024 png' },
    edit: { size: '1024x1024', sends: 2, looks: '1024x1024 png' },
    several: { n: 3, demand: '[[half]]', comes: 2, looks: '1024x1024 png' },
    stream: noStream,
    refusal: { demand: '[[refused]]' },
    price: { size: '4K', looks: '4096x4096 png' },
    job: { demand: '[[polls 3]]', looks: '1024x1024 png' },
  },
  {
    vendor: 'Wan',
    page: 'wan.md',
    simulator: 'qwen',
    model: 'wan2.7-image',
    generation: { size: '1280x720', looks: '1280x720 png' },
    edit: { size: '1024x1024', sends: 2, looks: '1024x1024 png' },
    several: { n: 3, demand: '[[half]]', comes: 2, looks: '1024x1024 png' },
    stream: noStream,
    refusal: { demand: '[[refused]]' },
    price: flat,
    job: { demand: '[[polls 3]]', looks: '1024x1024 png' },
  },
  {
    vendor: 'Luma',
    page: 'luma.md',
    simulator: 'luma',
    model: 'photon-1',
    generation: { size: '1920x1080', looks: '1888x1056 png' },
    edit: { cannot: 'takes links alone' },
    several: { size: '1024x1024', n: 2, looks: '1408x1408 png' },
    stream: noStream,
    refusal: { demand: '[[refused]]' },
    price: flat,
    job: { size: '1024x1024', demand: '[[polls 3]]', looks: '1408x1408 png' },
  },
  {
    vendor: 'Kling',
    page: 'kling.md',
    simulator: 'kling',
    model: 'kling-v2-1',
    generation: { size: '1024x1024', looks: '1024x1024 png' },
    edit: { size: '1024x1024', sends: 1, looks: '1024x1024 png' },
    several: { size: '1024x1024', n: 3, demand: '[[half]]', comes: 2, looks: '1024x1024 png' },
    stream: noStream,
    refusal: { demand: '[[refused]]' },
    price: flat,
    job: { size: '1024x1024', demand: '[[polls 3]]', looks: '1024x1024 png' },
  },
  {
    vendor: 'Leonardo',
    page: 'leonardo.md',
    simulator: 'leonardo',
    model: 'leonardo-phoenix',
    generation: { size: '1024x768', looks: '1024x768 jpg' },
    edit: { cannot: 'takes uploads alone' },
    several: { n: 2, looks: '1024x1024 jpg' },
    stream: noStream,
    refusal: { demand: '[[refused]]' },
    price: flat,
    job: { demand: '[[polls 3]]', looks: '1024x1024 jpg' },
  },
  {
    vendor: 'Runway',
    page: 'runway.md',
    simulator: 'runway',
    model: 'gen4_image',
    generation: { size: '1920x1080', looks: '1920x1080 png' },
    edit: { size: '1024x1024', sends: 2, looks: '1024x1024 png' },
    several: { n: 2, looks: '1024x1024 png' },
    stream: noStream,
    refusal: { demand: '[[refused]]' },
    price: flat,
    job: { demand: '[[polls 3]]', looks: '1024x1024 png' },
  },
  {
    vendor: 'Hunyuan',
    page: 'hunyuan.md',
    simulator: 'tencent',
    model: 'hunyuan-image',
    generation: { size: '1024x768', looks: '1024x768 jpg' },
    edit: { size: '1024x1024', sends: 1, looks: '1024x1024 jpg' },
    several: { n: 3, demand: '[[half]]', comes: 2, looks: '1024x1024 jpg' },
    stream: noStream,
    refusal: { demand: '[[refused]]' },
    price: flat,
    job: { demand: '[[polls 3]]', looks: '1024x1024 jpg' },
  },
]

/** The table of docs/recipes: what was tried, and why something cannot be had. `linesOf` counts the lines of YAML. */
export function writeTable(linesOf: (row: Row) => number): string {
  const head = ['pictures of', ...operations, 'lines']
  const lines = rows.map(row => {
    const cells = operations.map(name => ('cannot' in row[name] ? `– ${row[name].cannot}` : 'yes'))
    return [`[${row.vendor}](${row.page})`, ...cells, String(linesOf(row))]
  })
  return [head, head.map(() => '---'), ...lines].map(cells => `| ${cells.join(' | ')} |\n`).join('')
}
