import type { Admits } from '../../src/plugin-api/index.ts'

export const sides = ['request', 'response'] as const

/** `guard-patterns` in a family. */
export const facetSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['rules'],
  properties: {
    rules: {
      type: 'array',
      minItems: 1,
      description: 'Rules, in order. Every one is applied.',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['name'],
        description: 'A rule: words, or a pattern.',
        properties: {
          name: { type: 'string', minLength: 1, maxLength: 64, description: 'Shown to the client and in the log.' },
          pattern: {
            type: 'string',
            minLength: 1,
            description: 'A regular expression of RE2, without lookaround and back references.',
          },
          ignore_case: {
            type: 'boolean',
            default: false,
            description: 'Whether the pattern ignores upper and lower case.',
          },
          words: {
            type: 'array',
            minItems: 1,
            items: { type: 'string', minLength: 2, description: 'A word or phrase.' },
            description: 'Whole words or phrases, in any case.',
          },
          do: {
            type: 'string',
            enum: ['block', 'mask'],
            default: 'block',
            description: 'block refuses the request or withholds the response. mask replaces the match.',
          },
          put: { type: 'string', maxLength: 256, default: '***', description: 'What a match is replaced by.' },
          on: {
            type: 'array',
            minItems: 1,
            uniqueItems: true,
            items: { type: 'string', enum: sides, description: 'A side.' },
            default: ['request', 'response'],
            description: 'Which texts are checked.',
          },
        },
      },
    },
    normalize: {
      type: 'boolean',
      default: true,
      description:
        'Whether rules also read the text without invisible characters and in compatible spelling (NFKC): full-width, circled or mathematical letters as ordinary ones. What is sent changes only where a rule masks.',
    },
    longest: {
      type: 'integer',
      minimum: 1,
      maximum: 10_000,
      default: 128,
      description:
        'The longest match in a stream, in characters: the last characters of a streamed text are held back this far, until more arrive. A longer match may pass.',
    },
  },
} as const

export type PatternsFacet = Admits<typeof facetSchema>
export type RuleFacet = PatternsFacet['rules'][number]
