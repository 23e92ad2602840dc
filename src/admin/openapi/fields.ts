import type { SchemaObject } from './types.ts'

/** A field as clients of its style send it, in words of each language. */
export type Field = {
  readonly schema: SchemaObject
  readonly required?: true
  readonly en: string
  readonly zh: string
}

export type Fields = { readonly [name: string]: Field }

const text = { type: 'string' }
const whole = { type: 'integer', minimum: 1 }
const number = { type: 'number' }
const truth = { type: 'boolean' }
const list = { type: 'array', items: {} }
const object = { type: 'object' }
const file = { type: 'string', contentMediaType: 'application/octet-stream' }

const model: Field = { schema: text, required: true, en: 'Name of the model.', zh: '模型名称。' }
const stream: Field = {
  schema: truth,
  en: 'Answer as a stream of events; refused where the model does not stream.',
  zh: '以事件流返回；模型不支持时会被拒绝。',
}

const picture: Fields = {
  model,
  prompt: { schema: text, required: true, en: 'What the image is to show.', zh: '对画面的文字描述。' },
  n: {
    schema: { ...whole, default: 1 },
    en: 'How many images. What is charged is what comes back.',
    zh: '图片数量。按实际返回的数量计费。',
  },
  size: {
    schema: text,
    en: 'Width x height in pixels, as in 1024x1024, or a label that the family knows. What it does differs per family.',
    zh: '宽x高（像素），例如 1024x1024，或系列支持的标签。效果因系列而异。',
  },
  quality: {
    schema: text,
    en: 'Accepted, and recorded as sent.',
    zh: '可以发送，并按原样记录。',
  },
  response_format: {
    schema: { type: 'string', enum: ['b64_json', 'url'] },
    en: 'Base64 or a link. The default and the effect differ per family.',
    zh: 'base64 或链接。默认值与效果因系列而异。',
  },
  output_format: { schema: text, en: 'File format, such as png.', zh: '文件格式，例如 png。' },
  background: { schema: text, en: 'Background of the image.', zh: '图片背景。' },
  output_compression: { schema: number, en: 'Compression of the file.', zh: '文件压缩率。' },
  moderation: { schema: text, en: 'How strictly prompts are moderated.', zh: '内容审核的严格程度。' },
  stream,
  partial_images: { schema: { type: 'integer', minimum: 0 }, en: 'Previews in a stream.', zh: '流中的预览图数量。' },
}

