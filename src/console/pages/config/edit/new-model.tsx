import { useState } from 'preact/hooks'
import { useSession } from '../../../api/session.ts'
import type { Editable } from '../../../api/shapes.ts'
import { Dialog } from '../../../kit/dialog.tsx'
import { FieldError } from '../../../kit/field-error.ts'
import { Form, SelectField, TextField } from '../../../kit/form.tsx'
import { t, tName } from '../../../words/index.ts'
import { type Path, pathText, type Value } from './changes.ts'
import { useDraft } from './draft.ts'
import { tryChanges } from './try-changes.ts'

/** A new model: of an existing family and an existing upstream. */
export function NewModel({ editable, onClose }: { readonly editable: Editable; readonly onClose: () => void }) {
  const { gateway } = useSession()
  const { changes, stage } = useDraft()
  const [family, setFamily] = useState(editable.families[0]?.name ?? '')
  const units = editable.families.find(({ name }) => name === family)?.prices ?? []
  return (
    <Dialog drawer title={t('edit.new')} onClose={onClose}>
      <Form
        submit={t('edit.gather')}
        onCancel={onClose}
        onSubmit={async values => {
          const name = values.get('name').trim()
          if (name === '') throw new FieldError('name', () => t('refusal.missing', { field: t('model') }))
          if (editable.models.some(model => model.name === name))
            throw new FieldError('name', () => t('edit.new.exists'))
          const prices = units.flatMap(unit => {
            const price = values.get(`prices.${unit}`).trim()
            if (price !== '' && !/^\d{1,9}(?:\.\d{1,6})?$/.test(price))
              throw new FieldError(`prices.${unit}`, () => t('edit.wrong.decimal'))
            return price === '' ? [] : [[unit, price] as const]
          })
          const [kind, place] = split(values.get('served'))
          const value: Value = {
            family,
            [kind]: place,
            ...(prices.length > 0 ? { prices: Object.fromEntries(prices) } : { price: 'free' }),
            ...(values.get('send_as').trim() !== '' && { send_as: values.get('send_as').trim() }),
          }
          const root: Path = ['models', name]
          const fields = new Map([
            [pathText(root), 'name'],
            ...[...units.map(unit => `prices.${unit}`), 'family', 'send_as'].map(
              field => [pathText([...root, ...field.split(/\.(.*)/, 2)]), field] as const,
            ),
            [pathText([...root, kind]), 'served'],
          ])
          await tryChanges(changes, [{ path: root, value, was: undefined }], fields)
          stage(root, [{ path: root, value, was: undefined }])
          onClose()
        }}
      >
        <TextField name="name" label={t('edit.new.name')} hint={t('edit.new.name.hint')} />
        <div class="row">
          <SelectField
            name="family"
            label={t('edit.family')}
            hint={t('edit.family.hint')}
            value={family}
            options={editable.families.map(({ name }) => [name, name] as const)}
            onInput={setFamily}
          />
          <SelectField
            name="served"
            label={t('edit.served')}
            options={[
              ...editable.upstreams.map(name => [`upstream ${name}`, name] as const),
              ...editable.route_sets.map(name => [`routes ${name}`, name] as const),
            ]}
          />
          <TextField name="send_as" label={t('edit.send_as')} hint={t('edit.send_as.hint')} />
        </div>
        <fieldset class="form">
          <legend>
            <h3>{t('edit.prices', { currency: gateway.currency })}</h3>
          </legend>
          <p class="hint">{t('edit.new.prices')}</p>
          <div class="row">
            {units.map(unit => (
              <TextField key={unit} name={`prices.${unit}`} label={tName('unit', unit)} inputMode="decimal" />
            ))}
          </div>
        </fieldset>
      </Form>
    </Dialog>
  )
}

/** `upstream alpha` → `['upstream', 'alpha']`. */
function split(served: string): readonly [string, string] {
  const at = served.indexOf(' ')
  return [served.slice(0, at), served.slice(at + 1)]
}
