import { priceConditions } from '../domain/index.ts'
import type { Schema } from '../util/index.ts'

export const priceOverrides = {
  type: 'array',
  minItems: 1,
  description:
    'Prices that replace others for the whole request if a condition holds. The first entry whose condition holds applies.',
  items: {
    type: 'object',
    required: ['if'],
    minProperties: 2,
    description: 'A condition and the prices that it sets.',
    properties: { if: priceConditions },
    additionalProperties: { type: 'string', format: 'money', description: 'A quoted decimal, such as "0.04".' },
  },
} as const satisfies Schema

export const priceTimes = {
  type: 'array',
  minItems: 1,
  description: 'Factors on prices by usage, except on calls such as searches. All entries whose conditions hold apply.',
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['if', 'by'],
    description: 'A condition and the factor that it sets.',
    properties: {
      if: priceConditions,
      by: {
        type: 'string',
        format: 'factor',
        description: 'A quoted decimal with at most six decimal places, such as "1.1".',
      },
    },
  },
} as const satisfies Schema
