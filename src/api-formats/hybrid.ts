import type { Answer, Failure } from '../domain/index.ts'
import { openai } from './openai.ts'

/**
 * For errors before a style is known: a body that the SDKs of both the chat-completions and the messages style can read
 * (`docs/wire.md#errors`).
 */
export const hybrid = {
  ...openai,
  name: 'hybrid',
  error(failure: Failure, requestId: string): Answer {
    const { message, type, param, code } = failure
    return {
      status: failure.status,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'error', error: { type, message, param, code }, request_id: requestId }),
    }
  },
}
