import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, call } from '../api/call.ts'
import { useLoad } from '../api/load.ts'
import { useMay } from '../api/session.ts'
import type { Checked, Configuration, Finding } from '../api/shapes.ts'
import { Button } from '../kit/button.tsx'
import { Facts } from '../kit/facts.tsx'
import { AreaField, Form } from '../kit/form.tsx'
import { FindingText } from '../kit/finding-text.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Page } from '../kit/page.tsx'
import { problemText } from '../kit/problem.tsx'
import { Status } from '../kit/status.tsx'
import { Table } from '../kit/table.tsx'
import { Tabs } from '../kit/tabs.tsx'
import { Time } from '../kit/time.tsx'
import { say } from '../kit/toast.tsx'
import { useQuery } from '../query.ts'
import { t, tName } from '../words/index.ts'
import { wantFindingWords } from '../words/load-findings.ts'

const views = ['file', 'origins', 'check'] as const

/** gateway.yaml as the gateway has read it: to look at, and to check before it is changed on disk. */
export function Config() {
  wantFindingWords()
  const { query, set } = useQuery()
  const load = useLoad<Configuration>('/config')
  const changes = useMay('admin')
  const shown = views.filter(one => changes || one !== 'check')
  const view = shown.find(one => one === query['view']) ?? 'file'
  const [busy, setBusy] = useState(false)
  const reload = async () => {
    setBusy(true)
    try {
      const { ok } = await call<{ ok: boolean }>('/config/reload', { method: 'POST' })
      say(t(ok ? 'config.reloaded' : 'config.refused'), ok ? 'good' : 'bad')
      load.reload()
    } catch (error) {
      say(error instanceof ApiError ? problemText(error) : String(error), 'bad')
    } finally {
      setBusy(false)
    }
  }
  return (
    <Page
      title={t('nav.config')}
      actions={
        changes && (
          <Button busy={busy} onClick={() => void reload()}>
            {t('config.reload')}
          </Button>
        )
      }
    >
      <Loaded of={load}>
        {config => (
          <div class="stack">
            <Facts
              of={[
                [t('config.file'), config.file ? <code>{config.file}</code> : '–'],
                [t('details.revision'), <code>{config.revision}</code>],
                [t('config.loaded'), <Time at={config.loaded_at} seconds />],
                [t('config.last'), <LastReload of={config.last_reload} />],
              ]}
            />
            <Tabs
              label={t('nav.config')}
              tabs={shown.map(one => [one, t(`config.${one}`)] as const)}
              value={view}
              onPick={one => set({ view: one })}
            >
              {view === 'file' && <Yaml text={config.text} wrong={none} sought={Number(query['line']) || 0} />}
              {view === 'origins' && <Origins of={config.origins} main={config.file} />}
              {view === 'check' && <Check text={config.text} />}
            </Tabs>
          </div>
        )}
      </Loaded>
    </Page>
  )
}

const none: ReadonlySet<number> = new Set()

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

/** Text with its lines' numbers. `sought`: the line that somebody came for. */
function Yaml({
  text,
  wrong,
  sought = 0,
}: {
  readonly text: string
  readonly wrong: ReadonlySet<number>
  readonly sought?: number
}) {
  const box = useRef<HTMLElement>(null)
  useEffect(() => {
    box.current?.querySelector(`#L${sought}`)?.scrollIntoView({ block: 'center' })
  }, [sought])
  return (
    <section ref={box} class="yaml" tabIndex={0} aria-label={t('config.file')}>
      <ol translate={false}>
        {text.split('\n').map((line, i) => (
          <li key={i} id={`L${i + 1}`} class={wrong.has(i + 1) ? 'wrong' : i + 1 === sought ? 'sought' : ''}>
            <span aria-hidden="true">{i + 1}</span>
            <span>{line}</span>
          </li>
        ))}
      </ol>
    </section>
  )
}

/** The rest is found by its path. */
const shownOrigins = 100

function Origins({ of, main }: { readonly of: Configuration['origins']; readonly main: string }) {
  const { query, set } = useQuery()
  const find = (query['find'] ?? '').toLowerCase()
  const found = of.filter(({ path }) => path.toLowerCase().includes(find))
  const rows = found.slice(0, shownOrigins)
  return (
    <div class="stack">
      <input
        type="search"
        class="find"
        aria-label={t('config.find')}
        placeholder={t('config.find')}
        value={query['find'] ?? ''}
        onInput={event => set({ find: event.currentTarget.value })}
      />
      <div class="sheet">
        <Table
          label={t('config.origins')}
          rows={rows}
          rowKey={row => row.path}
          columns={[
            { head: t('config.path'), wide: true, cell: row => <code>{row.path}</code> },
            {
              head: t('config.value'),
              wide: true,
              cell: row => (
                <code class="theirs">{typeof row.value === 'string' ? row.value : JSON.stringify(row.value)}</code>
              ),
            },
            { head: t('config.from'), cell: row => tName('from', row.from) },
            {
              head: t('config.line'),
              numeric: true,
              cell: row => (row.file === null || row.file === main ? (row.line ?? '–') : `${row.file}:${row.line}`),
            },
          ]}
        />
      </div>
      {found.length > rows.length && <p class="quiet">{t('config.more', { count: found.length - rows.length })}</p>}
    </div>
  )
}

/** Says what the gateway would say of a text, without taking it over. */
function Check({ text: current }: { readonly text: string }) {
  const [text, setText] = useState(current)
  const [told, setTold] = useState<{ text: string; ok: boolean; findings: readonly Finding[] } | null>(null)
  return (
    <div class="stack">
      <Form
        submit={t('config.check')}
        onSubmit={async () =>
          setTold({
            text,
            ...(await call<Checked>('/config/check', {
              method: 'POST',
              body: { text },
            })),
          })
        }
      >
        <AreaField
          name="text"
          label="gateway.yaml"
          hint={t('config.check.hint')}
          rows={16}
          code
          value={text}
          onInput={setText}
        />
      </Form>
      {told && (
        <div class="stack" role="status">
          <p class={`note ${told.ok ? '' : 'bad'}`}>{t(told.ok ? 'config.valid' : 'config.invalid')}</p>
          <Findings of={told.findings} />
          {told.findings.length > 0 && (
            <Yaml
              text={told.text}
              wrong={new Set(told.findings.flatMap(({ line }) => (line === null ? [] : [line])))}
            />
          )}
        </div>
      )}
    </div>
  )
}

function Findings({ of }: { readonly of: readonly Finding[] }) {
  if (of.length === 0) return null
  return (
    <ul class="bare notes">
      {of.map((finding, i) => (
        <li key={i} class={`note ${finding.severity === 'error' ? 'bad' : 'warn'}`}>
          <span class="inline">
            <Status name={finding.severity} tone={finding.severity === 'error' ? 'bad' : 'warn'} />
            {finding.line !== null && (
              <a href={`#L${finding.line}`}>
                {finding.line}
                {finding.col !== null && `:${finding.col}`}
              </a>
            )}
            {finding.path && <code class="theirs">{finding.path}</code>}
          </span>
          <FindingText of={finding} />
        </li>
      ))}
    </ul>
  )
}
