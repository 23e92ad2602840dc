import { Failure } from '../../domain/index.ts'
import { answerJson } from '../answer.ts'
import type { Handler } from '../upstream.ts'
import type { Style } from './styles.ts'

/** A handler that sends its refusals in the given style. */
export function styled(style: Style, handler: Handler): Handler {
  return async call => {
    try {
      return await handler(call)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      return answerJson(error.status, style.body(error))
    }
  }
}
