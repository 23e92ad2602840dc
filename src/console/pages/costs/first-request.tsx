import { useState } from 'preact/hooks'
import { kindOfRow } from '../../../domain/row-kind.ts'
import { useMay } from '../../api/session.ts'
import { useTail } from '../../api/tail.ts'
import { Code } from '../../kit/copy.tsx'
import { Tabs } from '../../kit/tabs.tsx'
import { snippets } from '../../snippets.ts'
import { t } from '../../words/index.ts'
import { useModels } from '../../api/models.ts'

/** Before the first request: instructions for sending one, and whether it has been received. */
export function FirstRequest({ baseUrl, onArrived }: { readonly baseUrl: string; readonly onArrived: () => void }) {
  const makes = useMay('keys')
  const [arrived, setArrived] = useState<string | null>(null)
  useTail('', record => kindOfRow(record) !== 'lookup' && setArrived(record.id))
  return (
    <div class="card">
      <h2>{t('first.title')}</h2>
      <p>
        {t('first.text')}{' '}
        {makes && (
          <>
            {t('first.no_key')} <a href="/console/tokens?new=1">{t('tokens.create')}</a>
          </>
        )}
      </p>
      <Snippets baseUrl={baseUrl} secret="<API_KEY>" />
      <div aria-live="polite">
        {arrived === null ? (
          <p class="waiting">{t('first.waiting')}</p>
        ) : (
          <p class="note">
            {t('first.arrived')}{' '}
            <a href={`/console/logs/${arrived}`} onClick={onArrived}>
              {t('first.see')}
            </a>
          </p>
        )}
      </div>
    </div>
  )
}

/** Instructions for sending a request, for each kind of client. */
export function Snippets({ baseUrl, secret }: { readonly baseUrl: string; readonly secret: string }) {
  const models = useModels()
  const samples = snippets(baseUrl, secret, models)
  const [picked, setPicked] = useState('curl')
  const shown = samples.find(({ name }) => name === picked) ?? samples[0]
  if (!shown) return null
  return (
    <Tabs
      label={t('snippets')}
      tabs={samples.map(({ name }) => [name, name] as const)}
      value={shown.name}
      onPick={setPicked}
    >
      <Code text={shown.text} label={shown.name} />
    </Tabs>
  )
}
