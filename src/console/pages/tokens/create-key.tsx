import { call } from '../../api/call.ts'
import type { KeyWithSecret } from '../../api/shapes.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Form } from '../../kit/form.tsx'
import { t } from '../../words/index.ts'
import { KeyFields, readKeyFields } from './key-fields.tsx'

export function CreateKey({
  onMade,
  onClose,
}: {
  readonly onMade: (made: KeyWithSecret) => void
  readonly onClose: () => void
}) {
  return (
    <Dialog title={t('tokens.create')} onClose={onClose}>
      <Form
        submit={t('create')}
        onCancel={onClose}
        onSubmit={async values => {
          onMade(await call<KeyWithSecret>('/keys', { method: 'POST', body: readKeyFields(values) }))
          onClose()
        }}
      >
        <KeyFields />
      </Form>
    </Dialog>
  )
}