/** What the styles define, by operation. A field that is not here is described by its name alone. */
const known: { readonly [operation: string]: Fields } = {
  'image.generate': picture,
  'image.edit': {
    model,
    prompt: { schema: text, required: true, en: 'What the result is to be.', zh: '对结果的文字描述。' },
    image: {
      schema: { type: 'array', minItems: 1, items: file },
      required: true,
      en: 'Reference images. Repeat the field for each; image[] and image[0], image[1] … are read too. The order sent is kept.',
      zh: '参考图。多张时重复该字段；也接受 image[] 与 image[0]、image[1]……。按发送顺序转发。',
    },
    mask: { schema: file, en: 'Only the first file of this name is used.', zh: '只使用该名称的第一个文件。' },
    ...Object.fromEntries(Object.entries(picture).filter(([name]) => name !== 'model' && name !== 'prompt')),
  },
  chat: {
    model,
    messages: { schema: list, required: true, en: 'The conversation so far.', zh: '到目前为止的对话。' },
    max_completion_tokens: { schema: whole, en: 'The most tokens of the answer.', zh: '回答的最大 token 数。' },
    temperature: { schema: number, en: 'How much chance there is in the answer.', zh: '采样温度。' },
    tools: { schema: list, en: 'Tools that the model may call.', zh: '模型可以调用的工具。' },
    stream,
    stream_options: {
      schema: object,
      en: 'include_usage: true adds an event with the use of tokens.',
      zh: 'include_usage: true 会附加一个包含用量的事件。',
    },
  },
  responses: {
    model,
    input: { schema: {}, required: true, en: 'A text, or a list of input.', zh: '文本，或输入列表。' },
    instructions: { schema: text, en: 'What the model is told beforehand.', zh: '预先给模型的指示。' },
    max_output_tokens: { schema: whole, en: 'The most tokens of the answer.', zh: '回答的最大 token 数。' },
    tools: { schema: list, en: 'Tools that the model may call.', zh: '模型可以调用的工具。' },
    stream,
  },
  messages: {
    model,
    max_tokens: { schema: whole, required: true, en: 'The most tokens of the answer.', zh: '回答的最大 token 数。' },
    messages: { schema: list, required: true, en: 'The conversation so far.', zh: '到目前为止的对话。' },
    system: { schema: {}, en: 'What the model is told beforehand.', zh: '预先给模型的指示。' },
    tools: { schema: list, en: 'Tools that the model may call.', zh: '模型可以调用的工具。' },
    stream,
  },
  'messages.count': {
    model,
    messages: { schema: list, required: true, en: 'The conversation to count.', zh: '要计数的对话。' },
    system: { schema: {}, en: 'What the model is told beforehand.', zh: '预先给模型的指示。' },
  },
  embeddings: {
    model,
    input: { schema: {}, required: true, en: 'A text, or a list of texts.', zh: '文本，或文本列表。' },
    dimensions: { schema: whole, en: 'Length of the vectors.', zh: '向量维度。' },
    encoding_format: { schema: { enum: ['float', 'base64'] }, en: 'How numbers are written.', zh: '数值的编码方式。' },
  },
  'audio.speech': {
    model,
    input: { schema: text, required: true, en: 'The text to speak.', zh: '要朗读的文本。' },
    voice: { schema: text, required: true, en: 'Name of the voice.', zh: '音色名称。' },
    response_format: {
      schema: text,
      en: 'mp3, opus, aac, flac, wav or pcm.',
      zh: 'mp3、opus、aac、flac、wav 或 pcm。',
    },
    speed: { schema: number, en: 'How fast it is spoken.', zh: '语速。' },
  },
  'audio.transcribe': {
    model,
    file: { schema: file, required: true, en: 'The recording.', zh: '音频文件。' },
    language: { schema: text, en: 'Language spoken, as in en.', zh: '语言代码，例如 en。' },
    prompt: { schema: text, en: 'Words that help to understand it.', zh: '有助于识别的提示。' },
    response_format: {
      schema: text,
      en: 'json, text, srt, verbose_json or vtt.',
      zh: 'json、text、srt、verbose_json 或 vtt。',
    },
    stream,
  },
  rerank: {
    model,
    query: { schema: text, required: true, en: 'What the documents are compared with.', zh: '用于比较的查询。' },
    documents: { schema: list, required: true, en: 'The documents.', zh: '待排序的文档。' },
    top_n: { schema: whole, en: 'How many to return.', zh: '返回的数量。' },
    return_documents: { schema: truth, en: 'Return the texts too.', zh: '同时返回文本。' },
  },
  generate: {
    contents: { schema: list, required: true, en: 'The conversation so far.', zh: '到目前为止的对话。' },
    systemInstruction: { schema: object, en: 'What the model is told beforehand.', zh: '预先给模型的指示。' },
    generationConfig: { schema: object, en: 'maxOutputTokens, temperature …', zh: 'maxOutputTokens、temperature 等。' },
    tools: { schema: list, en: 'Tools that the model may call.', zh: '模型可以调用的工具。' },
  },
  'generate.count': {
    contents: { schema: list, required: true, en: 'The conversation to count.', zh: '要计数的对话。' },
  },
  'generate.embed': {
    content: { schema: object, en: 'What is embedded (embedContent).', zh: '要嵌入的内容（embedContent）。' },
    requests: { schema: list, en: 'Several of them (batchEmbedContents).', zh: '多个内容（batchEmbedContents）。' },
  },
}

/** The fields of an operation: those that its style defines, and those that families name beside them. */
export function fieldsOf(operation: string, named: Iterable<string>): Fields {
  const fields: { [name: string]: Field } = { ...known[operation] }
  for (const name of named) fields[name] ??= { schema: {}, en: '', zh: '' }
  return fields
}
