import { Page } from '../kit/page.tsx'
import { Tabs } from '../kit/tabs.tsx'
import { useQuery } from '../query.ts'
import { t } from '../words/index.ts'
import { OpenSessions } from './sessions/open-sessions.tsx'
import { StoredObjects } from './sessions/stored-objects.tsx'

/** Open sessions of clients at the gateway, and objects that upstreams store for them. */
export function Sessions() {
  const { query, set } = useQuery()
  const tab = query['tab'] === 'objects' ? 'objects' : 'sessions'
  return (
    <Page title={t('nav.sessions')}>
      <Tabs
        label={t('nav.sessions')}
        tabs={[
          ['sessions', t('sessions.open')],
          ['objects', t('objects')],
        ]}
        value={tab}
        onPick={tab => set({ tab })}
      >
        {tab === 'objects' ? <StoredObjects /> : <OpenSessions />}
      </Tabs>
    </Page>
  )
}
