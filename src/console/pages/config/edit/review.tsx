import { useEffect, useState } from 'preact/hooks'
import { ApiError, call } from '../../../api/call.ts'
import type { Proposal, Written } from '../../../api/shapes.ts'
import { Code } from '../../../kit/copy.tsx'
import { Diff } from '../../../kit/diff.tsx'
import { Form, TextField } from '../../../kit/form.tsx'
import { Icon } from '../../../kit/icon.tsx'
import { Problem } from '../../../kit/problem.tsx'
import { t, tName } from '../../../words/index.ts'
import { tSettingChange } from '../../../words/setting-change.ts'
import { Findings } from '../findings.tsx'
import { WhatIf } from '../what-if.tsx'
import { editOf, pathText, type Staged } from './changes.ts'
import { inWords, propose } from './try-changes.ts'

type ReviewState = { readonly proposal?: Proposal; readonly error?: ApiError }

type ReviewProps = { readonly changes: readonly Staged[]; readonly onWritten: (written: Written) => void }

/**
 * The result of the collected changes: in the file, in meaning, in the check's findings and in money; and the ways to
 * apply them. Files that were saved meanwhile are read again, and the changes are compared with them.
 */
export function Review({ changes, onWritten }: ReviewProps) {
  const [{ proposal, error }, setState] = useState<ReviewState>({})
  const [turn, setTurn] = useState(0)
  const [changedFile, setChangedFile] = useState<string | null>(null)
  const again = () => setTurn(turn + 1)
  useEffect(() => {
    const abort = new AbortController()
    setState({})
    propose(changes, abort.signal).then(
      proposal => setState({ proposal }),
      (error: unknown) => {
        if (abort.signal.aborted) return
        setState({ error: error instanceof ApiError ? error : new ApiError(0, 'unexpected', String(error)) })
      },
    )
    return () => abort.abort()
  }, [JSON.stringify(changes), turn])
  if (error) return <NotMade error={error} changes={changes} onRetry={again} />
  if (!proposal)
    return (
      <p class="loading" role="status">
        {t('loading')}
      </p>
    )
  return (
    <div class="stack">
      {changedFile !== null && (
        <p class="note warn" role="alert">
          {t('edit.changed', { file: changedFile })}
        </p>
      )}
      <Proposed of={proposal} />
      {proposal.ok && <WhatIf of={{ edits: changes.map(editOf) }} />}
      {proposal.ok && proposal.files.length > 0 && (
        <section class="section">
          <h2>{t('edit.make')}</h2>
          <div class="cards">
            <Download of={proposal} />
            <Write
              of={proposal}
              changes={changes}
              onWritten={onWritten}
              onFileChanged={file => {
                setChangedFile(file)
                again()
              }}
            />
          </div>
        </section>
      )}
    </div>
  )
}

/** The reason why there is no proposal, and the change that caused it. */
function NotMade({
  error,
  changes,
  onRetry,
}: {
  readonly error: ApiError
  readonly changes: readonly Staged[]
  readonly onRetry: () => void
}) {
  const blamed = changes.find(({ path }) => path.join('.') === error.field)
  return (
    <>
      {blamed && (
        <p class="note bad">
          {t('edit.blamed')} <code class="theirs">{pathText(blamed.path)}</code>
        </p>
      )}
      <Problem error={inWords(error)} onRetry={onRetry} />
    </>
  )
}

/** The difference, its meaning, and the findings of the check. */
function Proposed({ of: { ok, findings, changes, files, notes } }: { readonly of: Proposal }) {
  return (
    <>
      <section class="section">
        <h2>{t('edit.check')}</h2>
        <p class={`note ${ok ? '' : 'bad'}`} role="status">
          {t(files.length === 0 ? 'edit.same' : ok ? 'edit.valid' : 'edit.invalid')}
        </p>
        <Findings of={findings} linked={false} />
      </section>
      {changes.length > 0 && (
        <section class="section">
          <h2>{t('edit.meaning')}</h2>
          <ul class="notes-list">
            {changes.map(change => (
              <li key={change}>
                <code class="theirs">{tSettingChange(change)}</code>
              </li>
            ))}
          </ul>
        </section>
      )}
      {files.length > 0 && (
        <section class="section">
          <h2>{t('edit.difference')}</h2>
          <Diff of={files} />
          {notes.length > 0 && (
            <ul class="notes-list">
              {notes.map(note => (
                <li key={note} class="theirs">
                  {note}
                </li>
              ))}
            </ul>
          )}
        </section>
      )}
    </>
  )
}

const patchName = 'tollgate.patch'

function Download({ of: { patch } }: { readonly of: Proposal }) {
  const [href, setHref] = useState<string | undefined>()
  useEffect(() => {
    if (patch === null) return undefined
    const url = URL.createObjectURL(new Blob([patch], { type: 'text/x-diff' }))
    setHref(url)
    return () => URL.revokeObjectURL(url)
  }, [patch])
  return (
    <section class="card">
      <h3>{t('edit.download')}</h3>
      <p class="quiet">{t(patch === null ? 'edit.download.secret' : 'edit.download.text')}</p>
      {patch !== null && (
        <>
          <Code text={`patch -p1 < ${patchName}`} label={t('edit.download.command')} />
          <div>
            <a class="button" {...(href !== undefined && { href })} download={patchName}>
              <Icon name="down" />
              {t('edit.download')}
            </a>
          </div>
        </>
      )}
    </section>
  )
}

function Write({
  of: { base, writable, why_not },
  changes,
  onWritten,
  onFileChanged,
}: {
  readonly of: Proposal
  readonly changes: readonly Staged[]
  readonly onWritten: (written: Written) => void
  readonly onFileChanged: (file: string) => void
}) {
  const [asksPassword, setAsksPassword] = useState(false)
  const [refused, setRefused] = useState<Written | null>(null)
  return (
    <section class="card">
      <h3>{t('edit.write')}</h3>
      {!writable && <p class="note">{tName('edit.why_not', why_not ?? 'off')}</p>}
      {writable && (
        <>
          <p class="quiet">{t('edit.write.text')}</p>
          <Form
            submit={t('edit.write')}
            onSubmit={async values => {
              setRefused(null)
              const body = {
                edits: changes.map(editOf),
                base,
                ...(values.has('password') && { password: values.get('password') }),
              }
              try {
                const written = await call<Written>('/config/write', { method: 'POST', body })
                if (written.ok) onWritten(written)
                else setRefused(written)
              } catch (error) {
                if (error instanceof ApiError && error.code === 'sign_in_again') setAsksPassword(true)
                if (error instanceof ApiError && error.code === 'config_changed')
                  return onFileChanged(String(error.values['file'] ?? ''))
                throw error
              }
            }}
          >
            {asksPassword && (
              <TextField
                name="password"
                label={t('users.erase.password')}
                type="password"
                autocomplete="current-password"
              />
            )}
          </Form>
        </>
      )}
      {refused && (
        <div class="notes" role="alert">
          <p class="note bad">{t(refused.files.length > 0 ? 'edit.left' : 'edit.taken_back')}</p>
          {refused.files.length > 0 && <code class="theirs">{refused.files.join(', ')}</code>}
          <Findings of={refused.findings} linked={false} />
        </div>
      )}
    </section>
  )
}
