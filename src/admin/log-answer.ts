import { moment, text, textOrNull, texts, whole, wholeOrNull } from './schemas.ts'

/** Who billed what and why: `billing` of a log record, field for field the same at `GET /v1/charges/{id}`. */
const billingAnswer = {
  type: ['object', 'null'],
  additionalProperties: false,
  properties: {
    state: { type: 'string', enum: ['reserved', 'settled', 'voided', 'needs_review'] },
    size: { ...textOrNull, description: '大小: as the caller sent it.' },
    quality: { ...textOrNull, description: '请求品质: as the caller sent it.' },
    count: { ...wholeOrNull, description: '生成数量: images that came back; null for what is not images.' },
    tier: { ...textOrNull, description: '图片档位: null where the images differ; lines has each.' },
    source: { ...textOrNull, description: '来源: output, request or default; null where the images differ.' },
    actual_size: {
      ...textOrNull,
      description: '实际尺寸: read from the bytes that came back; null where they differ or are a link.',
    },
    currency: text,
    amount: text,
    held: { ...text, description: 'Held for it now: until it ends, or somebody has decided about it.' },
    refunded: text,
    flags: texts,
    warnings: texts,
    reason: textOrNull,
    delivery: { type: 'string', enum: ['unconfirmed', 'partial', 'confirmed'] },
    lines: {
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: false,
        properties: {
          index: whole,
          tier: text,
          source: text,
          width: wholeOrNull,
          height: wholeOrNull,
          quantity: wholeOrNull,
          price: text,
          flags: texts,
          why: { ...text, description: 'Why this price, in words.' },
          at: { ...textOrNull, description: 'file:line of the price.' },
        },
      },
    },
    text: { ...text, description: 'One line with the labels of the log.' },
    sum: { ...text, description: 'Such as 2 × 0.04 = 0.08 USD.' },
    rule: {
      type: 'object',
      additionalProperties: false,
      properties: {
        kind: {
          ...text,
          description: 'Whose rule it is: tiers of images, usage of tokens and the like, or another plugin’s.',
        },
        text,
        rows: {
          type: 'array',
          items: {
            type: 'object',
            additionalProperties: false,
            properties: { tier: text, long_edge_max: wholeOrNull, price: text, per: whole, at: text },
          },
        },
        multiplier: text,
      },
    },
  },
} as const

const fields = {
  id: text,
  time: moment,
  key_id: textOrNull,
  user: textOrNull,
  group: textOrNull,
  model: textOrNull,
  operation: text,
  status: wholeOrNull,
  outcome: { type: 'string', enum: ['answered', 'refused', 'caller_gone', 'upstream_cut', 'deadline'] },
  error: textOrNull,
  duration_ms: { type: 'number' },
  upstream: textOrNull,
  config_revision: text,
  forwarded: texts,
  dropped: texts,
  client_request_id: textOrNull,
  billing: billingAnswer,
  usage: {
    type: 'object',
    additionalProperties: false,
    properties: { input_tokens: wholeOrNull, output_tokens: wholeOrNull },
  },
} as const

export const logAnswer = {
  type: 'object',
  additionalProperties: false,
  required: ['id', 'time'],
  properties: fields,
} as const

export const logDetailAnswer = {
  ...logAnswer,
  properties: {
    ...fields,
    user_agent: textOrNull,
    explanation: billingAnswer,
    timing: {
      type: 'object',
      additionalProperties: false,
      properties: { began: moment, ended: moment, duration_ms: { type: 'number' } },
    },
  },
} as const
