import type { Operation } from './operation.ts'
import { curl, hello, nodeOpenai, pythonOpenai, write } from './samples.ts'
import { conversation, model, number, object, stream, tokensMax, tools } from './schemas.ts'

/** A conversation in the chat-completions style. */
export const chat: Operation = {
  name: 'chat',
  style: 'openai',
  path: '/v1/chat/completions',
  body: 'json',
  words: {
    en: { label: 'Chat', summary: 'Chat in the chat-completions format' },
    zh: { label: '对话', summary: 'chat-completions 格式的对话' },
  },
  fields: {
    model,
    messages: conversation,
    max_completion_tokens: tokensMax,
    temperature: { schema: number, en: 'Sampling temperature.', zh: '采样温度。' },
    tools,
    stream,
    stream_options: {
      schema: object,
      en: 'include_usage: true adds an event with the token usage.',
      zh: 'include_usage: true 会附加一个包含用量的事件。',
    },
  },
  samples: call => [
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
  smallest: model => ({ json: { model, max_tokens: 16, messages: [{ role: 'user', content: 'Say yes.' }] } }),
  firstSteps: [
    {
      name: 'Node',
      text: `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '{baseUrl}/v1', apiKey: '{secret}' })
const reply = await client.chat.completions.create({
  model: '{model}',
  messages: [{ role: 'user', content: 'Hello' }],
})
console.log(reply.choices[0].message.content)`,
    },
  ],
  form: 'conversation',
  traits: {
    repeatable: { unless: ['modalities', 'audio'] },
    answersObject: true,
    usageOnDemand: true,
    usageBehind: 'finish_reason',
    answersTokens: 'only',
    answerLimits: ['max_completion_tokens', 'max_tokens'],
  },
}
