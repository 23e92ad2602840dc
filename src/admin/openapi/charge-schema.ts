const text = { type: 'string' }
const textOrNull = { type: ['string', 'null'] }
const wholeOrNull = { type: ['integer', 'null'] }
const texts = { type: 'array', items: text }
const source = { enum: ['output', 'request', 'default', null] }

const line = {
  type: 'object',
  properties: {
    index: { type: 'integer' },
    tier: text,
    source,
    width: wholeOrNull,
    height: wholeOrNull,
    quantity: wholeOrNull,
    price: text,
    flags: texts,
    why: text,
    at: textOrNull,
  },
}

/** What `GET /v1/charges/{id}` answers with: the one explanation of a charge. Amounts are decimal strings. */
export const chargeSchema = {
  type: 'object',
  required: [
    'state',
    'size',
    'quality',
    'count',
    'tier',
    'source',
    'actual_size',
    'currency',
    'amount',
    'lines',
    'text',
  ],
  properties: {
    state: { enum: ['reserved', 'settled', 'voided', 'needs_review'] },
    size: textOrNull,
    quality: textOrNull,
    count: wholeOrNull,
    tier: textOrNull,
    source,
    actual_size: textOrNull,
    currency: text,
    amount: text,
    held: text,
    refunded: text,
    flags: texts,
    warnings: texts,
    reason: textOrNull,
    lines: { type: 'array', items: line },
    text,
    sum: text,
    rule: { type: 'object' },
  },
}
