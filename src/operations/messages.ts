import type { Operation } from './operation.ts'
import { curl, hello, node, python, write } from './samples.ts'
import { conversation, model, stream, tokensMax, instructionsHelp, tools } from './schemas.ts'

/** A conversation in the messages style. */
export const messages: Operation = {
  name: 'messages',
  style: 'anthropic',
  path: '/v1/messages',
  body: 'json',
  words: {
    en: { label: 'Messages', summary: 'Send messages in the messages format' },
    zh: { label: 'Messages', summary: 'messages 格式的消息' },
  },
  fields: {
    model,
    max_tokens: { ...tokensMax, required: true },
    messages: conversation,
    system: { schema: {}, ...instructionsHelp },
    tools,
    stream,
  },
  samples: call => [
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
  smallest: model => ({ json: { model, max_tokens: 16, messages: [{ role: 'user', content: 'Say yes.' }] } }),
  firstSteps: [
    {
      name: 'messages',
      text: `curl {baseUrl}/v1/messages \\
  -H "x-api-key: {secret}" \\
  -H "anthropic-version: 2023-06-01" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "{model}", "max_tokens": 256, "messages": [{"role": "user", "content": "Hello"}]}'`,
    },
  ],
  otel: 'chat',
  traits: {
    repeatable: { unless: [] },
    answersObject: true,
    answersTokens: 'only',
    answerLimits: ['max_tokens'],
    object: { creates: { kind: 'container', member: { name: 'container', inside: ['message', 'delta'] }, days: 30 } },
  },
}
