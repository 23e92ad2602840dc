import type { CodeSample } from './types.ts'

type Call = { readonly baseUrl: string; readonly path: string; readonly model: string }

/** Ready-to-paste requests for an operation, in the order to show them; `model` is one that takes it. */
export function writeSamples(operation: string, call: Call): readonly CodeSample[] {
  return samples[operation]?.(call) ?? []
}

const bearer = 'Authorization: Bearer $API_KEY'

function shell({ baseUrl, path, model }: Call, options: readonly string[]): CodeSample {
  const url = quote(`${baseUrl}${path.replace('{model}', () => encodeURIComponent(model))}`)
  return { lang: 'Shell', label: 'curl', source: [`curl ${url}`, ...options].join(' \\\n  ') }
}

/** `headers` carry the key, as the style of the endpoint has it. */
function curl(call: Call, body: object, headers: readonly string[] = [bearer]): CodeSample {
  const sent = [...headers, 'Content-Type: application/json'].map(header => `-H "${header}"`)
  return shell(call, [...sent, `-d ${quote(JSON.stringify(body, null, 2))}`])
}

function form(call: Call, parts: readonly string[]): CodeSample {
  return shell(call, [`-H "${bearer}"`, ...parts.map(part => `-F ${quote(part)}`)])
}

function get(call: Call): CodeSample {
  return shell(call, [`-H "${bearer}"`])
}

function python(lines: readonly string[]): CodeSample {
  return { lang: 'Python', label: 'Python', source: lines.join('\n') }
}

function node(lines: readonly string[]): CodeSample {
  return { lang: 'JavaScript', label: 'Node', source: lines.join('\n') }
}

/** With the SDK of the chat-completions style. */
function pythonOpenai({ baseUrl }: Call, lines: readonly string[], imports: readonly string[] = []): CodeSample {
  const client = `client = OpenAI(base_url=${write(`${baseUrl}/v1`)}, api_key=os.environ["API_KEY"])`
  return python([...imports, 'import os', 'from openai import OpenAI', '', client, ...lines])
}

function nodeOpenai({ baseUrl }: Call, lines: readonly string[], imports = "import OpenAI from 'openai'"): CodeSample {
  const client = `const client = new OpenAI({ baseURL: ${write(`${baseUrl}/v1`)}, apiKey: process.env.API_KEY })`
  return node([imports, '', client, ...lines])
}

/** A value as JSON, Python and JavaScript read it, with air in it. */
function write(value: unknown): string {
  return JSON.stringify(value).replaceAll('":"', '": "').replaceAll('","', '", "')
}

