import type { AdminRequest } from './api.ts'
import { refuse } from './reasons.ts'

/** The maximum number of changes of one proposal: each reads the files again. */
export const editsMax = 20

/** Changes of models and groups, in the form of request bodies. */
export const editsOf = {
  type: 'array',
  minItems: 1,
  maxItems: editsMax,
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['path'],
    properties: {
      path: {
        type: 'array',
        minItems: 2,
        maxItems: 8,
        items: { anyOf: [{ type: 'string', maxLength: 200 }, { type: 'integer' }] },
        description:
          'Path of the setting as a list: [models, NAME], or with further members, such as [groups, NAME, rpm].',
      },
      value: { description: 'New value. Absent to remove the setting.' },
    },
  },
} as const

export type Edits = Parameters<AdminRequest['parts']['edits']['propose']>[0]

type NotMade = { readonly why: string; readonly edit: Edits[number] | undefined }

/** The refusal of an impossible edit; `param` is the path of the edit. */
export function refuseEdit({ why, edit }: NotMade) {
  return refuse('invalid', 'edit', { why }, { param: edit?.path.join('.') ?? 'edits' })
}
