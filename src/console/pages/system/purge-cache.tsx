import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { Button } from '../../kit/button.tsx'
import { Dialog } from '../../kit/dialog.tsx'
import { Form, TextField } from '../../kit/form.tsx'
import { PickField } from '../../kit/pick-field.tsx'
import { say } from '../../kit/toast.tsx'
import { t } from '../../words/index.ts'

/** Invalidates cached responses: of a model, of a key, or all. */
export function PurgeCache() {
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <section class="card">
      <h2>{t('cache')}</h2>
      <p class="quiet">{t('cache.text')}</p>
      <p>
        <a href="/console/logs?cache=hit">{t('cache.hits')}</a>
      </p>
      <Button onClick={() => setOpen(true)}>{t('cache.purge')}</Button>
      {isOpen && (
        <Dialog title={t('cache.purge')} onClose={close}>
          <Form
            submit={t('cache.purge')}
            kind="danger"
            onCancel={close}
            onSubmit={async values => {
              const [model, key] = [values.get('model'), values.get('key').trim()]
              const body = { ...(model && { model }), ...(key && { key }), reason: values.get('reason').trim() }
              await call('/cache/purge', { method: 'POST', body })
              close()
              say(t('cache.purge.done'))
            }}
          >
            <PickField of="model" name="model" label={t('model')} placeholder={t('cache.purge.all')} isFree />
            <PickField of="key" name="key" label={t('token')} hint={t('cache.purge.key')} />
            <TextField name="reason" label={t('reason')} hint={t('reason.hint')} />
          </Form>
        </Dialog>
      )}
    </section>
  )
}
