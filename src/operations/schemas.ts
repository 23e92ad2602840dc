import type { Field } from './operation.ts'

// Common parts of the fields of several operations.

export const text = { type: 'string' }
export const whole = { type: 'integer', minimum: 1 }
export const number = { type: 'number' }
export const truth = { type: 'boolean' }
export const list = { type: 'array', items: {} }
export const object = { type: 'object' }
export const file = { type: 'string', contentMediaType: 'application/octet-stream' }

export const model: Field = { schema: text, required: true, en: 'Name of the model.', zh: '模型名称。' }

export const stream: Field = {
  schema: truth,
  en: 'Respond with a stream of events. Refused if the model does not support streaming.',
  zh: '以事件流返回；模型不支持时会被拒绝。',
}

export const conversation: Field = {
  schema: list,
  required: true,
  en: 'The conversation so far.',
  zh: '到目前为止的对话。',
}

export const counted: Field = {
  schema: list,
  required: true,
  en: 'The conversation to count.',
  zh: '要计数的对话。',
}

export const tools: Field = { schema: list, en: 'Tools that the model may call.', zh: '模型可以调用的工具。' }
export const tokensMax: Field = {
  schema: whole,
  en: 'Maximum number of tokens of the response.',
  zh: '响应的最大词元数。',
}
export const instructionsHelp = { en: 'Instructions for the model.', zh: '预先给模型的指示。' }
