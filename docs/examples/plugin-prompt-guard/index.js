import { definePlugin, failures, readField } from 'tollgate'

const fail = failures({
  prompt_refused: {
    status: 403,
    type: 'permission_error',
    text: "The field {field} holds '{word}', which the rules of this gateway do not allow. Leave it out.",
    // The same prompt would be refused again.
    retry: false,
  },
})

/** Refuses requests whose text holds a listed word, before a limit or a budget is touched. */
export default definePlugin({
  name: 'prompt-guard',

  // `{ tollgate-plugin-prompt-guard: { mode: log } }` on the pipeline's line.
  options: {
    type: 'object',
    additionalProperties: false,
    properties: {
      mode: {
        enum: ['refuse', 'log'],
        default: 'refuse',
        description: 'refuse answers 403; log lets the request pass and writes a line.',
      },
    },
  },

  // `prompt-guard: { words: [dragon] }` in a family. Families without it are not looked at.
  facet: {
    type: 'object',
    additionalProperties: false,
    required: ['words'],
    properties: {
      words: {
        type: 'array',
        minItems: 1,
        items: { type: 'string', minLength: 2 },
        description: 'Words that no prompt may hold, in any case.',
      },
      fields: {
        type: 'array',
        minItems: 1,
        items: { type: 'string', minLength: 1 },
        default: ['prompt'],
        description: 'Fields of the request that are looked at. They hold text.',
      },
    },
  },

  // What the schema cannot say: a field that never goes upstream is a slip of the pen.
  inspect: (facet, family) =>
    facet.fields.flatMap((field, i) => {
      const rules = [...family.forward.values()]
      const passes = rules.some(rule => (rule.kind === 'all' ? !rule.except.has(field) : rule.names.has(field)))
      if (passes) return []
      return [
        {
          severity: 'error',
          code: 'field_not_forwarded',
          message: `'${field}' is forwarded by no operation of the family`,
          remedy: 'name a field of `forward`',
          path: ['fields', i],
        },
      ]
    }),

  create: ({ mode }, host) => ({
    onTarget(ex, target, facet) {
      for (const field of facet.fields) {
        const text = readField(target.body, field)
        if (typeof text !== 'string') continue
        const word = facet.words.find(word => text.toLowerCase().includes(word.toLowerCase()))
        if (word === undefined) continue
        if (mode === 'refuse') throw fail('prompt_refused', { field, word }, { param: field })
        host.log.warn({ request: ex.id, field, word }, 'a prompt holds a word on the list')
      }
    },
  }),
})
