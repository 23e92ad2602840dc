import { useMay, useSession } from '../../api/session.ts'
import type { Key } from '../../api/shapes.ts'
import { Form, type Values } from '../../kit/form.tsx'
import { t } from '../../words/index.ts'
import { KeyFields, readKeyFields } from './key-fields.tsx'
import { settingsShown } from './setting-fields.tsx'

type Fields = { readonly [name: string]: unknown }

/**
 * The settings of a key. Only changed fields are sent, because an administrator's values become bounds for the holder.
 * The administrator may choose that for all fields.
 */
export function EditKey({
  of,
  onCancel,
  onSave,
}: {
  readonly of: Key
  readonly onCancel: () => void
  readonly onSave: (body: Fields) => Promise<void>
}) {
  const isOthers = useSession().user.name !== of.user
  const mayBind = useMay('admin') && isOthers
  const save = async (values: Values) => {
    const chosen = changedOf(readKeyFields(values), of)
    const body = values.has('binds') ? { ...boundable(of), ...chosen } : chosen
    if (Object.keys(body).length === 0) return onCancel()
    await onSave(body)
  }
  return (
    <Form submit={t('save')} onCancel={onCancel} onSubmit={save}>
      <KeyFields of={of} />
      {mayBind && (
        <>
          <label class="check">
            <input type="checkbox" name="binds" />
            {t('tokens.binds')}
          </label>
          <p class="hint">{t('tokens.binds.hint')}</p>
        </>
      )}
    </Form>
  )
}

const periodFields: readonly string[] = ['budget_period', 'budget_resets_on']

/**
 * Differences from the values shown in the form, which may be less exact than the key's: a time field has no seconds.
 */
function changedOf(read: Fields, of: Key): Fields {
  const shown: Fields = { name: of.name, group: of.own_group, ...settingsShown(of) }
  const isChanged = (name: string): boolean => JSON.stringify(read[name]) !== JSON.stringify(shown[name])
  // A period is one setting with two fields.
  const isPeriodChanged = periodFields.some(isChanged)
  return Object.fromEntries(
    Object.entries(read).filter(([name]) => (periodFields.includes(name) ? isPeriodChanged : isChanged(name))),
  )
}

/** The settings of a key that can be bounds. A past expiry cannot be sent. */
function boundable({
  models,
  ips,
  budget,
  budget_period,
  budget_resets_on,
  budget_soft,
  expires,
  limits,
  status,
}: Key): Fields {
  const isOver = expires !== null && Date.parse(expires) <= Date.now()
  return {
    models,
    ips,
    budget,
    budget_period,
    budget_resets_on,
    budget_soft,
    limits,
    status,
    ...(!isOver && { expires }),
  }
}
