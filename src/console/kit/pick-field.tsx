import { useState } from 'preact/hooks'
import type { Pickable } from '../api/pickers.ts'
import { Field, type FieldProps } from './form.tsx'
import { Picker } from './picker.tsx'

/** A field for a model, user, key or group, found by a part of its name. `isFree`: other names are sent too. */
export function PickField({
  of,
  value: first = '',
  isFree = false,
  placeholder,
  ...shared
}: FieldProps & {
  readonly of: Pickable
  readonly value?: string
  readonly isFree?: boolean
  /** The meaning of an empty field. */
  readonly placeholder?: string
}) {
  const [value, setValue] = useState(first)
  return (
    <Field {...shared}>
      {({ id, ...more }) => (
        <Picker
          id={id}
          of={of}
          name={shared.name}
          value={value}
          isFree={isFree}
          onPick={setValue}
          more={more}
          {...(placeholder !== undefined && { placeholder })}
        />
      )}
    </Field>
  )
}
