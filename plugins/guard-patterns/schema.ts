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
      description: 'Rules in the order of their application. Every rule is applied.',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['name'],
        description: 'A rule: words, or a pattern.',
        properties: {
          name: {
            type: 'string',
            minLength: 1,
            maxLength: 64,
            description: 'Name of the rule, for the client and the log.',
          },
          pattern: {
            type: 'string',
            minLength: 1,
            description: 'Regular expression in RE2 syntax, without lookaround and back references.',
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
            description: 'Whole words or phrases, case-insensitive.',
          },
          do: {
            type: 'string',
            enum: ['block', 'mask'],
            default: 'block',
            description: 'block refuses the request or withholds the response. mask replaces the match.',
          },
          put: {
            type: 'string',
            maxLength: 256,
            default: '***',
            description: 'Replacement for a match, if the rule masks.',
          },
          on: {
            type: 'array',
            minItems: 1,
            uniqueItems: true,
            items: { type: 'string', enum: sides, description: 'A side.' },
            default: ['request', 'response'],
            description: 'Texts to check: those of requests, of responses, or both.',
          },
        },
      },
    },
    normalize: {
      type: 'boolean',
      default: true,
      description:
        'Whether rules also check a normalized copy of the text: without invisible characters, and with full-width, circled or mathematical letters as ordinary ones (NFKC). The text itself changes only if a rule masks.',
    },
    longest: {
      type: 'integer',
      minimum: 1,
      maximum: 10_000,
      default: 128,
      description:
        'Length of the longest match in a stream, in characters. The gateway holds back this number of characters at the end of a streamed text until more arrive. A longer match can remain undetected.',
    },
  },
} as const

export type PatternsFacet = Admits<typeof facetSchema>
export type RuleFacet = PatternsFacet['rules'][number]
