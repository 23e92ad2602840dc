import { Page } from '../kit/page.tsx'
import { t } from '../words/index.ts'
import { OpenSessions } from './sessions/open-sessions.tsx'

/** What clients have open at the gateway. */
export function Sessions() {
  return (
    <Page title={t('nav.sessions')}>
      <OpenSessions />
    </Page>
  )
}
