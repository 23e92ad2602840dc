import type { Schema } from '../kit/index.ts'

const valueNames = {
  type: ['string', 'array'],
  minItems: 1,
  minLength: 1,
  items: { type: 'string', minLength: 1 },
} as const satisfies Schema

/** When an override or a factor applies. */
const priceConditions = {
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

export const priceOverrides = {
  type: 'array',
  minItems: 1,
  description:
    'Prices that replace others where a condition holds, for the whole request: the first entry whose condition holds.',
  items: {
    type: 'object',
    required: ['if'],
    minProperties: 2,
    description: 'A condition, and the prices that it sets.',
    properties: { if: priceConditions },
    additionalProperties: { type: 'string', format: 'money', description: 'A quoted decimal, such as "0.04".' },
  },
} as const satisfies Schema

export const priceTimes = {
  type: 'array',
  minItems: 1,
  description: 'Factors of what is priced by use, but for calls such as searches; all apply whose conditions hold.',
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['if', 'by'],
    description: 'A condition, and the factor that it sets.',
    properties: {
      if: priceConditions,
      by: {
        type: 'string',
        format: 'factor',
        description: 'A quoted decimal of at most six places, such as "1.1".',
      },
    },
  },
} as const satisfies Schema
