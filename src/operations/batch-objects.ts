import type { ObjectTraits } from '../domain/index.ts'

/** A batch in OpenAI's format, with the files of its results. */
export const batchObject = {
  kind: 'batch',
  listed: { id: 'id' },
  days: 90,
  files: {
    members: ['output_file_id', 'error_file_id'],
    shown: { object: 'file', purpose: 'batch_output', status: 'processed' },
  },
} as const satisfies ObjectTraits['creates']

/** A batch in Anthropic's format, whose results are at a link. */
export const messageBatchObject = {
  kind: 'message batch',
  listed: { id: 'id' },
  days: 90,
  links: { results_url: '/v1/messages/batches/{id}/results' },
} as const satisfies ObjectTraits['creates']
