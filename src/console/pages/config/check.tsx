import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import type { Checked, Finding } from '../../api/shapes.ts'
import { AreaField, Form } from '../../kit/form.tsx'
import { t } from '../../words/index.ts'
import { Findings } from './findings.tsx'
import type { ConfigViewProps } from './view.ts'
import { Yaml } from './yaml.tsx'

/** Says what the gateway would say of a text, without taking it over. */
export function Check({ of: { text: current } }: ConfigViewProps) {
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
