import type { ComponentType } from 'preact'
import { call } from '../api/call.ts'
import { useLoad } from '../api/load.ts'
import { useMay, useSession } from '../api/session.ts'
import type { Configuration, Duty } from '../api/shapes.ts'
import { Button } from '../kit/button.tsx'
import { Facts } from '../kit/facts.tsx'
import { later } from '../kit/later.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Page } from '../kit/page.tsx'
import { faultText } from '../kit/problem.tsx'
import { Status } from '../kit/status.tsx'
import { Tabs } from '../kit/tabs.tsx'
import { Time } from '../kit/time.tsx'
import { say } from '../kit/toast.tsx'
import { useQuery } from '../query.ts'
import { t } from '../words/index.ts'
import { wantFindingWords } from '../words/load-findings.ts'
import { Findings } from './config/findings.tsx'
import { Origins } from './config/origins.tsx'
import type { ConfigViewProps } from './config/view.ts'
import { Yaml } from './config/yaml.tsx'

type View = {
  readonly name: 'file' | 'origins' | 'history' | 'edit' | 'check'
  /** The duty that the view requires; if absent, all users of the page see it. */
  readonly duty?: Duty
  readonly view: ComponentType<ConfigViewProps>
}

const first: View = { name: 'file', view: OwnFile }
const views: readonly View[] = [
  first,
  { name: 'origins', view: ({ of }) => <Origins of={of.origins} main={of.file} /> },
  { name: 'history', view: later(async () => (await import('./config/history.tsx')).History) },
  { name: 'edit', duty: 'admin', view: later(async () => (await import('./config/edit.tsx')).Edit) },
  { name: 'check', duty: 'admin', view: later(async () => (await import('./config/check.tsx')).Check) },
]

/** gateway.yaml as the gateway has read it: to view it, and to check changes before they are made on disk. */
export function Config() {
  wantFindingWords()
  const { query, path, route } = useQuery()
  const load = useLoad<Configuration>('/config')
  const changes = useMay('admin')
  const { may } = useSession()
  const shown = views.filter(({ duty }) => duty === undefined || may.includes(duty))
  // Earlier addresses use the parameter `view`.
  const wanted = query['tab'] ?? query['view']
  const { name, view: View } = shown.find(one => one.name === wanted) ?? first
  const reload = async () => {
    try {
      const { ok } = await call<{ ok: boolean }>('/config/reload', { method: 'POST' })
      say(t(ok ? 'config.reloaded' : 'config.refused'), ok ? 'good' : 'bad')
      load.reload()
    } catch (error) {
      say(faultText(error), 'bad')
    }
  }
  return (
    <Page title={t('nav.config')} actions={changes && <Button onClick={reload}>{t('config.reload')}</Button>}>
      <Loaded of={load}>
        {config => (
          <div class="stack">
            <Facts
              of={[
                [
                  t('config.file'),
                  config.file ? <code title={config.file}>{config.file.replace(/^.*[\\/]/, '')}</code> : '–',
                ],
                [t('details.revision'), <code>{config.revision}</code>],
                [t('config.loaded'), <Time at={config.loaded_at} seconds />],
                [t('config.last'), <LastReload of={config.last_reload} />],
              ]}
            />
            <Tabs
              label={t('nav.config')}
              tabs={shown.map(one => [one.name, t(`config.${one.name}`)] as const)}
              value={name}
              onPick={one => route(`${path}?tab=${one}`, true)}
            >
              <View of={config} onChanged={load.reload} />
            </Tabs>
          </div>
        )}
      </Loaded>
    </Page>
  )
}

const none: ReadonlySet<number> = new Set()

function OwnFile({ of }: ConfigViewProps) {
  const { query } = useQuery()
  return <Yaml text={of.text} wrong={none} sought={Number(query['line']) || 0} />
}

function LastReload({ of }: { readonly of: Configuration['last_reload'] }) {
  if (!of) return <>–</>
  return (
    <div class="notes">
      <span class="inline">
        <Time at={of.at} seconds />
        <Status name={of.ok ? 'taken' : 'refused'} tone={of.ok ? 'good' : 'bad'} />
      </span>
      {of.changes?.map(change => (
        <code key={change} class="theirs">
          {change}
        </code>
      ))}
      {of.findings && <Findings of={of.findings} />}
    </div>
  )
}
