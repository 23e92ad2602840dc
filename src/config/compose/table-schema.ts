import type { SchemaData } from '../gateway-schema.ts'
import { priceOverrides, priceTimes } from '../price-conditions.ts'

/** A file of prices: what `price_tables` names. */
export const tableSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['version', 'currency', 'models'],
  properties: {
    version: { type: 'integer', const: 1, description: "Version of this file's shape: 1." },
    source: { type: 'string', minLength: 1, description: 'Where the prices were found.' },
    as_of: { type: 'string', format: 'date', description: 'The day on which they were found: 2026-11-23.' },
    digest: { type: 'string', minLength: 1, description: 'Of what they were read from: sha256:…' },
    currency: {
      type: 'string',
      pattern: '^[A-Z]{3}$',
      description: 'Currency of every price; that of the configuration.',
    },
    models: {
      type: 'object',
      description: 'By the name that the vendor has for a model, with or without PROVIDER/ before it.',
      propertyNames: { minLength: 1 },
      additionalProperties: {
        type: 'object',
        additionalProperties: false,
        description: 'What one model costs.',
        properties: {
          prices: {
            type: 'object',
            minProperties: 1,
            description: 'As in models.NAME.prices.',
            additionalProperties: { type: 'string', format: 'money', description: 'A quoted decimal, such as "0.04".' },
          },
          overrides: priceOverrides,
          times: priceTimes,
          price: { type: 'string', enum: ['free'], description: 'free, for a model that costs nothing.' },
          source: { type: 'string', minLength: 1, description: 'Where it was found, if not where the others were.' },
          as_of: { type: 'string', format: 'date', description: 'When it was found, if not when the others were.' },
          mode: { type: 'string', minLength: 1, description: 'What the model does, in the words of the source.' },
          provider: { type: 'string', minLength: 1, description: 'Who serves it, in the words of the source.' },
          ends: { type: 'string', format: 'date', description: 'The day from which it is served no longer.' },
          unmapped: {
            type: 'array',
            items: { type: 'string', minLength: 1 },
            description:
              'Fields of the source that cost something and have no price here, with the reason: they are not charged.',
          },
        },
      },
    },
  },
} as const satisfies SchemaData
