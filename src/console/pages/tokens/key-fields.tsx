import { useLoad } from '../../api/load.ts'
import { useMay, useSession } from '../../api/session.ts'
import type { Ceilings, Key } from '../../api/shapes.ts'
import { FieldError } from '../../kit/field-error.ts'
import { TextField, type Values } from '../../kit/form.tsx'
import { PickField } from '../../kit/pick-field.tsx'
import { t } from '../../words/index.ts'
import { readSettings, SettingFields } from './setting-fields.tsx'

/** The settings of a key, at creation and later, with the holder's bounds. */
export function KeyFields({ of }: { readonly of?: Key }) {
  const admin = useMay('admin')
  const { user } = useSession()
  const ceilings = useLoad<Ceilings>(admin ? null : `/users/${encodeURIComponent(user.name)}/ceilings`)
  const within = admin ? [] : [of?.bounds ?? {}, ceilings.value?.key_bounds ?? {}]
  return (
    <>
      <TextField name="name" label={t('tokens.name')} value={of?.name ?? ''} />
      {admin && (
        <div class="row">
          {!of && <PickField of="user" name="user" label={t('user')} hint={t('tokens.user.hint')} isFree />}
          <PickField
            of="group"
            name="group"
            label={t('group')}
            value={of?.own_group ?? ''}
            placeholder={t('tokens.group.own')}
          />
        </div>
      )}
      <SettingFields of={of} within={within} />
    </>
  )
}

/** The form's values in the API's format. @throws FieldError */
export function readKeyFields(values: Values): { readonly [name: string]: unknown } {
  const text = (name: string) => values.get(name).trim()
  if (text('name') === '') throw new FieldError('name', () => t('required'))
  return {
    name: text('name'),
    ...(values.has('group') && { group: text('group') || null }),
    ...(text('user') !== '' && { user: text('user') }),
    ...readSettings(values),
  }
}
