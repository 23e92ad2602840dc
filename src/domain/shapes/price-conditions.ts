import type { Schema } from '../../util/schema.ts'

const valueNames = {
  type: ['string', 'array'],
  minItems: 1,
  minLength: 1,
  items: { type: 'string', minLength: 1 },
} as const satisfies Schema

/** The JSON schema of the conditions of an override or a factor. */
export const priceConditions = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  description: 'Conditions; all of them must hold.',
  properties: {
    input_above: {
      type: 'integer',
      minimum: 0,
      description: 'The request has more input tokens than this, including cached and cache-write tokens.',
    },
    input_from: { type: 'integer', minimum: 1, description: 'The request has at least this many input tokens.' },
    service_tier: {
      ...valueNames,
      description: 'Service tier in the response, or else in the request: priority, flex, batch.',
    },
    speed: { ...valueNames, description: 'Speed in the response, or else in the request: fast.' },
    region: { ...valueNames, description: 'Region in the response, or else in the request: us.' },
    days: { ...valueNames, description: 'Days of the week on which the request starts: mon-fri, or sat and sun.' },
    hours: { ...valueNames, description: 'Hours in which the request starts: 00:00-08:00; the end is exclusive.' },
    zone: { type: 'string', minLength: 1, description: 'Time zone of days and hours: UTC, Asia/Shanghai.' },
  },
} as const satisfies Schema
