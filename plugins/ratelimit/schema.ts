import type { Schema } from '../../src/kit/index.ts'

/** The limits themselves stand in the file's `groups` and `models`; there is nothing to set on the pipeline's line. */
export const optionsSchema = { type: 'object', additionalProperties: false, properties: {} } as const satisfies Schema
