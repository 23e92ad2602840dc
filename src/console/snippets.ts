import type { Model } from './api/shapes.ts'

/** The first model that serves an operation. */
function first(models: readonly Model[], operation: string): string {
  return models.find(model => model.operations.includes(operation))?.name ?? 'MODEL'
}

/** The same key, used by each kind of client there is. */
export function snippets(
  baseUrl: string,
  secret: string,
  models: readonly Model[],
): readonly { readonly name: string; readonly text: string }[] {
  const picture = first(models, 'image.generate')
  const chat = first(models, 'chat')
  return [
    {
      name: 'curl',
      text: `curl ${baseUrl}/v1/images/generations \\
  -H "Authorization: Bearer ${secret}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${picture}", "prompt": "a boat at dawn", "size": "1024x1024"}'`,
    },
    {
      name: 'Python',
      text: `from openai import OpenAI

client = OpenAI(base_url="${baseUrl}/v1", api_key="${secret}")
image = client.images.generate(model="${picture}", prompt="a boat at dawn", size="1024x1024")
print(image.data[0])`,
    },
    {
      name: 'Node',
      text: `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${baseUrl}/v1', apiKey: '${secret}' })
const reply = await client.chat.completions.create({
  model: '${chat}',
  messages: [{ role: 'user', content: 'Hello' }],
})
console.log(reply.choices[0].message.content)`,
    },
    {
      name: 'messages',
      text: `curl ${baseUrl}/v1/messages \\
  -H "x-api-key: ${secret}" \\
  -H "anthropic-version: 2023-06-01" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${first(models, 'messages')}", "max_tokens": 256, "messages": [{"role": "user", "content": "Hello"}]}'`,
    },
    {
      name: 'generative',
      text: `curl ${baseUrl}/v1beta/models/${first(models, 'generate')}:generateContent \\
  -H "x-goog-api-key: ${secret}" \\
  -H "Content-Type: application/json" \\
  -d '{"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}'`,
    },
  ]
}
