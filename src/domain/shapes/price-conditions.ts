import type { Schema } from '../../util/schema.ts'

const valueNames = {
  type: ['string', 'array'],
  minItems: 1,
  minLength: 1,
  items: { type: 'string', minLength: 1 },
} as const satisfies Schema

/** When an override or a factor applies. */
export const priceConditions = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  description: 'Conditions; all that are present have to hold.',
  properties: {
    input_above: {
      type: 'integer',
      minimum: 0,
      description: 'The request has more input tokens than this, cached and written ones included.',
    },
    input_from: { type: 'integer', minimum: 1, description: 'The request has at least so many input tokens.' },
    service_tier: {
      ...valueNames,
      description: 'The service tier that the answer reports, or else the request: priority, flex, batch.',
    },
    speed: { ...valueNames, description: 'The speed that the answer reports, or else the request: fast.' },
    region: { ...valueNames, description: 'The region that the answer reports, or else the request: us.' },
    days: { ...valueNames, description: 'Days of the week on which the request begins: mon-fri, or sat and sun.' },
    hours: { ...valueNames, description: 'Hours in which the request begins: 00:00-08:00; the end is excluded.' },
    zone: { type: 'string', minLength: 1, description: 'Time zone of days and hours: UTC, Asia/Shanghai.' },
  },
} as const satisfies Schema
