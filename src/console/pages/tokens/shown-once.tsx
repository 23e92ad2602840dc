import { useState } from 'preact/hooks'
import { useSession } from '../../api/session.ts'
import type { KeyWithSecret } from '../../api/shapes.ts'
import { Button } from '../../kit/button.tsx'
import { Code } from '../../kit/copy.tsx'
import { Dialog } from '../../kit/dialog.tsx'
import { t } from '../../words/index.ts'
import { Snippets } from '../costs/first-request.tsx'

/** A new secret, which is shown here and never again. */
export function ShownOnce({ made, onClose }: { readonly made: KeyWithSecret; readonly onClose: () => void }) {
  const { gateway } = useSession()
  return (
    <Dialog title={t('secret.title', { name: made.key.name })} onClose={onClose} insist>
      <p class="note warn">{t('secret.once')}</p>
      <Code text={made.secret} label={t('secret')} />
      <TestKey secret={made.secret} />
      <Snippets baseUrl={gateway.base_url} secret={made.secret} />
      <div class="form-end">
        <Button kind="primary" onClick={onClose}>
          {t('secret.kept')}
        </Button>
      </div>
    </Dialog>
  )
}

/** Requests the list of models with the key, as a client does. */
function TestKey({ secret }: { readonly secret: string }) {
  const [message, setMessage] = useState(() => (): string => '')
  const test = async () => {
    setMessage(() => () => t('loading'))
    try {
      const response = await fetch('/v1/models', {
        headers: { authorization: `Bearer ${secret}` },
        credentials: 'omit',
      })
      const body = (await response.json()) as { data?: readonly unknown[]; error?: { message?: string } }
      setMessage(
        () => () =>
          response.ok
            ? t('test.works', { count: body.data?.length ?? 0 })
            : t('test.refused', { status: response.status, message: body.error?.message ?? '' }),
      )
    } catch {
      setMessage(() => () => t('problem.offline'))
    }
  }
  return (
    <div class="inline">
      <Button onClick={test}>{t('test')}</Button>
      <span role="status">{message()}</span>
    </div>
  )
}
