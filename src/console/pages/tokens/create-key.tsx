import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import type { KeyWithSecret } from '../../api/shapes.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Form } from '../../kit/form.tsx'
import { t } from '../../words/index.ts'
import { KeyFields, readKeyFields } from './key-fields.tsx'
import { ShownOnce } from './shown-once.tsx'

export function CreateKey({ onCreated, onClose }: { readonly onCreated: () => void; readonly onClose: () => void }) {
  const [made, setMade] = useState<KeyWithSecret | null>(null)
  if (made) return <ShownOnce made={made} onClose={onClose} />
  return (
    <Dialog title={t('tokens.create')} onClose={onClose}>
      <Form
        submit={t('create')}
        onCancel={onClose}
        onSubmit={async values => {
          setMade(await call<KeyWithSecret>('/keys', { method: 'POST', body: readKeyFields(values) }))
          onCreated()
        }}
      >
        <KeyFields />
      </Form>
    </Dialog>
  )
}
