import { seeded } from './seed.ts'

/** How a client writes text that is not ASCII: unchanged (JSON.stringify), or as escapes (Python's json.dumps). */
export type Writing = 'raw' | 'escaped'

const code = `export async function settle(charge: Charge): Promise<void> {
  const { lines, "hold": held } = await ledger.read(charge.id)
\tif (lines.length === 0) throw new Error(\`no line of "\${charge.id}"\\n\`)
  return lines.map(line => line.price / 1e6).filter(price => price > 0)
}
`
const python = `def load(path: str) -> dict:
    """Reads C:\\\\data\\\\in.json and says 'what' is "there"."""
    with open(path, encoding="utf-8") as file:
        return {k: v for k, v in json.load(file).items() if k != "\\t"}
`
const prose = `The harbour is quiet, and the lamps stand in the water — “as if”, she said, “nobody had ever left”.
He didn't answer; it was 3/4 past nine, 50% of the boats (12) were out, and the café was closed.
`
const chinese = `请把这段代码重构一下：先读取配置，再校验每一个字段；如果缺少“价格”，就返回错误。
港口很安静，灯光映在水里。第1步：打开文件；第2步：解析JSON；第3步：写回数据库。😀
`
const texts = [code, prose, chinese, python] as const

/** Typical messages of about `bytes` bytes: code, prose and Chinese in turn, the same for the same seed. */
export function conversation(options: {
  readonly bytes: number
  readonly model?: string
  readonly stream?: boolean
  readonly writing?: Writing
  readonly pretty?: boolean
  readonly seed?: number
}): Buffer {
  const { bytes, model = 'bench-chat', stream = false, writing = 'raw', pretty = false, seed = 1 } = options
  const random = seeded(seed)
  const messages: object[] = [{ role: 'system', content: `You are a careful engineer.\n${prose}` }]
  const body = { model, stream, temperature: 0.7, messages, tools: tools(3) }
  let length = Buffer.byteLength(write(body, writing, pretty))
  while (length < bytes) {
    const message = {
      role: messages.length % 2 === 1 ? 'user' : 'assistant',
      content: paragraphs(random, bytes - length),
    }
    messages.push(message)
    length += Buffer.byteLength(write(message, writing, pretty))
  }
  return Buffer.from(write(body, writing, pretty))
}

function paragraphs(random: () => number, bytesMax: number): string {
  let text = ''
  const wanted = Math.min(bytesMax, 400 + random() * 3_000)
  while (Buffer.byteLength(text) < wanted) text += `${texts[Math.floor(random() * texts.length)]}\n`
  return text
}

/** Schemas of tools in the form that SDKs write. */
export function tools(count: number): readonly object[] {
  return Array.from({ length: count }, (_, i) => ({
    type: 'function',
    function: {
      name: `look_up_${i}`,
      description: `Looks up a "row" by its id.\n查询第 ${i} 张表的一行，返回 JSON。`,
      parameters: {
        type: 'object',
        additionalProperties: false,
        required: ['id', 'fields'],
        properties: {
          id: { type: 'string', pattern: '^[A-Z]{2}-\\d+$', description: 'The row; see C:\\tables' },
          fields: { type: 'array', items: { enum: ['name', 'price', 'stock', 'note'] }, maxItems: 4 },
          options: {
            type: 'object',
            properties: { deep: { type: 'boolean', default: false }, limit: { type: 'integer' } },
          },
        },
      },
    },
  }))
}

/** A question with a picture of `bytes` bytes, as a data URL in a message; PHP and others escape its slashes. */
export function pictureQuestion(options: {
  readonly bytes: number
  readonly model?: string
  readonly slashes?: 'plain' | 'escaped'
  readonly seed?: number
}): Buffer {
  const { bytes, model = 'bench-chat', slashes = 'plain', seed = 1 } = options
  const url = `data:image/png;base64,${noise(bytes, seed).toString('base64')}`
  const content = [
    { type: 'text', text: 'What is on this picture? 图里有什么？' },
    { type: 'image_url', image_url: { url, detail: 'high' } },
  ]
  const text = JSON.stringify({ model, messages: [{ role: 'user', content }] })
  return Buffer.from(slashes === 'plain' ? text : text.replaceAll('/', '\\/'))
}

/** Bytes without a pattern, the same for the same seed. */
export function noise(bytes: number, seed = 1): Buffer {
  const random = seeded(seed)
  const block = Buffer.alloc(Math.min(bytes, 65_536))
  for (let i = 0; i < block.length; i++) block[i] = random() * 256
  return Buffer.alloc(bytes, block)
}

function write(value: object, writing: Writing, pretty: boolean): string {
  const text = JSON.stringify(value, undefined, pretty ? 2 : undefined)
  if (writing === 'raw') return text
  return text.replaceAll(/[\u0080-\uffff]/g, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
