import type { Operation } from './operation.ts'
import { curl, hello } from './samples.ts'
import { counted, model, instructionsHelp } from './schemas.ts'

/** Counts the tokens of a conversation without generating an answer. */
export const messagesCount: Operation = {
  name: 'messages.count',
  style: 'anthropic',
  path: '/v1/messages/count_tokens',
  body: 'json',
  words: {
    en: { label: 'Messages token count', summary: 'Count the tokens of messages' },
    zh: { label: 'Messages 词元计数', summary: '计算消息的词元数' },
  },
  fields: {
    model,
    messages: counted,
    system: { schema: {}, ...instructionsHelp },
  },
  samples: call => [curl(call, { model: call.model, messages: hello })],
  usage: { counted: 'input_tokens' },
  traits: { repeatable: { unless: [] } },
}