/** As one word of a shell. */
function quote(word: string): string {
  return /^[\w.:@/=-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

const openaiAndFs = "import fs from 'node:fs'\nimport OpenAI from 'openai'"
const edit = "Put the boat on the lake; keep the words 'North Star' on its side"
const contents = [{ parts: [{ text: 'Hello' }] }]
const hello = [{ role: 'user', content: 'Hello' }]

const samples: { readonly [operation: string]: (call: Call) => readonly CodeSample[] } = {
  'image.generate': call => [
    curl(call, {
      model: call.model,
      prompt: 'A paper boat on a lake',
      n: 1,
      size: '1024x1024',
      response_format: 'b64_json',
    }),
    pythonOpenai(
      call,
      [
        'answer = client.images.generate(',
        `    model=${write(call.model)}, prompt="A paper boat on a lake", size="1024x1024", response_format="b64_json"`,
        ')',
        'with open("boat.png", "wb") as file:',
        '    file.write(base64.b64decode(answer.data[0].b64_json))',
      ],
      ['import base64'],
    ),
    nodeOpenai(
      call,
      [
        'const answer = await client.images.generate({',
        `  model: ${write(call.model)}, prompt: 'A paper boat on a lake', size: '1024x1024', response_format: 'b64_json',`,
        '})',
        "fs.writeFileSync('boat.png', Buffer.from(answer.data[0].b64_json, 'base64'))",
      ],
      openaiAndFs,
    ),
  ],
  'image.edit': call => [
    form(call, [`model=${call.model}`, `prompt=${edit}`, 'image[]=@boat.png', 'image[]=@lake.png']),
    pythonOpenai(call, [
      'answer = client.images.edit(',
      `    model=${write(call.model)},`,
      `    prompt=${write(edit)},`,
      '    image=[open("boat.png", "rb"), open("lake.png", "rb")],',
      ')',
      'print(answer.data[0].url or len(answer.data[0].b64_json))',
    ]),
    nodeOpenai(
      call,
      [
        'const answer = await client.images.edit({',
        `  model: ${write(call.model)},`,
        `  prompt: ${write(edit)},`,
        "  image: [await toFile(fs.readFileSync('boat.png'), 'boat.png'), await toFile(fs.readFileSync('lake.png'), 'lake.png')],",
        '})',
        'console.log(answer.data[0].url ?? answer.data[0].b64_json.length)',
      ],
      openaiAndFs.replace('OpenAI', 'OpenAI, { toFile }'),
    ),
  ],
  chat: call => [
    curl(call, { model: call.model, messages: hello }),
    pythonOpenai(call, [
      `answer = client.chat.completions.create(model=${write(call.model)}, messages=${write(hello)})`,
      'print(answer.choices[0].message.content)',
    ]),
    nodeOpenai(call, [
      `const stream = await client.chat.completions.create({ model: ${write(call.model)}, messages: ${write(hello)}, stream: true })`,
      "for await (const event of stream) process.stdout.write(event.choices[0]?.delta?.content ?? '')",
    ]),
  ],
  responses: call => [
    curl(call, { model: call.model, input: 'Hello' }),
    pythonOpenai(call, [
      `answer = client.responses.create(model=${write(call.model)}, input="Hello")`,
      'print(answer.output_text)',
    ]),
    nodeOpenai(call, [
      `const answer = await client.responses.create({ model: ${write(call.model)}, input: 'Hello' })`,
      'console.log(answer.output_text)',
    ]),
  ],
  messages: call => [
    curl(call, { model: call.model, max_tokens: 256, messages: hello }, [
      'x-api-key: $API_KEY',
      'anthropic-version: 2023-06-01',
    ]),
    python([
      'import os',
      'from anthropic import Anthropic',
      '',
      `client = Anthropic(base_url=${write(call.baseUrl)}, api_key=os.environ["API_KEY"])`,
      `answer = client.messages.create(model=${write(call.model)}, max_tokens=256, messages=${write(hello)})`,
      'print(answer.content[0].text)',
    ]),
    node([
      "import Anthropic from '@anthropic-ai/sdk'",
      '',
      `const client = new Anthropic({ baseURL: ${write(call.baseUrl)}, apiKey: process.env.API_KEY })`,
      `const answer = await client.messages.create({ model: ${write(call.model)}, max_tokens: 256, messages: ${write(hello)} })`,
      'console.log(answer.content[0].text)',
    ]),
  ],
  generate: call => [
    curl(call, { contents }, ['x-goog-api-key: $API_KEY']),
    python([
      'import os',
      'from google import genai',
      '',
      `client = genai.Client(api_key=os.environ["API_KEY"], http_options={"base_url": ${write(call.baseUrl)}})`,
      `print(client.models.generate_content(model=${write(call.model)}, contents="Hello").text)`,
    ]),
    node([
      "import { GoogleGenAI } from '@google/genai'",
      '',
      `const client = new GoogleGenAI({ apiKey: process.env.API_KEY, httpOptions: { baseUrl: ${write(call.baseUrl)} } })`,
      `const answer = await client.models.generateContent({ model: ${write(call.model)}, contents: 'Hello' })`,
      'console.log(answer.text)',
    ]),
  ],
  embeddings: call => [
    curl(call, { model: call.model, input: ['Hello', 'Good morning'] }),
    pythonOpenai(call, [
      `answer = client.embeddings.create(model=${write(call.model)}, input=["Hello", "Good morning"])`,
      'print(len(answer.data[0].embedding))',
    ]),
  ],
  'audio.speech': call => [
    curl(call, { model: call.model, input: 'Hello', voice: 'alloy' }),
    pythonOpenai(call, [
      `with client.audio.speech.with_streaming_response.create(model=${write(call.model)}, input="Hello", voice="alloy") as answer:`,
      '    answer.stream_to_file("hello.mp3")',
    ]),
  ],
  'audio.transcribe': call => [
    form(call, [`model=${call.model}`, 'file=@hello.mp3']),
    pythonOpenai(call, [
      `answer = client.audio.transcriptions.create(model=${write(call.model)}, file=open("hello.mp3", "rb"))`,
      'print(answer.text)',
    ]),
  ],
  'messages.count': call => [curl(call, { model: call.model, messages: hello })],
  'generate.count': call => [curl(call, { contents })],
  rerank: call => [curl(call, { model: call.model, query: 'boats', documents: ['A lake', 'A paper boat'], top_n: 1 })],
  'models.list': call => [get(call)],
  'charges.get': call => [get({ ...call, path: call.path.replace('{id}', '$REQUEST_ID') })],
}
