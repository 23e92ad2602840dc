import { queryText } from '../../api/call.ts'
import type { Duty } from '../../api/shapes.ts'

/** The page of a changed target; undefined if there is none, or the user may not open it. */
export function placeOf(action: string, subject: string, may: readonly string[]): string | undefined {
  const whoMay = (duty: Duty, href: string): string | undefined => (may.includes(duty) ? href : undefined)
  switch (action.slice(0, action.indexOf('.'))) {
    case 'key':
      return `/console/tokens/${encodeURIComponent(subject)}`
    case 'user':
    case 'session':
      // Users who may change users get the user's form.
      return whoMay('admin', `/console/users${queryText({ edit: subject })}`) ?? whoMay('readers', '/console/users')
    case 'charge':
      return `/console/logs/${encodeURIComponent(subject)}`
    case 'invitation':
      return whoMay('admin', '/console/users?tab=invitations')
    case 'admin_token':
      return whoMay('admin', '/console/users?tab=admin-tokens')
    case 'config':
      return whoMay('operators', '/console/config')
    case 'answer_cache':
      return whoMay('operators', '/console/system')
    case 'live_session':
      return whoMay('operators', '/console/sessions')
    case 'object':
      return whoMay('operators', '/console/sessions?tab=objects')
    case 'upstream_key':
      return whoMay('operators', '/console/system')
    case 'alert':
      return whoMay('readers', '/console/alerts')
    default:
      return undefined
  }
}
