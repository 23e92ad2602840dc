import { FieldError, type Values } from './kit/form.tsx'
import { t } from './words/index.ts'

const lengthMin = 12
const lengthMax = 128

/** The password that a form asks for twice. @throws FieldError */
export function readPassword(values: Values): string {
  const password = values.get('password')
  if (password.length < lengthMin || password.length > lengthMax)
    throw new FieldError('password', t('password.length', { min: lengthMin, max: lengthMax }))
  if (password !== values.get('again')) throw new FieldError('again', t('password.differs'))
  return password
}
