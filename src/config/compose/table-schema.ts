import type { SchemaData } from '../gateway-schema.ts'
import { priceOverrides, priceTimes } from '../price-conditions.ts'

/** The schema of a file in `price_tables`. */
export const tableSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['version', 'currency', 'models'],
  properties: {
    version: { type: 'integer', const: 1, description: "Version of this file's shape: 1." },
    source: { type: 'string', minLength: 1, description: 'Source of the prices.' },
    as_of: { type: 'string', format: 'date', description: 'Date on which they were found: 2026-11-23.' },
    digest: { type: 'string', minLength: 1, description: 'Digest of the source: sha256:…' },
    currency: {
      type: 'string',
      pattern: '^[A-Z]{3}$',
      description: 'Currency of every price; it must match the configuration.',
    },
    models: {
      type: 'object',
      description: "Rows by the vendor's model name, with or without a PROVIDER/ prefix.",
      propertyNames: { minLength: 1 },
      additionalProperties: {
        type: 'object',
        additionalProperties: false,
        description: 'Prices of one model.',
        properties: {
          prices: {
            type: 'object',
            minProperties: 1,
            description: 'Prices, as in models.NAME.prices.',
            additionalProperties: { type: 'string', format: 'money', description: 'A quoted decimal, such as "0.04".' },
          },
          overrides: priceOverrides,
          times: priceTimes,
          price: { type: 'string', enum: ['free'], description: 'free for a model that costs nothing.' },
          source: { type: 'string', minLength: 1, description: "Source of this row, if different from the table's." },
          as_of: { type: 'string', format: 'date', description: "Date of the row, if different from the table's." },
          mode: { type: 'string', minLength: 1, description: 'Mode of the model, as named by the source.' },
          provider: { type: 'string', minLength: 1, description: 'Provider of the model, as named by the source.' },
          ends: { type: 'string', format: 'date', description: 'The day from which the model is no longer served.' },
          unmapped: {
            type: 'array',
            items: { type: 'string', minLength: 1 },
            description:
              'Price fields of the source that have no equivalent here, with the reason. Such use is not charged.',
          },
        },
      },
    },
  },
} as const satisfies SchemaData
