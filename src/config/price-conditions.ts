import { priceConditions } from '../domain/index.ts'
import type { Schema } from '../util/index.ts'

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
