import type { Field, Fields, OperationAnswer } from './operation.ts'
import { number, stream, text, whole } from './schemas.ts'

// Common parts of the operations that answer with images.

const format: Field = {
  schema: { type: 'string', enum: ['b64_json', 'url'] },
  en: 'Base64 or a link. The default and the effect depend on the family.',
  zh: 'base64 或链接。默认值与效果因系列而异。',
}

/** Fields in addition to `model` and `prompt`. */
export const pictureFields: Fields = {
  n: {
    schema: { ...whole, default: 1 },
    en: 'Number of images. Only returned images are charged.',
    zh: '图片数量。按实际返回的数量计费。',
  },
  size: {
    schema: text,
    en: 'Width x height in pixels, such as 1024x1024, or a label that the family supports. The effect depends on the family.',
    zh: '宽x高（像素），例如 1024x1024，或系列支持的标签。效果因系列而异。',
  },
  quality: {
    schema: text,
    en: 'Requested quality, recorded with the charge. The effect depends on the family.',
    zh: '请求品质，随费用记录。效果因系列而异。',
  },
  response_format: format,
  output_format: { schema: text, en: 'File format, such as png.', zh: '文件格式，例如 png。' },
  background: { schema: text, en: 'Background of the image.', zh: '图片背景。' },
  output_compression: { schema: number, en: 'Compression of the file.', zh: '文件压缩率。' },
  moderation: { schema: text, en: 'Strictness of content moderation.', zh: '内容审核的严格程度。' },
  stream,
  partial_images: {
    schema: { type: 'integer', minimum: 0 },
    en: 'Number of previews in a stream.',
    zh: '流中的预览图数量。',
  },
}

const words = {
  en: {
    data: 'One element for each image.',
    b64_json: 'The image, as base64.',
    url: 'A link to the image, or a data URL.',
  },
  zh: { data: '每张图片一个元素。', b64_json: 'base64 编码的图片。', url: '图片链接，或 data URL。' },
}

export const pictures: OperationAnswer = {
  schema(language) {
    const { data, b64_json, url } = words[language]
    const element = {
      type: 'object',
      properties: { b64_json: { ...text, description: b64_json }, url: { ...text, description: url } },
    }
    const elements = { type: 'array', description: data, items: element }
    return { type: 'object', required: ['data'], properties: { created: { type: 'integer' }, data: elements } }
  },
}
