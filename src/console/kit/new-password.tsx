import { t } from '../words/index.ts'
import { FieldError } from './field-error.ts'
import { TextField, type Values } from './form.tsx'

const lengthMin = 12
const lengthMax = 128

/** The new password of a form, entered twice. @throws FieldError */
export function readPassword(values: Values): string {
  const password = values.get('password')
  if (password.length < lengthMin || password.length > lengthMax)
    throw new FieldError('password', () => t('password.length', { min: lengthMin, max: lengthMax }))
  if (password !== values.get('again')) throw new FieldError('again', () => t('password.differs'))
  return password
}

/** The two fields of a new password, which `readPassword` reads. */
export function NewPassword({ label, hint = t('password.hint') }: { readonly label: string; readonly hint?: string }) {
  return (
    <>
      <TextField name="password" label={label} hint={hint} type="password" autocomplete="new-password" />
      <TextField name="again" label={t('password.again')} type="password" autocomplete="new-password" />
    </>
  )
}
