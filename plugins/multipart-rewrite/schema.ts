import type { Schema } from '../../src/plugin-api/index.ts'

const bytes = {
  type: ['string', 'integer'],
  pattern: '^\\d+(\\.\\d+)?\\s?(B|KiB|MiB|GiB)?$',
  minimum: 1,
} as const

/** A field name that all form parsers read alike. */
const fieldName = { type: 'string', pattern: '^[^\\u0000-\\u001f\\u007f"\\\\%]{1,256}$' } as const

export const options = {
  type: 'object',
  additionalProperties: false,
  properties: {
    text_bytes_max: {
      ...bytes,
      default: '256KiB',
      description: 'Maximum size of one text field, such as 256KiB.',
    },
    text_fields: {
      type: 'array',
      items: fieldName,
      uniqueItems: true,
      default: ['model', 'prompt', 'n', 'size', 'quality', 'response_format', 'stream'],
      description:
        'Fields that must be a single text value in every family. As a file, a list or a repeated field they are refused.',
    },
    spool_dir: {
      type: 'string',
      minLength: 1,
      description:
        'Folder for uploads of more than 1 MiB while they are in flight; absent: a new folder in the system’s temporary folder.',
    },
  },
} as const satisfies Schema

export const facet = {
  type: 'object',
  additionalProperties: false,
  required: ['files'],
  properties: {
    files: {
      type: 'object',
      description: 'File fields to forward, by their name without brackets. Other files are dropped.',
      propertyNames: fieldName,
      additionalProperties: {
        type: 'object',
        additionalProperties: false,
        properties: {
          send_as: {
            description: 'Field name to send the files with: one name, or one for a single file and one for several.',
            anyOf: [
              fieldName,
              {
                type: 'object',
                additionalProperties: false,
                required: ['one', 'many'],
                properties: { one: fieldName, many: fieldName },
              },
            ],
          },
          keep: {
            enum: ['all', 'first'],
            default: 'all',
            description: 'Which of several files with this name to forward.',
          },
        },
      },
    },
  },
} as const satisfies Schema
