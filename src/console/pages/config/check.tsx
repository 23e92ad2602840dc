import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import type { Checked, Finding } from '../../api/shapes.ts'
import { AreaField, FileField, Form } from '../../kit/form.tsx'
import { t } from '../../words/index.ts'
import { Findings } from './findings.tsx'
import type { ConfigViewProps } from './view.ts'
import { WhatIf } from './what-if.tsx'
import { Yaml } from './yaml.tsx'

type CheckResult = { readonly text: string; readonly ok: boolean; readonly findings: readonly Finding[] }

/** Checks a text as the gateway would, and computes last month's costs under it, without applying it. */
export function Check({ of: { text: current } }: ConfigViewProps) {
  const [text, setText] = useState(current)
  const [result, setResult] = useState<CheckResult | null>(null)
  const take = async (file: File | undefined) => {
    if (!file) return
    setText(await file.text())
    setResult(null)
  }
  return (
    <div
      class="stack"
      onDragOver={event => event.preventDefault()}
      onDrop={event => {
        event.preventDefault()
        void take(event.dataTransfer?.files[0])
      }}
    >
      <Form
        submit={t('config.check')}
        onSubmit={async () =>
          setResult({
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
        <FileField
          name="file"
          label={t('config.check.file')}
          hint={t('config.check.file.hint')}
          accept=".yaml,.yml,text/yaml"
          onFiles={([file]) => void take(file)}
        />
      </Form>
      {result && (
        <div class="stack" role="status">
          <p class={`note ${result.ok ? '' : 'bad'}`}>{t(result.ok ? 'config.valid' : 'config.invalid')}</p>
          <Findings of={result.findings} />
          {result.findings.length > 0 && (
            <Yaml
              text={result.text}
              wrong={new Set(result.findings.flatMap(({ line }) => (line === null ? [] : [line])))}
            />
          )}
        </div>
      )}
      {result?.ok && <WhatIf of={{ text: result.text }} />}
    </div>
  )
}
